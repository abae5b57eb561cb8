package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/askbus/askbus/internal/process/finding"
)

// InboxFacts are the observed facts about the web inbox.
type InboxFacts struct {
	URL  string
	Leaf *x509.Certificate // its certificate; nil: none
	Date time.Time         // by its clock; zero: not known
	Err  error             // error of the connection
	Now  time.Time
}

// Inbox judges how people reach the inbox.
func Inbox(f InboxFacts) finding.List {
	var l finding.List
	u, err := url.Parse(f.URL)
	if err != nil || u.Host == "" {
		l.Say("inbox", finding.Broken, "invalid address %q: set ASKBUS_HTTP_URL to one such as https://ask.example.com", f.URL)
		return l
	}
	_, otherName := errors.AsType[x509.HostnameError](f.Err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](f.Err)
	switch {
	case u.Scheme != "https" && loopback(f.URL):
		l.Say("inbox", finding.Good, "no TLS at %s, which is on this machine", f.URL)
	case u.Scheme != "https":
		l.Say("inbox", finding.Missing, "answers, cookies and sign-ins travel in the clear to %s: give the inbox a certificate (--tls-cert-file, --tls-key-file), or put a proxy with TLS in front and set ASKBUS_HTTP_URL to its address", f.URL)
	case otherName:
		l.Say("inbox", finding.Missing, "its certificate is not for the name in %s: set ASKBUS_HTTP_URL to the address that people use (%v)", f.URL, f.Err)
	case untrusted:
		l.Say("inbox", finding.Broken, "its certificate at %s is not trusted here: %v", f.URL, f.Err)
	case f.Err != nil:
		l.Say("inbox", finding.Missing, "not checked: %v", f.Err)
	case f.Leaf == nil:
		l.Say("inbox", finding.Broken, "%s showed no certificate", f.URL)
	default:
		say(&l, "inbox", "its certificate", "renew it; askbus reads the new files by itself", f.Leaf.NotAfter, f.Now)
	}
	return append(l, inboxClock(f)...)
}

// clockOff is from when on a wrong clock of the inbox matters: links and sign-ins are valid for minutes.
const clockOff = 10 * time.Second

// inboxClock judges the clock of the inbox, by which login links and sign-ins end.
func inboxClock(f InboxFacts) finding.List {
	var l finding.List
	off := f.Date.Sub(f.Now)
	if f.Date.IsZero() || off.Abs() < clockOff {
		return l
	}
	by := "ahead of"
	if off < 0 {
		by = "behind"
	}
	l.Say("inbox's clock", finding.Missing, "it is %s %s this machine's: login links that are made elsewhere count as expired there, and sign-ins end early or late; set the wrong one by NTP", off.Abs().Round(time.Second), by)
	return l
}

// lookAtInbox asks the inbox for a page, with the CAs of trust.
func lookAtInbox(ctx context.Context, at string, trust *x509.CertPool) InboxFacts {
	f := InboxFacts{URL: at, Now: time.Now()}
	u, err := url.Parse(at)
	if err != nil || u.Host == "" {
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, at, nil)
	if err != nil {
		f.Err = err
		return f
	}
	once := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}
	resp, err := once.RoundTrip(req)
	if err != nil {
		f.Err = err
		return f
	}
	defer resp.Body.Close() //nolint:errcheck // it has none
	f.Now = time.Now()
	f.Date, _ = http.ParseTime(resp.Header.Get("Date")) // zero: not known
	if resp.TLS != nil && len(resp.TLS.PeerCertificates) > 0 {
		f.Leaf = resp.TLS.PeerCertificates[0]
	}
	return f
}

// own judges the client certificate that we present to NATS.
func own(cert, key string, now time.Time) finding.List {
	var l finding.List
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		l.Say("client certificate", finding.Broken, "%s with %s: %v", cert, key, err)
		return l
	}
	say(&l, "client certificate", "that in "+cert, "renew it; it is read again at each connect", pair.Leaf.NotAfter, now)
	return l
}
