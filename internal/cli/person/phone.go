package person

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os/exec"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/server/certificate"
)

// phoneLimit bounds each look at what a phone would find.
const phoneLimit = 3 * time.Second

// reachable checks whether a phone can open an inbox at this address, and says what it will find there: no TLS, a
// certificate that it trusts, or a warning and the fingerprint to compare. Without an address for a phone the error
// names those that this machine could have.
func reachable(ctx context.Context, a *cli.App, inbox string) error {
	u, err := url.Parse(inbox)
	if err != nil {
		return fmt.Errorf("the inbox's address %q: %w", inbox, err)
	}
	ip, _ := netip.ParseAddr(u.Hostname())
	switch {
	case u.Hostname() == "localhost" || strings.HasSuffix(u.Hostname(), ".localhost") || ip.IsValid() && (ip.IsLoopback() || ip.IsUnspecified()):
		const name, more = "NAME", ", such as Caddy or Tailscale Serve"
		up := a.Hint("up --tls --http-addr 0.0.0.0:" + cmp.Or(u.Port(), "8420"))
		if own := tailnet(ctx); own != "" {
			return cli.Usage("a phone cannot reach %s. Tailscale runs here: with it on the phone as well, run \"tailscale serve --bg %s\", start \"ASKBUS_WEB_HOSTS=%s %s\", and "+
				"give --url https://%s. Or start \"%s\" for a phone in the same network", inbox, u.Port(), own, a.Hint("up"), own, up)
		}
		return cli.Usage("a phone cannot reach %s. Start \"%s\" for a phone in the same network, or put an HTTPS proxy or tunnel in front of the inbox%s, start "+
			"\"ASKBUS_WEB_HOSTS=%s %s\", and give --url https://%s", inbox, up, more, name, a.Hint("up"), name)
	case u.Scheme != "https":
		a.Note("askbus: warning: %s is not https: your answers can be read on the network path, and the phone offers neither notifications nor installation", inbox)
		return nil
	}
	switch leaf, err := served(ctx, u); {
	case err == nil:
		a.Note("askbus: the inbox has a certificate that phones trust")
	case leaf == nil:
		a.Note("askbus: warning: no look at the certificate of %s: %v", inbox, err)
	default:
		a.Note("askbus: the phone will warn that the connection is not private: it does not know the certificate of this inbox.\n"+
			"Open the details of the warning, and continue only if the certificate has this SHA-256 fingerprint:\n  %s\n"+
			"A phone notifies only where it trusts the certificate: \"askbus up --help\" and docs/sign-in.md say how.", certificate.Fingerprint(leaf))
	}
	return nil
}

// tunnel returns the address of a person's own tunnel or proxy.
func tunnel(address string) (string, error) {
	inbox, err := inboxAddress(address)
	if err == nil && !strings.HasPrefix(inbox, "https://") {
		err = cli.Usage("invalid --url %q: give the https address that leads to this inbox", address)
	}
	return inbox, err
}

// leads checks that an address leads to the inbox with this key, with a certificate that is valid for everybody. Nothing
// secret is sent.
func leads(ctx context.Context, a *cli.App, key []byte, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*phoneLimit)
	defer cancel()
	if err := web.Reaches(ctx, cli.Direct(), key, address); err != nil {
		return fmt.Errorf("--url: %w", err)
	}
	a.Note("askbus: %s leads to this inbox, with a certificate that this machine trusts", address)
	return nil
}

// served returns the certificate at an address, with an error if this system does not trust it; it is nil if nothing
// could be read.
func served(ctx context.Context, u *url.URL) (leaf *x509.Certificate, err error) {
	ctx, cancel := context.WithTimeout(ctx, phoneLimit)
	defer cancel()
	at := u.Host
	if u.Port() == "" {
		at = net.JoinHostPort(u.Hostname(), "443")
	}
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, ServerName: u.Hostname()}} //nolint:gosec // it is verified below; nothing is sent
	conn, err := dialer.DialContext(ctx, "tcp", at)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // nothing was sent
	secure, ok := conn.(*tls.Conn)
	if !ok || len(secure.ConnectionState().PeerCertificates) == 0 {
		return nil, errors.New("it has no certificate")
	}
	chain := secure.ConnectionState().PeerCertificates
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err = chain[0].Verify(x509.VerifyOptions{DNSName: u.Hostname(), Intermediates: between})
	return chain[0], err
}

// tailnet returns this machine's name in its Tailscale network, or nothing.
func tailnet(ctx context.Context) string {
	program, err := exec.LookPath("tailscale")
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, phoneLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "status", "--json").Output() //nolint:gosec // as a person would type it
	var status struct {
		BackendState string `json:"BackendState"`
		Self         struct {
			DNSName string `json:"DNSName"`
		} `json:"Self"`
	}
	if err != nil || json.Unmarshal(out, &status) != nil || status.BackendState != "Running" {
		return ""
	}
	return strings.TrimSuffix(status.Self.DNSName, ".")
}
