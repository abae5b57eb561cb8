package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"
)

// incoming is a CloudEvent that came over HTTP.
type incoming struct {
	event.Event
	mode cloudevent.Mode
	key  ask.Key
}

// events takes a CloudEvent in structured or binary mode and answers with one
// in the same mode: to an ask the outcome, when it comes in time.
func (g *Gateway) events(w http.ResponseWriter, r *http.Request, c *caller) error {
	in, err := g.readEvent(w, r)
	if err != nil {
		return err
	}
	if err := g.address(r, c, in); err != nil {
		return err
	}
	switch in.Type() {
	case cloudevent.TypeAsked, dialect.D1Request:
		return g.askEvent(w, r, c, in)
	case cloudevent.TypeWithdrawn:
		if err := c.mayAsk(in.key.Tenant, in.key.Session); err != nil {
			return err
		}
		reason, err := cloudevent.DecodeEnd("withdrawal", in.Data(), in.key.ID)
		if err != nil {
			return err
		}
		o, err := g.end(r, in.key, reason)
		return g.sendEnd(w, in, &o, err)
	case cloudevent.TypeAnswered, cloudevent.TypeDeclined:
		return g.answerEvent(w, r, c, in)
	}
	return fault("the event's type is %s; use one of %s", quote(in.Type()), strings.Join(
		[]string{cloudevent.TypeAsked, cloudevent.TypeWithdrawn, cloudevent.TypeAnswered, cloudevent.TypeDeclined, dialect.D1Request}, ", "))
}

func (g *Gateway) readEvent(w http.ResponseWriter, r *http.Request) (*incoming, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err == nil && strings.HasPrefix(media, "application/cloudevents-batch") || media == "application/cloudevents+avro" {
		return nil, ask.Refuse(http.StatusUnsupportedMediaType, ask.CodeInvalid, "%s is not read here; send one event in structured mode (application/cloudevents+json) or in binary mode", media)
	}
	body, err := g.body(w, r)
	if err != nil {
		return nil, err
	}
	// The HTTP binding and ours for NATS write the same headers.
	ev, mode, err := cloudevent.FromMsg(&nats.Msg{Header: nats.Header(r.Header), Data: body})
	if errors.Is(err, cloudevent.ErrNoEvent) {
		return nil, fault("the body is empty; send a CloudEvent in structured or binary mode")
	}
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(ev.Data())) == 0 {
		return nil, fault("the event has no data")
	}
	return &incoming{Event: ev, mode: mode}, nil
}

// address finds out which ask an event is about. Tenant and session come from
// the request, or the event's partitionkey (tenant/session), or a source of
// ours; the id from the subject, the data, or the event's own id, so that an
// event that is sent twice is one ask.
func (g *Gateway) address(r *http.Request, c *caller, in *incoming) error {
	tenant, session, found := "", "", false
	for _, s := range []string{extension(in.Event, "partitionkey"), strings.TrimPrefix(in.Source(), "/askbus/")} {
		if t, rest, ok := strings.Cut(s, "/"); ok && !found && ask.ValidToken(t) && ask.ValidToken(rest) && s != in.Source() {
			tenant, session, found = t, rest, true
		}
	}
	own, err := c.tenantOf(r)
	if err != nil {
		return err
	}
	switch {
	case tenant == "" || r.URL.Query().Get("tenant") != "":
		tenant = own
	case tenant != own && !c.MaySee(tenant, session):
		return c.forbid("tenant " + tenant)
	}
	if params := r.URL.Query(); params.Get("session") != "" || r.Header.Get("Askbus-Session") != "" {
		session = ""
	}
	in.key = ask.Key{Tenant: tenant, Session: c.sessionOf(r, session), ID: in.Subject()}
	var data struct {
		ID    string `json:"id"`
		AskID string `json:"ask_id"`
	}
	_ = json.Unmarshal(in.Data(), &data) // what is wrong with it is said when it is read
	for _, id := range []string{data.AskID, data.ID, r.Header.Get("Idempotency-Key"), in.ID()} {
		if in.key.ID == "" && id != "" {
			in.key.ID = ask.Token(id)
		}
	}
	if !in.key.Valid() {
		return fault("the event's subject is %s, which is no ask id; use 1 to %d of A-Z a-z 0-9 _ -", quote(in.key.ID), ask.MaxToken)
	}
	return nil
}

func extension(ev event.Event, name string) string {
	s, _ := ev.Extensions()[name].(string)
	return s
}

