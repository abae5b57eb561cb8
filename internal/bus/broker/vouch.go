package broker

import (
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// Verifier returns what a JWT grants to the user whose key NATS checked. It
// must be safe for concurrent use, and its errors are shown to the sender.
type Verifier interface {
	Verify(token, user string, now time.Time) (assertion.Grant, error)
	// Revoked reports whether the credentials that a user had at a time have
	// been revoked since.
	Revoked(user string, at time.Time) bool
}

// credentials returns all values of that header, in any letter case.
func credentials(h nats.Header) []string {
	var all []string
	for name, values := range h {
		if strings.EqualFold(name, connection.HeaderCredential) {
			all = append(all, values...)
		}
	}
	return all
}

// vouched returns what may be stored about the person who acted: what the
// sender's credential may assert. NATS has checked the key in the subject; the
// JWT says what that key may do. Without a JWT only the credential's own name
// is stored.
func (b *Broker) vouched(r *request, by ask.By) (ask.By, error) {
	by.Responder, by.OnCall, by.For = responderOf(r, by.Responder), nil, nil
	may, err := b.assertions(r)
	if err != nil {
		return by, err
	}
	if by, err = may.Speak(r.User, by); err == nil {
		r.by = by
	}
	return by, err
}

// named is vouched without a name that the sender's credential may not assert.
func (b *Broker) named(r *request, by ask.By) (ask.By, error) {
	by, err := b.vouched(r, by)
	if err != nil {
		return by, err
	}
	may, err := b.assertions(r)
	if !may.Names(by) {
		by.Name = ""
	}
	return by, err
}

// assertions returns what the sender's credential may assert.
func (b *Broker) assertions(r *request) (assertion.Set, error) {
	switch len(r.jwt) {
	case 0:
		return assertion.Set{}, nil
	case 1:
		grant, err := b.grant(r, r.jwt[0])
		return grant.Assertions, err
	default:
		return assertion.Set{}, ask.Refuse(ask.CodeForbidden, "the header %s is given %d times; send it once", connection.HeaderCredential, len(r.jwt))
	}
}

// responderOf returns the responder type that an outcome names: that of the
// subject, whatever the body says. A host names the dialog in which the person
// answered; all of them prove equally little.
func responderOf(r *request, said string) string {
	if r.Root != subject.Hosts {
		return r.Type
	}
	if said == ask.ResponderElicit || said == ask.ResponderCLI {
		return said
	}
	return ask.ResponderNative
}

// grant checks the JWT of a request.
func (b *Broker) grant(r *request, token string) (assertion.Grant, error) {
	refuse := func(why string) error {
		return ask.Refuse(ask.CodeForbidden, "the credential in the header %s is not accepted: %s", connection.HeaderCredential, why)
	}
	if b.opts.Verifier == nil {
		return assertion.Grant{}, refuse("this broker has no keys of the bus; see its setting ASKBUS_ACCOUNT")
	}
	g, err := b.opts.Verifier.Verify(token, r.User, b.led.Now())
	switch {
	case err != nil:
		return assertion.Grant{}, refuse(err.Error())
	case !speaksFor(&g, r):
		return assertion.Grant{}, refuse("it is not for this subject")
	}
	return g, nil
}

// speaksFor reports whether a credential may use the request's subject. NATS
// has already checked that; this guards against a permission template that is
// too wide.
func speaksFor(g *assertion.Grant, r *request) bool {
	role, width, _ := strings.Cut(g.Scope, "-")
	if g.Tenant != "" && g.Tenant != r.Tenant || g.Session != "" && g.Session != r.Session {
		return false
	}
	switch r.Root {
	case subject.Hosts:
		return role == "host" && g.Session != ""
	case subject.Responders:
		switch role {
		case subject.TypeAgent:
			return r.Type == role && r.Verb == subject.VerbAsk
		case "responder":
			return g.Type == r.Type && (width != "session" || g.Session != "")
		case subject.TypeGateway, subject.TypeOperator:
			return role == r.Type
		}
	}
	return false
}

// demands returns the proof that the tenant's policy demands.
func (b *Broker) demands(r *request) string {
	if b.opts.Policy == nil {
		return ""
	}
	return b.opts.Policy(r.Tenant)
}

// line returns the key of the queue of a request: the session of requests that
// agents send, and the credential of those that surfaces send.
func (r *request) line() ask.Key {
	if r.User != "" && !r.Asks() {
		return ask.Key{ID: r.User}
	}
	return ask.Key{Tenant: r.Tenant, Session: r.Session}
}

// sender names the sender for people.
func (r *request) sender() string {
	if r.User != "" && !r.Asks() {
		return "the credential " + r.User
	}
	return "session " + r.Session
}
