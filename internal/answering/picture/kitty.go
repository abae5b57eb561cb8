package picture

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"strings"
)

// Sequences of the kitty graphics protocol. A terminal that knows it replies to the
// query; all later ones ask for no reply.
const (
	KittyQuery  = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"
	KittyDelete = "\x1b_Ga=d,d=A,q=2\x1b\\" // all images on the screen
	kittyChunk  = 4096
)

// Kitty returns the sequence that draws an image at the cursor, in a box of cells,
// and leaves the cursor where it is.
func Kitty(img image.Image, columns, rows int) (string, error) {
	var data bytes.Buffer
	fast := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := fast.Encode(&data, img); err != nil {
		return "", fmt.Errorf("encode for kitty: %w", err)
	}
	text := base64.StdEncoding.EncodeToString(data.Bytes())
	var out strings.Builder
	for first := true; text != ""; first = false {
		chunk := text[:min(len(text), kittyChunk)]
		text = text[len(chunk):]
		more := 0
		if text != "" {
			more = 1
		}
		control := fmt.Sprintf("m=%d", more)
		if first {
			control = fmt.Sprintf("a=T,f=100,q=2,C=1,c=%d,r=%d,m=%d", columns, rows, more)
		}
		out.WriteString("\x1b_G" + control + ";" + chunk + "\x1b\\")
	}
	return out.String(), nil
}
