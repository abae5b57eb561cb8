package person

import (
	"fmt"
	"strings"

	"rsc.io/qr"
)

// QRCode draws a text as a QR code: two rows of modules per character, dark on light in every
// terminal theme.
func QRCode(text string) (string, error) {
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		return "", fmt.Errorf("this link is too long for a QR code: %w", err)
	}
	const quiet = 2 // modules of margin
	var b strings.Builder
	for y := -quiet; y < code.Size+quiet; y += 2 {
		b.WriteString("\x1b[30;107m")
		for x := -quiet; x < code.Size+quiet; x++ {
			switch top, below := code.Black(x, y), code.Black(x, y+1); {
			case top && below:
				b.WriteString("█")
			case top:
				b.WriteString("▀")
			case below:
				b.WriteString("▄")
			default:
				b.WriteString(" ")
			}
		}
		b.WriteString("\x1b[0m\n")
	}
	return b.String(), nil
}
