// Package webhook sends signed requests by Standard Webhooks 1.0.0 (https://www.standardwebhooks.com)
// to addresses that an operator registered.
//
// It decides whether an address may be called, signs, and says what a response means. It leaves to
// its callers what is sent, how often, and from which replica ([After] is the schedule).
//
// It promises to check every IP address when it connects, so that no name that resolves to another
// one later leads inside; to follow no redirect and use no proxy; and to read no more than a few
// kilobytes of a response, for no longer than [Limit].
package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Bounds of one attempt.
const (
	Limit       = 15 * time.Second // for all of it, from the look-up of the name to the status
	MaxPayload  = 20_000           // bytes; for more send an id and a link
	maxResponse = 4 << 10          // bytes of a response that are read, so that its connection can be used again
	maxHeader   = 16 << 10         // bytes of its header
)

// Endpoint is an address that an operator registered.
type Endpoint struct {
	URL          string      // http or https
	Secrets      []Secret    // each signs; while one is replaced there are two
	AllowPrivate bool        // also loopback, private and link-local addresses
	Header       http.Header // sent beside those of the signature; it may replace Content-Type
}

// CheckURL returns an error unless s may be the URL of an [Endpoint].
func CheckURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return fmt.Errorf("invalid URL %.200q: use one such as https://agents.example.com/askbus, without a user name or a fragment", s)
	}
	return nil
}

// RefusedError is a response other than 2xx.
type RefusedError struct {
	Status int
	After  time.Duration // of its Retry-After; 0: none
}

// Error says which status came.
func (e *RefusedError) Error() string {
	switch {
	case e.Gone():
		return "the receiver answered 410: it wants no more"
	case e.Status >= 300 && e.Status < 400:
		return fmt.Sprintf("the receiver answered %d: redirects are not followed; register the address that it leads to", e.Status)
	}
	return fmt.Sprintf("the receiver answered %d", e.Status)
}

// Gone reports whether the receiver ends this for good.
func (e *RefusedError) Gone() bool { return e.Status == http.StatusGone }

// Sender sends webhooks. It is safe for concurrent use.
type Sender struct {
	public, private http.Client // they share no connection: that of one may be forbidden for the other
	now             func() time.Time
}

// New makes a sender. It starts nothing.
func New() *Sender {
	return &Sender{public: clientFor(false), private: clientFor(true), now: time.Now}
}

func clientFor(allowPrivate bool) http.Client {
	dialer := &net.Dialer{Timeout: Limit, KeepAlive: -1, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		if allowPrivate {
			return nil
		}
		return checkAddress(address)
	}}
	return http.Client{
		Timeout:       Limit,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: Limit, MaxResponseHeaderBytes: maxHeader,
			MaxIdleConns: 100, MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second, ForceAttemptHTTP2: true, DisableCompression: true,
		},
	}
}

// Close closes idle connections.
func (s *Sender) Close() {
	s.public.CloseIdleConnections()
	s.private.CloseIdleConnections()
}

// Send makes one attempt. The id is the same in every attempt. The error is a [*RefusedError], or says
// why there was no response; it contains nothing of the response's body, and of the address only what
// the operator wrote.
func (s *Sender) Send(ctx context.Context, to *Endpoint, id string, body []byte) error {
	if err := CheckURL(to.URL); err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	at := s.now().Unix()
	r.Header.Set("Content-Type", "application/json")
	for name := range to.Header {
		r.Header.Set(name, to.Header.Get(name))
	}
	r.Header.Set("User-Agent", "askbus-webhook/1")
	r.Header.Set("Webhook-Id", id)
	r.Header.Set("Webhook-Timestamp", strconv.FormatInt(at, 10))
	r.Header.Set("Webhook-Signature", Sign(to.Secrets, id, at, body))
	client := &s.public
	if to.AllowPrivate {
		client = &s.private
	}
	res, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("no response: %w", bare(err))
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.CopyN(io.Discard, res.Body, maxResponse) // its status counts, whatever follows
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		return nil
	}
	return &RefusedError{Status: res.StatusCode, After: retryAfter(res.Header.Get("Retry-After"), s.now())}
}

// bare removes the method and the address, which a path may make secret.
func bare(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		if e.Timeout() {
			return fmt.Errorf("nothing came within %s: %w", Limit, context.DeadlineExceeded)
		}
		return e.Err
	}
	return err
}

func retryAfter(s string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(strings.TrimSpace(s)); err == nil && n > 0 {
		return time.Duration(min(n, 86400)) * time.Second
	}
	if at, err := http.ParseTime(s); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// checkAddress refuses addresses that are not of the public internet.
func checkAddress(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("the address %s cannot be read: %w", address, err)
	}
	if !Public(at.Addr()) {
		return fmt.Errorf("%s is a private address; set allow_private for this webhook if it is meant", at.Addr())
	}
	return nil
}

// Public reports whether an address belongs to the public internet. An IPv4 address within an IPv6
// one is judged itself.
func Public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if inner, ok := embedded(a); ok {
		return Public(inner)
	}
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	return !slices.ContainsFunc(reserved(), func(p netip.Prefix) bool { return p.Contains(a) })
}

// embedded returns the IPv4 address within one of NAT64 or 6to4.
func embedded(a netip.Addr) (netip.Addr, bool) {
	b := a.As16()
	switch {
	case netip.MustParsePrefix("64:ff9b::/96").Contains(a):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case netip.MustParsePrefix("2002::/16").Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return a, false
}

// reserved returns what IANA keeps from the public internet, beside what package netip knows.
func reserved() []netip.Prefix {
	var all []netip.Prefix
	for _, s := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fec0::/10",
	} {
		all = append(all, netip.MustParsePrefix(s))
	}
	return all
}
