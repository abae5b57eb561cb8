package main

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"slices"
)

// small encodes a PNG with at most 256 colours: the most frequent ones, and the
// nearest of these for the others, which are edges of letters.
func small(data []byte) ([]byte, error) {
	from, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	at := from.Bounds()
	count := map[color.RGBA]int{}
	pixel := func(x, y int) color.RGBA { return color.RGBAModel.Convert(from.At(x, y)).(color.RGBA) } //nolint:errcheck // the model always returns color.RGBA
	for y := at.Min.Y; y < at.Max.Y; y++ {
		for x := at.Min.X; x < at.Max.X; x++ {
			c := pixel(x, y)
			count[color.RGBA{c.R &^ 3, c.G &^ 3, c.B &^ 3, 0xff}]++ // count similar colours as one
		}
	}
	often := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int { return count[b] - count[a] })
	exact := map[color.RGBA]color.RGBA{}
	for y := at.Min.Y; y < at.Max.Y; y++ {
		for x := at.Min.X; x < at.Max.X; x++ {
			c := pixel(x, y)
			exact[color.RGBA{c.R &^ 3, c.G &^ 3, c.B &^ 3, 0xff}] = c
		}
	}
	var colours color.Palette
	for _, c := range often[:min(256, len(often))] {
		colours = append(colours, exact[c])
	}
	to := image.NewPaletted(at, colours)
	draw.Draw(to, at, from, at.Min, draw.Src)
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	err = encoder.Encode(&out, to)
	return out.Bytes(), err
}
