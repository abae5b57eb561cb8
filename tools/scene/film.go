package main

import (
	"cmp"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"io"
	"slices"
	"time"
)

// film is a recording. All frames have the same palette, so that unchanged
// areas keep their colours. Each frame has only the changed area.
type film struct {
	frames []*image.RGBA
	holds  []time.Duration
}

func (f *film) add(frame *image.RGBA, hold time.Duration) {
	if n := len(f.frames); n > 0 && slices.Equal(f.frames[n-1].Pix, frame.Pix) {
		f.holds[n-1] += hold
		return
	}
	f.frames, f.holds = append(f.frames, frame), append(f.holds, hold)
}

func (f *film) encode(w io.Writer) error {
	if len(f.frames) == 0 {
		return errors.New("nothing was recorded")
	}
	colours := f.palette()
	nearest := map[uint32]uint8{}
	index := func(c color.RGBA) uint8 {
		k := key(c)
		at, known := nearest[k]
		if !known {
			at = uint8(1 + colours[1:].Index(c)) //nolint:gosec // at most 256
			nearest[k] = at
		}
		return at
	}
	var out gif.GIF
	for i, frame := range f.frames {
		area := frame.Rect
		if i > 0 {
			area = changed(f.frames[i-1], frame)
		}
		picture := image.NewPaletted(area, colours)
		for y := area.Min.Y; y < area.Max.Y; y++ {
			for x := area.Min.X; x < area.Max.X; x++ {
				c := frame.RGBAAt(x, y)
				if i > 0 && f.frames[i-1].RGBAAt(x, y) == c {
					continue // the palette's transparent first colour: unchanged
				}
				picture.SetColorIndex(x, y, index(c))
			}
		}
		out.Image = append(out.Image, picture)
		out.Delay = append(out.Delay, int(f.holds[i]/(10*time.Millisecond)))
		out.Disposal = append(out.Disposal, gif.DisposalNone)
	}
	out.Config = image.Config{ColorModel: colours, Width: f.frames[0].Rect.Dx(), Height: f.frames[0].Rect.Dy()}
	return gif.EncodeAll(w, &out)
}

// changed returns the smallest rectangle with all differences.
func changed(before, after *image.RGBA) image.Rectangle {
	area := image.Rectangle{}
	for y := after.Rect.Min.Y; y < after.Rect.Max.Y; y++ {
		for x := after.Rect.Min.X; x < after.Rect.Max.X; x++ {
			if before.RGBAAt(x, y) != after.RGBAAt(x, y) {
				area = area.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return area
}

func key(c color.RGBA) uint32 { return uint32(c.R)<<16 | uint32(c.G)<<8 | uint32(c.B) }

type counted struct {
	color.RGBA
	n int
}

// palette keeps the most frequent colours exactly, because surfaces and lines
// must not change, and reduces the others by median cut.
func (f *film) palette() color.Palette {
	const exact, all = 96, 255
	counts := map[color.RGBA]int{}
	for _, frame := range f.frames {
		for i := 0; i < len(frame.Pix); i += 4 {
			counts[color.RGBA{frame.Pix[i], frame.Pix[i+1], frame.Pix[i+2], 255}]++
		}
	}
	var colours []counted
	for c, n := range counts {
		colours = append(colours, counted{c, n})
	}
	slices.SortFunc(colours, func(a, b counted) int { return cmp.Or(b.n-a.n, cmp.Compare(key(a.RGBA), key(b.RGBA))) })
	p := color.Palette{color.RGBA{}}
	most := min(exact, len(colours))
	for _, c := range colours[:most] {
		p = append(p, c.RGBA)
	}
	for _, box := range cut([][]counted{colours[most:]}, all-most) {
		p = append(p, middle(box))
	}
	return p
}

// cut divides boxes of colours until there are n, the widest first.
func cut(boxes [][]counted, n int) [][]counted {
	if len(boxes[0]) == 0 {
		return nil
	}
	for len(boxes) < n {
		best, channel, width := -1, 0, 0
		for i, box := range boxes {
			if c, w := widest(box); w > width {
				best, channel, width = i, c, w
			}
		}
		if best < 0 {
			break
		}
		box := boxes[best]
		slices.SortFunc(box, func(a, b counted) int {
			return cmp.Or(part(a, channel)-part(b, channel), cmp.Compare(key(a.RGBA), key(b.RGBA)))
		})
		boxes[best] = box[:len(box)/2]
		boxes = append(boxes, box[len(box)/2:])
	}
	return boxes
}

func part(c counted, channel int) int { return int([3]uint8{c.R, c.G, c.B}[channel]) }

// widest returns the channel in which a box's colours differ most.
func widest(box []counted) (channel, width int) {
	for c := range 3 {
		lo, hi := 255, 0
		for _, v := range box {
			lo, hi = min(lo, part(v, c)), max(hi, part(v, c))
		}
		if hi-lo > width {
			channel, width = c, hi-lo
		}
	}
	return channel, width
}

func middle(box []counted) color.RGBA {
	var sum [3]int
	n := 0
	for _, c := range box {
		for i := range sum {
			sum[i] += part(c, i) * c.n
		}
		n += c.n
	}
	return color.RGBA{uint8(sum[0] / n), uint8(sum[1] / n), uint8(sum[2] / n), 255} //nolint:gosec // means of bytes
}
