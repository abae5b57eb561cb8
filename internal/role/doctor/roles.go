package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/process/finding"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// IssuerFacts are the observed facts about the issuer.
type IssuerFacts struct {
	Refused string // the code with which it refused a request without a token; empty if it did not
	Err     error  // error of the request
}

// Issuer judges whether tokens can be exchanged.
func Issuer(f IssuerFacts) finding.List {
	var l finding.List
	switch {
	case errors.Is(f.Err, nats.ErrNoResponders):
		l.Say("issuer", finding.Missing, `none runs; one is needed only if agents exchange tokens (ASKBUS_EXCHANGE_URL) or people sign in terminals: start "askbus issuer", or "askbus up --rules FILE"`)
	case f.Err != nil:
		l.Say("issuer", finding.Broken, "one listens but does not respond (%v): tokens are not exchanged; see its log, and that it reaches the servers", f.Err)
	case f.Refused == "":
		l.Say("issuer", finding.Broken, "it accepted a request without a token: it is not an askbus issuer; see who else has an issuer's credential")
	default:
		l.Say("issuer", finding.Good, "it responds")
	}
	return l
}

// lookForIssuer sends a request without a token as the gateway would, which
// every issuer refuses.
func lookForIssuer(ctx context.Context, as Credential) IssuerFacts {
	nc, err := as(rights.Role{Name: rights.RoleGateway})
	if err != nil {
		return IssuerFacts{Err: err}
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	reply, err := nc.RequestWithContext(ctx, subject.Exchange, []byte("{}"))
	if err != nil {
		return IssuerFacts{Err: err}
	}
	return IssuerFacts{Refused: reply.Header.Get(micro.ErrorHeader)}
}

// PushFacts are the observed facts about web push.
type PushFacts struct {
	Browsers int                // number of subscriptions
	Err      error              // error of counting them
	Ledger   *ledger.Inspection // nil: not inspected
}

// Push judges whether subscribers are notified. The finding about its backlog says how far behind
// it is.
func Push(f PushFacts) finding.List {
	var l finding.List
	ran := false
	if f.Ledger != nil {
		for i := range f.Ledger.Streams {
			for _, c := range f.Ledger.Streams[i].Consumers {
				ran = ran || strings.HasPrefix(c.Name, "push-") || strings.HasPrefix(c.Name, "push@")
			}
		}
	}
	switch {
	case f.Err != nil:
		l.Say("push", finding.Missing, "the subscriptions cannot be read: %v", f.Err)
	case f.Browsers == 0:
		l.Say("push", finding.Good, "no browser has notifications turned on")
	case f.Ledger == nil:
		l.Say("push", finding.Missing, "notifications are turned on in browsers (%d); whether they are sent was not checked", f.Browsers)
	case !ran:
		l.Say("push", finding.Broken, `notifications are turned on in browsers (%d), but none was ever sent: start "askbus push" (the chart: a responder with command [push]; "askbus up" does it itself)`, f.Browsers)
	default:
		l.Say("push", finding.Good, "notifications are turned on in browsers (%d)", f.Browsers)
	}
	return l
}

// countBrowsers counts the push subscriptions.
func countBrowsers(ctx context.Context, nc *nats.Conn, in *ledger.Inspection) PushFacts {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	all, err := state.Open(nc, state.Operator(), state.Push).List(ctx)
	return PushFacts{Browsers: len(all), Err: err, Ledger: in}
}

// Webhooks judges deliveries: those that failed for good, and those that wait. The entries are those of
// the bucket deliveries.
func Webhooks(entries []state.Entry, err error) finding.List {
	var l finding.List
	if err != nil {
		l.Say("webhooks", finding.Missing, "the deliveries cannot be read: %v", err)
		return l
	}
	waiting := 0
	for i := range entries {
		e := &entries[i]
		if !strings.HasPrefix(e.Key.Name, wire.WebhookFailuresPrefix) {
			waiting++
			continue
		}
		var f wire.WebhookFailures
		if json.Unmarshal(e.Value, &f) == nil {
			l.Say("webhooks", finding.Missing, "deliveries to %s of tenant %s that failed for good: %d, the last, of ask %s, at %s: %s; the outcomes are in the inbox and in \"askbus list\"", f.Receiver, e.Key.Tenant, f.Count, f.Ask, f.At.Format(time.RFC3339), f.Error)
		}
	}
	if waiting > 0 {
		l.Say("webhooks", finding.Missing, "deliveries that wait for their receivers: %d; they are tried again for up to three days", waiting)
	}
	return l
}

// listDeliveries reads what webhooks could not deliver yet, or at all.
func listDeliveries(ctx context.Context, nc *nats.Conn) ([]state.Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return state.Open(nc, state.Operator(), state.Deliveries).List(ctx)
}
