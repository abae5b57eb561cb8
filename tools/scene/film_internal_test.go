package main

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"testing"
	"time"
)

// TestFilm decodes a film and checks that the changed area has the right place
// and colour, and that a frame contains only what changed.
func TestFilm(t *testing.T) {
	t.Parallel()
	paper, ink := color.RGBA{250, 250, 250, 255}, color.RGBA{20, 30, 200, 255}
	picture := func(at image.Rectangle) *image.RGBA {
		p := image.NewRGBA(image.Rect(0, 0, 40, 30))
		draw.Draw(p, p.Rect, image.NewUniform(paper), image.Point{}, draw.Src)
		draw.Draw(p, at, image.NewUniform(ink), image.Point{}, draw.Src)
		return p
	}
	var f film
	f.add(picture(image.Rect(1, 1, 5, 5)), time.Second)
	f.add(picture(image.Rect(1, 1, 5, 5)), time.Second)
	f.add(picture(image.Rect(3, 1, 7, 5)), 500*time.Millisecond)
	var file bytes.Buffer
	if err := f.encode(&file); err != nil {
		t.Fatal(err)
	}
	got, err := gif.DecodeAll(&file)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Image) != 2 || got.Delay[0] != 200 || got.Delay[1] != 50 {
		t.Fatalf("%d frames with delays %v, want 2: 200 and 50", len(got.Image), got.Delay)
	}
	second := got.Image[1]
	if want := image.Rect(1, 1, 7, 5); second.Rect != want {
		t.Errorf("the second frame covers %v, want %v", second.Rect, want)
	}
	for at, want := range map[image.Point]color.RGBA{{2, 2}: paper, {4, 2}: {}, {6, 2}: ink} {
		if got := second.At(at.X, at.Y); got != color.Color(want) {
			t.Errorf("the second frame is %v at %v, want %v", got, at, want)
		}
	}
}

func TestFilmOfManyColours(t *testing.T) {
	t.Parallel()
	p := image.NewRGBA(image.Rect(0, 0, 64, 64))
	for i := range 64 * 64 {
		p.SetRGBA(i%64, i/64, color.RGBA{uint8(i % 64 * 4), uint8(i / 64 * 4), 128, 255})
	}
	f := film{frames: []*image.RGBA{p}, holds: []time.Duration{time.Second}}
	if n := len(f.palette()); n != 256 {
		t.Errorf("the palette has %d colours, want 256", n)
	}
	if err := f.encode(&bytes.Buffer{}); err != nil {
		t.Error(err)
	}
}