func (g *Gateway) askEvent(w http.ResponseWriter, r *http.Request, c *caller, in *incoming) error {
	if err := c.mayAsk(in.key.Tenant, in.key.Session); err != nil {
		return err
	}
	var a ask.Ask
	var warnings []dialect.Warning
	var err error
	if in.Type() == dialect.D1Request {
		a, warnings, err = dialect.D1Ask(in.Data())
	} else {
		a, err = cloudevent.DecodeAsk(in.Data())
	}
	if err != nil {
		return err
	}
	if a.ID != "" && a.ID != in.key.ID {
		return ask.InvalidError("ask", []ask.Fault{{Pointer: "/id", Message: "is " + quote(a.ID) + ", but the event's subject is " + quote(in.key.ID) + "; they must agree"}})
	}
	a.Tenant, a.Session, a.ID = in.key.Tenant, in.key.Session, in.key.ID
	wait, err := g.waitOf(r, g.opts.MaxWait)
	if err != nil {
		return err
	}
	st, err := g.store(r.Context(), a, cloudevent.Trace(in.Event))
	if err != nil {
		return err
	}
	a.Deadline = st.Deadline
	o := st.Outcome
	if o == nil {
		if o, err = g.await(w, r, in.key, wait); err != nil {
			return err
		}
	}
	warn(w, warnings)
	if in.Type() == dialect.D1Request {
		return g.sendD1(w, r, c, in, &a, o)
	}
	if o != nil {
		return g.sendEnd(w, in, o, nil)
	}
	data, err := cloudevent.EncodeStatus(&cloudevent.Status{State: ask.StatePending, Key: in.key, Deadline: st.Deadline, Warnings: st.Warnings, Present: st.Present})
	if err != nil {
		return err
	}
	w.Header().Set("Location", location(c, r, in.key, ""))
	return g.sendEvent(w, in, http.StatusAccepted, cloudevent.Event{Source: cloudevent.BrokerSource, Type: cloudevent.TypeStatus, Key: in.key, Time: g.opts.Now(), Data: data})
}

// sendD1 answers D1's request event with its response event.
func (g *Gateway) sendD1(w http.ResponseWriter, r *http.Request, c *caller, in *incoming, a *ask.Ask, o *ask.Outcome) error {
	ev := cloudevent.Event{ID: in.ID() + ".response", Source: cloudevent.BrokerSource, Type: dialect.D1Response, Key: in.key, Time: g.opts.Now(), Trace: cloudevent.Trace(in.Event)}
	if o != nil {
		ev.Time, ev.By, ev.Data = o.At, o.By, dialect.D1Answer(a, o).Body
		return g.sendEvent(w, in, http.StatusOK, ev)
	}
	at := location(c, r, in.key, "d1")
	w.Header().Set("Location", at)
	ev.ID, ev.Data = "", dialect.D1Pending(a, dialect.Pending{Location: at}).Body
	return g.sendEvent(w, in, http.StatusAccepted, ev)
}

// answerEvent takes a person's answer or refusal.
func (g *Gateway) answerEvent(w http.ResponseWriter, r *http.Request, c *caller, in *incoming) error {
	if err := c.mayAnswer(in.key.Tenant, in.key.Session); err != nil {
		return err
	}
	fields, err := asObject("answer", in.Data())
	if err != nil {
		return err
	}
	if fields["answer_id"] == nil {
		if fields["answer_id"], err = json.Marshal(ask.Token(in.ID())); err != nil { // sent twice, it is one answer
			return err
		}
	}
	if err := c.sign(fields, in.key); err != nil {
		return err
	}
	signed, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	ctx, cancel := detached(r.Context())
	defer cancel()
	var o ask.Outcome
	if in.Type() == cloudevent.TypeAnswered {
		var reply ask.Reply
		if reply, err = cloudevent.DecodeReply(signed, in.key.ID); err == nil {
			o, err = g.resp.Answer(ctx, in.key, reply)
		}
	} else {
		var reply ask.Reply
		var reason string
		if reply, reason, err = cloudevent.DecodeDecline(signed, in.key.ID); err == nil {
			o, err = g.resp.Cancel(ctx, in.key, responder.Decline{AnswerID: reply.AnswerID, Reason: reason, By: reply.By})
		}
	}
	return g.sendEnd(w, in, &o, err)
}

// sendEnd answers an event with the outcome's.
func (g *Gateway) sendEnd(w http.ResponseWriter, in *incoming, o *ask.Outcome, err error) error {
	if err != nil {
		return err
	}
	data, err := cloudevent.EncodeOutcome(o, nil)
	if err != nil {
		return err
	}
	return g.sendEvent(w, in, http.StatusOK, cloudevent.OutcomeEvent(in.ID(), cloudevent.Trace(in.Event), o, data))
}

func (g *Gateway) sendEvent(w http.ResponseWriter, in *incoming, status int, out cloudevent.Event) error {
	if out.Time.IsZero() {
		out.Time = time.Now()
	}
	msg, err := out.Msg(in.mode)
	if err != nil {
		return err
	}
	for name, values := range msg.Header {
		if !strings.EqualFold(name, "ce-datacontenttype") { // over HTTP it is Content-Type
			w.Header()[http.CanonicalHeaderKey(name)] = values
		}
	}
	w.WriteHeader(status)
	_, _ = w.Write(msg.Data) //nolint:gosec // JSON, and nosniff
	return nil
}
