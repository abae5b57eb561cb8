package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/asking/gateway/asking"
	"github.com/askbus/askbus/internal/asking/sameask"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"
)

// The CloudEvents types of the event pair at /v1/events; frames on a socket have the same names.
const (
	typePairRequest  = "ask:question:request"
	typePairResponse = "ask:question:response"
	typePairPending  = "ask:question:pending" // our extension: nobody has answered yet
)

// incoming is a CloudEvent received over HTTP.
type incoming struct {
	event.Event
	mode cloudevent.Mode
	key  ask.Key
}

// events handles a CloudEvent in structured or binary mode and responds with one in the same mode:
// for an ask the outcome, if it ends in time. It also accepts a batch.
func (api *API) events(w http.ResponseWriter, r *http.Request, c *access.Caller) error {
	if isBatch(r) {
		return api.batch(w, r, c)
	}
	in, err := api.readEvent(w, r)
	if err != nil {
		return err
	}
	return api.event(w, r, c, in)
}

func (api *API) event(w http.ResponseWriter, r *http.Request, c *access.Caller, in *incoming) error {
	if err := api.address(r, c, in); err != nil {
		return err
	}
	switch in.Type() {
	case cloudevent.TypeAsked, typePairRequest:
		return api.askEvent(w, r, c, in)
	case cloudevent.TypeWithdrawn:
		if err := c.CheckAsk(in.key.Tenant, in.key.Session); err != nil {
			return err
		}
		end, err := wire.DecodeEnd("withdrawal", in.Data(), in.key.ID)
		if err != nil {
			return err
		}
		o, err := api.end(r, in.key, end.Reason)
		return api.sendEnd(w, in, &o, err)
	case cloudevent.TypeAnswered, cloudevent.TypeDeclined:
		return api.answerEvent(w, r, c, in)
	}
	return ask.Refusal(ask.CodeInvalid, ask.FaultUnknownEvent, ask.Clip(in.Type(), 80),
		[]string{cloudevent.TypeAsked, cloudevent.TypeWithdrawn, cloudevent.TypeAnswered, cloudevent.TypeDeclined, typePairRequest})
}

func (api *API) readEvent(w http.ResponseWriter, r *http.Request) (*incoming, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err == nil && strings.HasPrefix(media, "application/cloudevents-batch") || media == "application/cloudevents+avro" {
		return nil, ask.Refusal(wire.CodeMediaType, ask.FaultWrongContentType, media, []string{"application/cloudevents+json", "application/json with ce- headers", typeBatch})
	}
	body, err := api.access.Body(w, r)
	if err != nil {
		return nil, err
	}
	// The HTTP binding and ours for NATS use the same headers.
	ev, mode, err := cloudevent.FromMsg(&nats.Msg{Header: nats.Header(r.Header), Data: body})
	if errors.Is(err, cloudevent.ErrNoEvent) {
		return nil, ask.Refusal(ask.CodeInvalid, ask.FaultNoEvent)
	}
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(ev.Data())) == 0 {
		return nil, ask.Refusal(ask.CodeInvalid, ask.FaultNoData, ask.Clip(ev.ID(), 80))
	}
	return &incoming{Event: ev, mode: mode}, nil
}

// address returns the ask of an event. Tenant and session come from the request, the event's
// partitionkey (tenant/session), or a source of ours; the id comes from the subject, the data, or
// the event's own id, so that a repeated event is the same ask.
func (api *API) address(r *http.Request, c *access.Caller, in *incoming) error {
	tenant, session, found := "", "", false
	for _, s := range []string{extension(in.Event, "partitionkey"), strings.TrimPrefix(in.Source(), "/askbus/")} {
		if t, rest, ok := strings.Cut(s, "/"); ok && !found && ask.ValidToken(t) && ask.ValidToken(rest) && s != in.Source() {
			tenant, session, found = t, rest, true
		}
	}
	own, err := c.TenantOf(r)
	if err != nil {
		return err
	}
	switch {
	case tenant == "" || r.URL.Query().Get("tenant") != "":
		tenant = own
	case tenant != own && !c.MaySee(tenant, session):
		return c.Forbid("tenant " + tenant)
	}
	if params := r.URL.Query(); params.Get("session") != "" || r.Header.Get("Askbus-Session") != "" {
		session = ""
	}
	in.key = ask.Key{Tenant: tenant, Session: c.SessionOf(r, session), ID: in.Subject()}
	var data struct {
		ID    string `json:"id"`
		AskID string `json:"ask_id"`
	}
	_ = json.Unmarshal(in.Data(), &data) // faults are reported when it is decoded
	for _, id := range []string{data.AskID, data.ID, r.Header.Get("Idempotency-Key"), in.ID()} {
		if in.key.ID == "" && id != "" {
			in.key.ID = ask.Token(id)
		}
	}
	if !in.key.Valid() {
		return ask.Refusal(ask.CodeInvalid, ask.FaultBadName, "event subject", ask.Clip(in.key.ID, 80), ask.MaxToken)
	}
	return nil
}

