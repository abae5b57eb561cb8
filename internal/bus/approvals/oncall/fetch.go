package oncall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/process/webhook"
)

// Bounds of one request.
const (
	requestLimit = 15 * time.Second
	maxBytes     = 4 << 20
	maxRedirects = 3
)

// CheckURL returns an error unless an operator may write s as an address: https,
// or http to this machine.
func CheckURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "" || len(s) > 2000 {
		return errors.New("it is not a URL such as https://calendar.example.com/oncall.ics, without a user name or a fragment")
	}
	if !httpserver.SecureURL(u) {
		return errors.New("use https; http only to this machine")
	}
	return nil
}

// hostPort returns the host and port to which a request to u connects.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// get reads an address. What the operator wrote may be in a private network; a
// redirect leads only to https, and elsewhere only to the public internet. The
// error has nothing of the address but its host, because calendars have secret
// paths.
func get(ctx context.Context, address string, header http.Header) ([]byte, error) {
	if err := CheckURL(address); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, errors.New("the address cannot be read")
	}
	r.Header.Set("User-Agent", "askbus-schedules/1")
	for name := range header {
		r.Header.Set(name, header.Get(name))
	}
	written := hostPort(r.URL)
	transport := &http.Transport{DisableKeepAlives: true, TLSHandshakeTimeout: requestLimit, MaxResponseHeaderBytes: 64 << 10, DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
		d := net.Dialer{Timeout: requestLimit}
		if to != written {
			d.ControlContext = publicOnly
		}
		return d.DialContext(ctx, network, to)
	}}
	client := http.Client{Transport: transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		switch {
		case len(header) > 0: // a secret, which no other address needs to see
			return errors.New("it redirects, which is not followed")
		case len(via) > maxRedirects:
			return errors.New("it redirects too often")
		case next.URL.Scheme != "https" && hostPort(next.URL) != written:
			return errors.New("it redirects to an address without https")
		}
		return nil
	}}
	res, err := client.Do(r)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			if err = e.Err; e.Timeout() {
				err = fmt.Errorf("nothing came within %s", requestLimit)
			}
		}
		return nil, fmt.Errorf("%s: %w", r.URL.Hostname(), err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, &statusError{r.URL.Hostname(), res.StatusCode}
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: its answer broke off: %w", r.URL.Hostname(), err)
	case len(data) > maxBytes:
		return nil, fmt.Errorf("%s answered with more than %d bytes", r.URL.Hostname(), maxBytes)
	}
	return data, nil
}

// statusError is an answer that is not 200.
type statusError struct {
	host string
	code int
}

func (e *statusError) Error() string { return fmt.Sprintf("%s answered %d", e.host, e.code) }

// publicOnly lets a redirect connect to the public internet only.
func publicOnly(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !webhook.Public(at.Addr()) {
		return errors.New("it redirects to a private address")
	}
	return nil
}
