package person

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/askbus/askbus/internal/cli"
	"rsc.io/qr"
)

// reachable checks whether a phone can open an inbox at this address, and warns if it is not https.
func reachable(a *cli.App, inbox string) error {
	u, err := url.Parse(inbox)
	if err != nil {
		return fmt.Errorf("the inbox's address %q: %w", inbox, err)
	}
	ip, _ := netip.ParseAddr(u.Hostname())
	if u.Hostname() == "localhost" || strings.HasSuffix(u.Hostname(), ".localhost") || ip.IsValid() && (ip.IsLoopback() || ip.IsUnspecified()) {
		return cli.Usage("a phone cannot reach %s. Start \"%s\" for a phone in the same network, or put an HTTPS proxy in front of the inbox, such as Caddy or Tailscale Serve, then run "+
			"\"%s\" and this command with ASKBUS_HTTP_URL=https://NAME and ASKBUS_WEB_HOSTS=NAME", inbox, a.Hint("up --tls --http-addr 0.0.0.0:8420"), a.Hint("up"))
	}
	if u.Scheme != "https" {
		a.Note("askbus: warning: %s is not https: your answers can be read on the network path, and the phone offers neither notifications nor installation", inbox)
	}
	return nil
}

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
