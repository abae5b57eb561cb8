package picture_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/picture"
)

// drawing is half red, half transparent blue.
func drawing(width, height int) image.Image {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			img.Set(x, y, color.NRGBA{R: 255, A: 255})
			if x >= width/2 {
				img.Set(x, y, color.NRGBA{B: 255, A: 0})
			}
		}
	}
	return img
}

func encoded(t *testing.T, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestImagesAreScaledToTheBox(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ w, h, boxW, boxH, wantW, wantH int }{
		{640, 400, 2000, 2000, 640, 400}, {640, 400, 320, 1000, 320, 200}, {640, 400, 1000, 100, 160, 100}, {5000, 1, 100, 100, 100, 1}, {1, 1, 0, 0, 1, 1},
	} {
		img, err := picture.NewDecoder().Decode(t.Context(), encoded(t, drawing(c.w, c.h)), c.boxW, c.boxH)
		if err != nil {
			t.Fatal(err)
		}
		if got := img.Bounds().Size(); got != image.Pt(c.wantW, c.wantH) {
			t.Errorf("%d×%d in %d×%d: %v", c.w, c.h, c.boxW, c.boxH, got)
		}
		if c.w > 1 && img.RGBAAt(0, 0) != (color.RGBA{255, 0, 0, 255}) || img.RGBAAt(c.wantW-1, c.wantH-1) != (color.RGBA{255, 255, 255, 255}) {
			t.Errorf("%d×%d: colors %v and %v", c.w, c.h, img.RGBAAt(0, 0), img.RGBAAt(c.wantW-1, c.wantH-1))
		}
	}
}

// bomb is a PNG whose head says that it is large.
func bomb(t *testing.T, width, height uint32) []byte {
	t.Helper()
	data := encoded(t, image.NewGray(image.Rect(0, 0, 1, 1)))
	binary.BigEndian.PutUint32(data[16:], width)
	binary.BigEndian.PutUint32(data[20:], height)
	binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29]))
	return data
}

func TestBombsAreNotDecoded(t *testing.T) {
	t.Parallel()
	d := picture.NewDecoder()
	if _, err := d.Decode(t.Context(), bomb(t, 4000, 4000), 100, 100); !errors.Is(err, picture.ErrLarge) {
		t.Errorf("16 million pixels: %v", err)
	}
	for name, data := range map[string][]byte{
		"more than any file may have": bomb(t, 30_000, 30_000),
		"cut":                         encoded(t, drawing(300, 300))[:200],
		"a text":                      []byte("no image"),
		"webp, a frame larger than its canvas": []byte("RIFF\x28\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
			"VP8 \x0a\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\xff\x3f\xff\x3f"),
	} {
		if _, err := d.Decode(t.Context(), data, 100, 100); err == nil {
			t.Errorf("%s: decoded", name)
		}
	}
}

// scans is a progressive JPEG of 9 million pixels with many scans, each of a few bytes and all pixels.
func scans(n int) []byte {
	data := append([]byte("\xff\xd8\xff\xc2\x00\x0b\x08\x0b\xb8\x0b\xb8\x01\x01\x11\x00"), // 3000 × 3000, gray
		"\xff\xc4\x00\x14\x10\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xe0"...) // the code 0 and 14 bits: a run of blocks
	scan := append([]byte("\xff\xda\x00\x08\x01\x01\x00\x01\x3f\x00"), make([]byte, 17)...)
	return append(append(data, bytes.Repeat(scan, n)...), "\xff\xd9"...)
}

// An image that takes long leaves the decoder to others when whoever wants it is gone.
func TestDecodingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	d := picture.NewDecoder()
	if _, err := d.Decode(t.Context(), scans(1), 100, 100); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := d.Decode(ctx, scans(3000), 100, 100); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("many scans: %v", err)
	}
	if _, err := d.Decode(t.Context(), encoded(t, drawing(10, 10)), 100, 100); err != nil {
		t.Error(err)
	}
}

func TestKittyCarriesTheImage(t *testing.T) {
	t.Parallel()
	img, err := picture.NewDecoder().Decode(t.Context(), encoded(t, drawing(120, 90)), 500, 500)
	if err != nil {
		t.Fatal(err)
	}
	sequence, err := picture.Kitty(img, 12, 5)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(sequence, "\x1b_Ga=T,f=100,q=2,C=1,c=12,r=5,m=") {
		t.Errorf("begins with %.40q", sequence)
	}
	payload := ""
	for chunk := range strings.SplitSeq(strings.TrimSuffix(sequence, "\x1b\\"), "\x1b\\") {
		_, data, _ := strings.Cut(chunk, ";")
		if payload += data; len(data) > 4096 {
			t.Errorf("a chunk of %d bytes", len(data))
		}
	}
	raw, err := base64.StdEncoding.DecodeString(payload)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := png.Decode(bytes.NewReader(raw)); err != nil || got.Bounds() != img.Bounds() {
		t.Errorf("%v, %v", got, err)
	}
}

func TestSixelOfAFewPixels(t *testing.T) {
	t.Parallel()
	img := image.NewRGBA(image.Rect(0, 0, 5, 7))
	for y := range 7 {
		for x := range 5 {
			img.Set(x, y, color.White)
			if y == 6 && x == 4 {
				img.Set(x, y, color.RGBA{255, 0, 0, 255})
			}
		}
	}
	want := "\x1bP0;1q\"1;1;5;7#0;2;100;100;100#1;2;100;0;0" + "#0!5~$-" + "#0!4@?$#1!4?@$-" + "\x1b\\"
	if got := picture.Sixel(img); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
