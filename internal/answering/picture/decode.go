package picture

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"golang.org/x/image/webp"
)

// MaxPixels bounds the images that are decoded: a screen of 4K has 8.3 million
// pixels. A decoder needs up to 16 bytes for each.
const MaxPixels = 10_000_000

// ErrLarge reports an image of more than [MaxPixels].
var ErrLarge = errors.New("the image has too many pixels for a terminal")

// Decoder decodes images, one at a time. It is safe for concurrent use.
type Decoder struct{ slot chan struct{} }

// NewDecoder makes a decoder. A process needs one.
func NewDecoder() *Decoder { return &Decoder{slot: make(chan struct{}, 1)} }

// Decode decodes an image and scales it down until it fits into a box of pixels. It
// is drawn on white where it is transparent.
func (d *Decoder) Decode(ctx context.Context, data []byte, width, height int) (*image.RGBA, error) {
	mediaType, fault := ask.SniffFile(data)
	if fault != nil {
		return nil, errors.New(fault.In(""))
	}
	var head func(io.Reader) (image.Config, error)
	var whole func(io.Reader) (image.Image, error)
	switch mediaType {
	case ask.MediaPNG:
		head, whole = png.DecodeConfig, png.Decode
	case ask.MediaJPEG:
		head, whole = jpeg.DecodeConfig, jpeg.Decode
	case ask.MediaWebP:
		head, whole = webp.DecodeConfig, webp.Decode
	default:
		return nil, fmt.Errorf("%s is not an image", mediaType)
	}
	size, err := head(bytes.NewReader(data))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the head of the image: %w", err)
	case size.Width < 1 || size.Height < 1 || size.Width > MaxPixels/size.Height:
		return nil, ErrLarge
	}
	select {
	case d.slot <- struct{}{}:
		defer func() { <-d.slot }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, decodeFor)
	defer cancel()
	img, err := whole(bufio.NewReader(&untilDone{ctx, bytes.NewReader(data)}))
	if err != nil {
		return nil, fmt.Errorf("decode the image: %w", err)
	}
	return scale(img, max(1, width), max(1, height)), nil
}

// decodeFor bounds the decoding of one image, for which others wait. A JPEG of a few megabytes may have so many scans of
// all its pixels that they take minutes.
const decodeFor = 5 * time.Second

// untilDone reads until a context ends. It is read in small parts, because that is when it looks.
type untilDone struct {
	ctx  context.Context //nolint:containedctx // a reader has no other way
	from io.Reader
}

// Read implements [io.Reader].
func (r *untilDone) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(p)
}

// scale makes each pixel the mean of those that it stands for. It never enlarges.
func scale(img image.Image, width, height int) *image.RGBA {
	from := img.Bounds()
	w, h := from.Dx(), from.Dy()
	if w*height > h*width { // wider than the box
		height = h * width / w
	} else {
		width = w * height / h
	}
	width, height = max(1, min(width, w)), max(1, min(height, h))
	out := image.NewRGBA(image.Rect(0, 0, width, height))
	strip := image.NewRGBA(image.Rect(0, 0, w, (h+height-1)/height+1))
	for y := range height {
		top, end := y*h/height, (y+1)*h/height
		rows := image.Rect(0, 0, w, end-top)
		draw.Draw(strip, rows, image.White, image.Point{}, draw.Src)
		draw.Draw(strip, rows, img, from.Min.Add(image.Pt(0, top)), draw.Over)
		for x := range width {
			mean(out.Pix[out.PixOffset(x, y):][:4], strip, x*w/width, (x+1)*w/width, end-top)
		}
	}
	return out
}

// mean sets a pixel to the mean of a rectangle of a strip.
func mean(pixel []uint8, strip *image.RGBA, left, right, rows int) {
	var sum [4]int
	for y := range rows {
		for at := strip.PixOffset(left, y); at < strip.PixOffset(right, y); at += 4 {
			for i := range sum {
				sum[i] += int(strip.Pix[at+i])
			}
		}
	}
	for i := range sum {
		pixel[i] = uint8(sum[i] / ((right - left) * rows)) //nolint:gosec // a mean of bytes
	}
}