func extension(ev event.Event, name string) string {
	s, _ := ev.Extensions()[name].(string)
	return s
}

func (api *API) askEvent(w http.ResponseWriter, r *http.Request, c *access.Caller, in *incoming) error {
	if err := c.CheckAsk(in.key.Tenant, in.key.Session); err != nil {
		return err
	}
	var a ask.Ask
	var warnings []dialect.Warning
	var err error
	if in.Type() == typePairRequest {
		a, warnings, err = dialect.Named("event-pair").Ask(in.Data())
		warnings = append(warnings, dialect.ClipTimes(&a, api.opts.Now())...)
	} else {
		a, err = wire.DecodeAsk(in.Data())
	}
	if err != nil {
		return err
	}
	if a.ID != "" && a.ID != in.key.ID {
		return ask.InvalidError("ask", []ask.Fault{ask.NewFault("/id", ask.FaultDisagrees, ask.Clip(a.ID, 80), "event_subject", in.key.ID)})
	}
	a.Tenant, a.Session, a.ID = in.key.Tenant, in.key.Session, in.key.ID
	wait, err := waitOf(r, 0)
	if err != nil {
		return err
	}
	st, err := api.asks.Store(r.Context(), &a, sameask.Origin{Waits: wait > 0}, cloudevent.Trace(in.Event))
	if err != nil {
		return err
	}
	a.Deadline = st.Deadline
	o, err := api.await(w, r, st, wait)
	if err != nil {
		return err
	}
	warn(w, warnings)
	if in.Type() == typePairRequest {
		return api.sendEventPair(w, r, c, in, &a, o)
	}
	if o != nil {
		return api.sendEnd(w, in, o, nil)
	}
	data, err := wire.EncodeStatus(&wire.StatusReply{State: ask.StatePending, Key: in.key, Deadline: st.Deadline, Warnings: st.Warnings, Present: st.Present})
	if err != nil {
		return err
	}
	w.Header().Set("Location", location(c, r, in.key, ""))
	return api.sendEvent(w, in, http.StatusAccepted, cloudevent.Event{Source: cloudevent.BrokerSource, Type: cloudevent.TypeStatus, Key: in.key, Time: api.opts.Now(), Data: data})
}

// sendEventPair responds to the event pair's request event with its response event.
func (api *API) sendEventPair(w http.ResponseWriter, r *http.Request, c *access.Caller, in *incoming, a *ask.Ask, o *ask.Outcome) error {
	ev := cloudevent.Event{Source: cloudevent.BrokerSource, Type: typePairResponse, Key: in.key, Time: api.opts.Now(), Trace: cloudevent.Trace(in.Event)}
	if o != nil {
		ev.ID = cloudevent.OutcomeID(o) + "/response"
		ev.Time, ev.By, ev.Data = o.At, o.By, dialect.Named("event-pair").Answer(a, o).Body
		return api.sendEvent(w, in, http.StatusOK, ev)
	}
	at := location(c, r, in.key, "event-pair")
	w.Header().Set("Location", at)
	ev.Type, ev.Data = typePairPending, dialect.Named("event-pair").Pending(a, dialect.Pending{Location: at}).Body
	return api.sendEvent(w, in, http.StatusAccepted, ev)
}

// answerEvent handles a person's answer or decline.
func (api *API) answerEvent(w http.ResponseWriter, r *http.Request, c *access.Caller, in *incoming) error {
	if err := c.CheckAnswer(in.key.Tenant, in.key.Session); err != nil {
		return err
	}
	fields, err := access.ReadObject("answer", in.Data())
	if err != nil {
		return err
	}
	if fields["answer_id"] == nil {
		if fields["answer_id"], err = json.Marshal(ask.Token(in.ID())); err != nil { // a repeated event is the same answer
			return err
		}
	}
	signed, err := sign(c, fields, in.key)
	if err != nil {
		return err
	}
	ctx, cancel := asking.Detached(r.Context())
	defer cancel()
	given := dialect.Given{Decision: dialect.Replied}
	if in.Type() == cloudevent.TypeAnswered {
		given.Reply, err = wire.DecodeReply(signed, in.key.ID)
	} else {
		given.Decision = dialect.Declined
		given.Reply, given.Reason, err = wire.DecodeDecline(signed, in.key.ID)
	}
	if err != nil {
		return err
	}
	o, err := asking.Decide(ctx, api.resp, in.key, given)
	return api.sendEnd(w, in, &o, err)
}

// sendEnd responds to an event with the outcome's.
func (api *API) sendEnd(w http.ResponseWriter, in *incoming, o *ask.Outcome, err error) error {
	if err != nil {
		return err
	}
	data, err := wire.CarryOutcome(o)
	if err != nil {
		return err
	}
	return api.sendEvent(w, in, http.StatusOK, cloudevent.OutcomeEvent(cloudevent.Trace(in.Event), o, data))
}

func (api *API) sendEvent(w http.ResponseWriter, in *incoming, status int, out cloudevent.Event) error {
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
