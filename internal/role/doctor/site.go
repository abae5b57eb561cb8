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

// Site is what serves HTTP to people or agents.
type Site struct {
	What    string // in findings
	Setting string // with its address
	Carries string // what crosses the network to it
	Late    string // what a wrong clock does there
}

// The sites that are checked.
var (
	Inbox   = Site{"inbox", "ASKBUS_HTTP_URL", "answers, cookies and sign-ins", "login links that are made elsewhere count as expired there, and sign-ins end early or late"} //nolint:gochecknoglobals // a constant
	Gateway = Site{"gateway", "ASKBUS_GATEWAY_URL", "tokens, questions and answers", "tokens expire early or late there"}                                                     //nolint:gochecknoglobals // a constant
)

// SiteFacts are the observed facts about a site.
type SiteFacts struct {
	URL    string
	Leaf   *x509.Certificate // its certificate; nil: none
	Date   time.Time         // by its clock; zero: not known
	Status int               // of its response; 0: none
	Err    error             // error of the connection
	Now    time.Time
}

// Judge judges how a site is reached.
func (s Site) Judge(f SiteFacts) finding.List {
	var l finding.List
	u, err := url.Parse(f.URL)
	if err != nil || u.Host == "" {
		l.Say(s.What, finding.Broken, "invalid address %q: set %s to one such as https://ask.example.com", f.URL, s.Setting)
		return l
	}
	_, otherName := errors.AsType[x509.HostnameError](f.Err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](f.Err)
	switch {
	case otherName:
		l.Say(s.What, finding.Missing, "its certificate is not for the name in %s: set %s to the address that its clients use (%v)", f.URL, s.Setting, f.Err)
	case untrusted:
		l.Say(s.What, finding.Broken, "its certificate at %s is not trusted here: %v", f.URL, f.Err)
	case f.Err != nil && loopback(f.URL):
		l.Say(s.What, finding.Broken, "it does not answer: %v; start it, or set %s to the address that its clients use", f.Err, s.Setting)
	case f.Err != nil:
		l.Say(s.What, finding.Missing, "not checked, because it does not answer here: %v; see that it runs, and that %s is the address that its clients use", f.Err, s.Setting)
	case f.Status >= http.StatusInternalServerError:
		l.Say(s.What, finding.Broken, "%s answers with status %d: see the log of the %s, and of the proxy in front of it", f.URL, f.Status, s.What)
	case u.Scheme != "https" && loopback(f.URL):
		l.Say(s.What, finding.Good, "no TLS at %s, which is on this machine", f.URL)
	case u.Scheme != "https":
		l.Say(s.What, finding.Missing, "%s travel in the clear to %s: give the %s a certificate (--tls-cert-file, --tls-key-file), or put a proxy with TLS in front and set %s to its address", s.Carries, f.URL, s.What, s.Setting)
	case f.Leaf == nil:
		l.Say(s.What, finding.Broken, "%s showed no certificate", f.URL)
	default:
		say(&l, s.What, "its certificate", "renew it; askbus reads the new files by itself", f.Leaf.NotAfter, f.Now)
	}
	return append(l, s.clock(f)...)
}

// clockOff is from when on a wrong clock of a site matters: links and sign-ins are valid for minutes.
const clockOff = 10 * time.Second

// clock judges the clock of a site, by which login links, sign-ins and tokens end.
func (s Site) clock(f SiteFacts) finding.List {
	var l finding.List
	off := f.Date.Sub(f.Now)
	if f.Date.IsZero() || off.Abs() < clockOff {
		return l
	}
	by := "ahead of"
	if off < 0 {
		by = "behind"
	}
	l.Say(s.What+"'s clock", finding.Missing, "it is %s %s this machine's: %s; set the wrong one by NTP", off.Abs().Round(time.Second), by, s.Late)
	return l
}

// lookAt asks a site for a page, with the CAs of trust.
func lookAt(ctx context.Context, at string, trust *x509.CertPool) SiteFacts {
	f := SiteFacts{URL: at, Now: time.Now()}
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
	f.Now, f.Status = time.Now(), resp.StatusCode
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
