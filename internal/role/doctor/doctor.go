// Package doctor checks a deployment of askbus end to end and says in plain words what is wrong and
// how to fix it.
//
// Observing and judging are separate: [Ledger], [Brokers] and [Line] judge facts and are pure,
// [Run] gathers the facts. It changes nothing in the deployment, except for the ask that it asks
// and answers itself.
package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/process/finding"
	"github.com/nats-io/nats.go"
)

// Options configures [Run]. It reports nil fields as not checked.
type Options struct {
	Operator   *nats.Conn // an operator's connection
	Reader     *nats.Conn // a connection for maintenance
	NoReader   error      // why there is none although a credential for it was given
	Expires    time.Time  // of the operator's credential; zero: never
	Credential Credential // makes credentials, to test the rights of each role
	NoAsk      bool       // skip the test ask
	Tenant     string     // of the test ask

	Inbox      string         // URL of the web inbox; empty: unknown
	Gateway    string         // URL of the gateway; empty: unknown
	Trust      *x509.CertPool // CAs of their certificates; default: the system's
	ClientCert string         // file of our client certificate for NATS; empty: none
	ClientKey  string
}

// Run checks everything.
func Run(ctx context.Context, o Options) finding.List {
	var l finding.List
	state, err := o.Operator.TLSConnectionState()
	line := LineFacts{
		URL: o.Operator.ConnectedUrlRedacted(), Server: o.Operator.ConnectedServerVersion(), MaxPayload: o.Operator.MaxPayload(), Headers: o.Operator.HeadersSupported(),
		Expires: o.Expires, Now: time.Now(),
	}
	if err == nil {
		line.TLS = &state
	}
	l = append(l, Line(line)...)
	if o.ClientCert != "" {
		l = append(l, own(o.ClientCert, o.ClientKey, line.Now)...)
	}
	if o.Inbox != "" {
		l = append(l, Inbox.Judge(lookAt(ctx, o.Inbox, o.Trust))...)
	}
	if o.Gateway != "" {
		l = append(l, Gateway.Judge(lookAt(ctx, o.Gateway, o.Trust))...)
	}
	var seen *ledger.Inspection
	switch {
	case o.NoReader != nil:
		l.Say("ledger", finding.Broken, "cannot connect to read it: %v", o.NoReader)
	case o.Reader == nil:
		l.Say("ledger", finding.Missing, `not checked: give --admin-creds, a file that "askbus auth maintenance" makes, or --dir with the keys`)
	default:
		in, err := ledger.Inspect(ctx, o.Reader)
		l = append(l, Ledger(&in, err)...)
		if err == nil {
			seen = &in
		}
	}
	switch {
	case o.Credential != nil:
		servers, err := askClocks(ctx, o.Credential)
		if err != nil {
			l.Say("clocks", finding.Broken, "the servers cannot be asked for their time: %v%s", err, accounts(err))
		} else {
			l = append(l, Clocks(servers, time.Now())...)
		}
	case seen != nil:
		l = append(l, LeadersClocks(seen)...)
	}
	brokers, err := askBrokers(ctx, o.Operator)
	l = append(l, Brokers(brokers, err)...)
	if o.Credential == nil {
		l.Say("rights", finding.Missing, "not checked: needs credentials of every role, and so the keys in --dir")
		l.Say("issuer", finding.Missing, "not checked: needs a gateway's credential, and so the keys in --dir")
	} else {
		l = append(l, tryRights(o.Credential)...)
		l = append(l, Issuer(lookForIssuer(ctx, o.Credential))...)
	}
	if len(brokers) > 0 { // which keep shared state
		l = append(l, Push(countBrowsers(ctx, o.Operator, seen))...)
		l = append(l, Webhooks(listDeliveries(ctx, o.Operator))...)
	}
	switch {
	case o.NoAsk:
		l.Say("test ask", finding.Missing, "not sent")
	case err != nil:
		l.Say("test ask", finding.Missing, "not sent: the brokers were not found")
	case len(brokers) == 0:
		l.Say("test ask", finding.Broken, "not sent: there is no broker")
	default:
		l = append(l, testAsk(ctx, o.Operator, o.Tenant)...)
	}
	return l
}

// LineFacts are the observed facts about the connection.
type LineFacts struct {
	URL, Server string
	MaxPayload  int64
	Headers     bool
	TLS         *tls.ConnectionState // nil: none
	Expires     time.Time            // of the credential; zero: never
	Now         time.Time
}

const (
	minPayload = 512 << 10           // an event of 256 KiB, its copy in the outcome, and headers
	soon       = 14 * 24 * time.Hour // before the expiry of a certificate or credential
)

// Line judges the connection.
func Line(f LineFacts) finding.List {
	var l finding.List
	if err := ledger.CheckVersion(f.Server); err != nil {
		l.Say("server", finding.Broken, "nats-server %q is too old: upgrade it to 2.14 or newer; older ones cannot cancel a deadline's timer", f.Server)
	} else {
		l.Say("server", finding.Good, "nats-server %s at %s", f.Server, f.URL)
	}
	switch {
	case !f.Headers:
		l.Say("payload", finding.Broken, "the server does not support headers: set no_header_support to false")
	case f.MaxPayload < minPayload:
		l.Say("payload", finding.Broken, "max_payload is %d bytes: large asks and their outcomes do not fit; set it to 1MB or more", f.MaxPayload)
	default:
		l.Say("payload", finding.Good, "max_payload is %d bytes", f.MaxPayload)
	}
	switch {
	case f.TLS == nil && loopback(f.URL):
		l.Say("TLS", finding.Good, "none; the server is on this machine")
	case f.TLS == nil:
		l.Say("TLS", finding.Missing, "questions, answers and credentials' signatures travel in the clear to %s: give the server a certificate (--tls-cert-file and --tls-key-file of askbus, the tls block of nats-server)", f.URL)
	case len(f.TLS.PeerCertificates) == 0:
		l.Say("TLS", finding.Missing, "the server showed no certificate")
	default:
		say(&l, "TLS", "the server's certificate", "renew it; askbus reads the new files by itself, a nats-server is reloaded", f.TLS.PeerCertificates[0].NotAfter, f.Now)
	}
	if f.Expires.IsZero() {
		l.Say("credential", finding.Missing, `the operator's credential never expires; make one that does with "askbus auth operator"`)
	} else {
		words := `get a fresh one with "askbus auth operator"`
		if f.Expires.Sub(f.Now) < 25*time.Hour && f.Expires.After(f.Now) { // that of a running directory is good for a day
			l.Say("credential", finding.Good, "the operator's is valid until %s", f.Expires.UTC().Format(time.RFC3339))
			return l
		}
		say(&l, "credential", "the operator's", words, f.Expires, f.Now)
	}
	return l
}

// say judges an expiry.
func say(l *finding.List, what, whose, advice string, ends, now time.Time) {
	switch left := ends.Sub(now); {
	case left <= 0:
		l.Say(what, finding.Broken, "%s expired at %s: %s", whose, ends.UTC().Format(time.RFC3339), advice)
	case left < soon:
		l.Say(what, finding.Missing, "%s expires at %s, in %s: %s", whose, ends.UTC().Format(time.RFC3339), left.Round(time.Hour), advice)
	default:
		l.Say(what, finding.Good, "%s is valid until %s", whose, ends.UTC().Format(time.RFC3339))
	}
}

// errNoReply reports that no reply came in time.
var errNoReply = errors.New("nobody answered in time")
