package webhooks

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/process/webhook"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// kind says what a delivery brings.
type kind string

const (
	callback kind = "callback" // an outcome to the agent that asked
	question kind = "ask"      // an ask to a surface
	ending   kind = "outcome"  // an outcome to a surface
	push     kind = "a2a"      // an outcome to an A2A client, as its task
	pressed  kind = "pressed"  // only in addresses: the button of a notice
)

// delivery is something to send to one entry of the file, and the value of an entry of the bucket
// deliveries. It names what it brings; the body is made of the ledger's record at each attempt.
type delivery struct {
	Kind    kind      `json:"kind"`
	Name    string    `json:"name"` // of the entry
	Tenant  string    `json:"tenant"`
	Session string    `json:"session"`
	ID      string    `json:"id"`
	Life    string    `json:"life"`
	Failed  int       `json:"failed,omitempty"` // attempts
	Next    time.Time `json:"next"`             // when to try again
	Claim   string    `json:"claim,omitempty"`  // the replica that is sending it
	Error   string    `json:"error,omitempty"`  // of the last attempt

	// Of a push: the id of its configuration, and what the client wants.
	Config string `json:"config,omitempty"`
	Token  string `json:"token,omitempty"` // comes back as a header
	V03    bool   `json:"v03,omitempty"`   // a task of A2A 0.3

	Button string `json:"-"` // of pressed
}

func (d *delivery) ask() ask.Key { return ask.Key{Tenant: d.Tenant, Session: d.Session, ID: d.ID} }

func (d *delivery) key() state.Key {
	k := state.Key{Tenant: d.Tenant, Name: string(d.Kind) + "." + d.Name + "." + d.Session + "." + d.ID}
	if d.Kind == push || !k.Valid() { // it may be too long
		k.Name = string(d.Kind) + "." + d.messageID()
	}
	return k
}

// receiver names the entry among all.
func (d *delivery) receiver() receiver {
	return receiver{d.Kind == callback || d.Kind == push, d.Tenant, d.Name}
}

// receiver is one entry of the file.
type receiver struct {
	callback     bool
	tenant, name string
}

// messageID returns the id of a delivery, the same in every attempt of every replica.
func (d *delivery) messageID() string {
	what := string(d.Kind) + "\x00" + d.Name + "\x00" + d.ask().String() + "\x00" + d.Life
	if d.Kind == push {
		what += "\x00" + d.Config
	}
	sum := sha256.Sum256([]byte(what))
	return "msg_" + hex.EncodeToString(sum[:16])
}

// The types of messages: those of the events on the bus.
const (
	typeAsked    = "dev.askbus.ask.requested.v1"
	typeResolved = "dev.askbus.ask.resolved.v1"
)

// message is the body of a webhook.
type message struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"` // when it happened
	Data      any       `json:"data"`
}

// reference is the data of a message that would be too large.
type reference struct {
	AskID   string `json:"ask_id"`
	Tenant  string `json:"tenant"`
	Session string `json:"session"`
	Link    string `json:"link,omitempty"`
}

// body returns what a delivery brings, or nil if there is nothing to bring any more.
func (a *App) body(d *delivery, e *Entry, rec *ask.Record) ([]byte, error) {
	if e.Format == formatNtfy {
		return a.notify(d, e, rec)
	}
	k := d.ask()
	m := message{Type: typeResolved}
	link := a.page(k)
	if d.Kind == callback {
		link = a.api(k)
	}
	switch o := rec.Outcome; {
	case d.Kind == question:
		if o != nil {
			return nil, nil // the delivery of its outcome follows
		}
		m.Type, m.Timestamp, m.Data = typeAsked, rec.AskedAt.UTC(), a.asked(d, e, rec)
	case o == nil:
		return nil, nil
	case d.Kind == push:
		return a.task(d, e, rec)
	default:
		bare := *o
		bare.Ask = nil
		m.Timestamp, m.Data = o.At.UTC(), a.withFiles(d, e, &bare)
	}
	data, err := wire.Marshal(m)
	if err != nil || len(data) <= webhook.MaxPayload {
		return data, err
	}
	m.Data = reference{k.ID, k.Tenant, k.Session, link}
	return wire.Marshal(m)
}

// page returns where people see an ask; empty: unknown.
func (a *App) page(k ask.Key) string {
	if a.opts.BaseURL == "" {
		return ""
	}
	return a.opts.BaseURL + "/ask/" + k.String()
}

// api returns where an agent gets an ask; empty: unknown.
func (a *App) api(k ask.Key) string {
	if a.opts.BaseURL == "" {
		return ""
	}
	return a.opts.BaseURL + "/v1/asks/" + k.Session + "/" + k.ID
}
