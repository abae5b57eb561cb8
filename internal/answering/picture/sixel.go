package picture

import (
	"fmt"
	"image"
	"slices"
	"strings"
)

// sixelColors is how many colors a VT340 and all later terminals have.
const sixelColors = 256

// Sixel returns the sequence that draws an image at the cursor. Its colors are the
// most frequent ones, so that a screenshot keeps its own; the others become the
// nearest of them.
func Sixel(img *image.RGBA) string {
	palette, index := quantize(img)
	width, height := img.Bounds().Dx(), img.Bounds().Dy()
	var out strings.Builder
	fmt.Fprintf(&out, "\x1bP0;1q\"1;1;%d;%d", width, height)
	for i, c := range palette {
		r, g, b := split(c)
		fmt.Fprintf(&out, "#%d;2;%d;%d;%d", i, r*100/31, g*100/31, b*100/31)
	}
	band := make([]byte, width) // of one color: 6 rows, a bit each
	for top := 0; top < height; top += 6 {
		var used [sixelColors]bool
		for y := top; y < min(top+6, height); y++ {
			for x := range width {
				used[index[key(img, x, y)]] = true
			}
		}
		for color := range palette {
			if !used[color] {
				continue
			}
			clear(band)
			for y := top; y < min(top+6, height); y++ {
				for x := range width {
					if int(index[key(img, x, y)]) == color {
						band[x] |= 1 << (y - top)
					}
				}
			}
			fmt.Fprintf(&out, "#%d", color)
			repeated(&out, band)
			out.WriteByte('$')
		}
		out.WriteByte('-')
	}
	out.WriteString("\x1b\\")
	return out.String()
}

// repeated writes the six rows of one color, equal columns as one.
func repeated(out *strings.Builder, band []byte) {
	for len(band) > 0 {
		n := 1
		for n < len(band) && band[n] == band[0] {
			n++
		}
		if char := band[0] + '?'; n > 3 {
			fmt.Fprintf(out, "!%d%c", n, char)
		} else {
			out.WriteString(strings.Repeat(string(rune(char)), n))
		}
		band = band[n:]
	}
}

// key is a color of 15 bits.
func key(img *image.RGBA, x, y int) uint16 {
	p := img.Pix[img.PixOffset(x, y):]
	return uint16(p[0]>>3)<<10 | uint16(p[1]>>3)<<5 | uint16(p[2]>>3)
}

func split(c uint16) (r, g, b int) { return int(c >> 10), int(c >> 5 & 31), int(c & 31) }

// quantize returns the palette of an image, and the index of each of its colors.
func quantize(img *image.RGBA) (palette []uint16, index []uint8) {
	counts := make([]int, 1<<15)
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			counts[key(img, x, y)]++
		}
	}
	var all []uint16
	for c, n := range counts {
		if n > 0 {
			all = append(all, uint16(c))
		}
	}
	slices.SortStableFunc(all, func(a, b uint16) int { return counts[b] - counts[a] })
	palette = all[:min(len(all), sixelColors)]
	index = make([]uint8, 1<<15)
	for _, c := range all {
		best := 1 << 30
		for i, p := range palette {
			if far := distance(c, p); far < best {
				best, index[c] = far, uint8(i)
			}
		}
	}
	return palette, index
}

func distance(a, b uint16) int {
	r, g, bl := split(a)
	r2, g2, b2 := split(b)
	return (r-r2)*(r-r2) + (g-g2)*(g-g2) + (bl-b2)*(bl-b2)
}
