package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/process/tracing"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// headerCreated says in every reply to ask whether this event stored it.
const headerCreated = "Askbus-Created"

// headerWait asks the broker to hold a request for this long.
const headerWait = "Askbus-Wait"

// request is one running request.
type request struct {
	subject.Request
	reply  string
	mode   cloudevent.Mode
	event  cloudevent.Incoming // zero if the request has none
	body   []byte              // the data of the event, or the plain body
	header nats.Header         // of requests about files
	jwt    []string            // the sender's credentials
	hold   time.Duration
	token  string // the id of the API token for which a gateway asks
	attempt
}

// receive takes one message from the micro library. micro runs an endpoint's
// callbacks one by one, so the work is passed to a goroutine at once; while all
// workers are busy, messages wait in the subscription.
func (b *Broker) receive(m micro.Request) {
	b.requests.Add(1)
	r, err := subject.Parse(m.Subject())
	if err != nil {
		b.refuseSubject(m, err)
		return
	}
	if m.Reply() != "" && !subject.ReplyAllowed(r, m.Reply()) {
		// A reply there would use the broker's rights where the sender has
		// none.
		b.dropped.Add(1)
		b.counts.Dropped()
		b.opts.Logger.Warn("dropped a request with a foreign reply subject; set the inbox prefix of the credential", slog.String("subject", m.Subject()))
		return
	}
	b.counts.Request(string(r.Verb))
	if err := b.admits(r.Tenant, r.Verb); err != nil {
		b.shed(&request{Request: r, reply: m.Reply()}, err)
		return
	}
	if r.Asks() {
		if err := b.quotas.Request(r.Key()); err != nil {
			b.shed(&request{Request: r, reply: m.Reply()}, err)
			return
		}
	}
	msg := &nats.Msg{Subject: m.Subject(), Reply: m.Reply(), Header: nats.Header(m.Headers()), Data: m.Data()}
	req := request{Request: r, reply: m.Reply(), attempt: attemptOf(msg.Header)}
	if !b.workers.do(req.line(), len(msg.Data), func() { b.handle(msg, req) }) {
		b.refuse(b.base, &req, b.workers.busy("of "+req.sender()))
	}
}

// refuseSubject refuses a request whose subject an endpoint matches, but with
// an invalid id, such as "中". It replies only where it would with a valid one;
// other tokens decide which inbox that is.
func (b *Broker) refuseSubject(m micro.Request, err error) {
	parent := m.Subject()[:strings.LastIndexByte(m.Subject(), '.')+1]
	r, wrong := subject.Parse(parent + "id")
	if wrong != nil || r.ID == "" || m.Reply() != "" && !subject.ReplyAllowed(r, m.Reply()) {
		b.dropped.Add(1)
		b.counts.Dropped()
		return
	}
	id := m.Subject()[len(parent):]
	r.ID = ""
	e := ask.InvalidError(string(r.Verb), []ask.Fault{ask.NewFault("/id", ask.FaultBadToken, ask.Clip(id, 80), ask.MaxToken)})
	b.opts.Logger.Debug("refused an invalid subject", slog.Any("error", err))
	b.shed(&request{Request: r, reply: m.Reply()}, e)
}

// shed refuses a request of a session that sends too many. A refusal costs about
// as much as a request, so only some get a reply; the sender repeats the others,
// like any request that was lost.
func (b *Broker) shed(r *request, err error) {
	session, now := r.Tenant+"/"+r.Session, time.Now()
	if b.told.Take(session, now) {
		if b.shedLog.Take(session, now) {
			b.refuse(b.base, r, err)
		} else {
			b.refuseUnlogged(b.base, r, wire.AsError(err))
		}
		return
	}
	b.refused.Add(1)
	b.counts.Refused(r.Tenant, ask.CodeUnavailable)
}

// Limits per session and minute: refusals to which shed replies, and those that
// it logs.
const (
	toldRefusals   = 1200
	loggedRefusals = 10
)

func (b *Broker) handle(msg *nats.Msg, r request) {
	if r.over() {
		b.late.Add(1)
		return
	}
	ctx, cancel := context.WithTimeout(b.base, b.opts.Limit)
	defer cancel()
	err := b.read(msg, &r)
	if eventType(r.Verb) != "" { // verbs that change or present an ask
		var end func(error)
		ctx, end = b.tracer.Start(ctx, "broker "+string(r.Verb), tracing.Serves, r.event.Trace, tracing.Ask{Tenant: r.Tenant, Session: r.Session, ID: r.ID, Responder: r.Type})
		defer func() { end(err) }()
	}
	if err == nil {
		err = b.route(ctx, &r)
	}
	if err != nil {
		b.refuse(ctx, &r, err)
	}
}

// read takes the event or the plain body from a message.
func (b *Broker) read(msg *nats.Msg, r *request) error {
	if err := checkProtocol(msg.Header); err != nil {
		return err
	}
	if len(msg.Data) > ask.MaxEventBytes {
		return ask.Refusal(ask.CodeTooLarge, ask.FaultTooManyBytes, "the_event", len(msg.Data), ask.MaxEventBytes)
	}
	if r.Verb == subject.VerbUpload || r.Verb == subject.VerbFile {
		r.body, r.header = msg.Data, msg.Header
		return nil
	}
	if err := wire.CheckText(msg.Data); err != nil {
		return err
	}
	for name, values := range msg.Header {
		if strings.EqualFold(name, "Content-Type") && len(values) > 0 {
			if err := wire.CheckCharset(values[0]); err != nil {
				return err
			}
		}
	}
	switch r.Verb {
	case subject.VerbList, subject.VerbNext, subject.VerbDone, subject.VerbExtend, subject.VerbLater, subject.VerbRepeat, subject.VerbDelivered, subject.VerbRemove, subject.VerbReadmit:
		r.body = msg.Data
		return nil
	case subject.VerbSnooze, subject.VerbHandOver, subject.VerbSeen, subject.VerbAway, subject.VerbClaim, subject.VerbLink:
		r.body, r.jwt = msg.Data, credentials(msg.Header)
		return nil
	case subject.VerbGet, subject.VerbWait:
		// Reads need no event; if there is one, only its mode matters.
		_, r.mode, _ = cloudevent.Read(msg)
	default:
		var err error
		r.event, r.mode, err = cloudevent.Read(msg)
		if errors.Is(err, cloudevent.ErrNoEvent) {
			return ask.Refuse(ask.CodeInvalid, "%s needs a CloudEvent in its body", r.Verb)
		}
		if err != nil {
			return err
		}
		if err := checkEvent(r); err != nil {
			return err
		}
		r.body, r.jwt = r.event.Data, credentials(msg.Header)
		if id := msg.Header.Get(connection.HeaderToken); r.Type == subject.TypeGateway && ask.ValidToken(id) {
			r.token = id
		}
	}
	return r.readHold(msg.Header)
}

// eventType returns the type of the event that a verb carries; empty: none.
func eventType(v subject.Verb) string {
	switch v {
	case subject.VerbAsk:
		return cloudevent.TypeAsked
	case subject.VerbWithdraw:
		return cloudevent.TypeWithdrawn
	case subject.VerbAbort:
		return cloudevent.TypeAborted
	case subject.VerbAnswer:
		return cloudevent.TypeAnswered
	case subject.VerbCancel:
		return cloudevent.TypeDeclined
	case subject.VerbUnvote:
		return cloudevent.TypeUnvoted
	case subject.VerbReceipt:
		return cloudevent.TypePresented
	}
	return ""
}

func checkEvent(r *request) error {
	if want := eventType(r.Verb); r.event.Type != want {
		return ask.Refuse(ask.CodeInvalid, "the event's type is %.80q; %s takes %s", r.event.Type, r.Verb, want)
	}
	if s := r.event.Subject; s != "" && s != r.ID {
		return ask.Refuse(ask.CodeInvalid, "the event's subject is %.80q, but the NATS subject names ask %q; they must agree", s, r.ID)
	}
	if len(r.event.Data) == 0 {
		return ask.Refuse(ask.CodeInvalid, "the event has no data")
	}
	return nil
}

func (r *request) readHold(h nats.Header) error {
	found := false
	for name, values := range h {
		if !strings.EqualFold(name, headerWait) || len(values) == 0 {
			continue
		}
		if found || len(values) > 1 {
			return ask.Refuse(ask.CodeInvalid, "header %s is given more than once; send it once", headerWait)
		}
		found = true
		d, err := time.ParseDuration(values[0])
		if err != nil || d < 0 {
			return ask.Refuse(ask.CodeInvalid, `header %s is %.40q; give a duration such as "30s"`, headerWait, values[0])
		}
		r.hold = min(d, ask.MaxHold)
	}
	return nil
}

func (b *Broker) route(ctx context.Context, r *request) error {
	switch r.Verb {
	case subject.VerbAsk:
		return b.ask(ctx, r)
	case subject.VerbGet, subject.VerbWait:
		return b.get(ctx, r)
	case subject.VerbWithdraw, subject.VerbAbort:
		return b.end(ctx, r)
	case subject.VerbAnswer, subject.VerbCancel:
		return b.answer(ctx, r)
	case subject.VerbUnvote:
		return b.unvote(ctx, r)
	case subject.VerbRepeat:
		return b.repeat(ctx, r)
	case subject.VerbDelivered:
		return b.delivered(ctx, r)
	case subject.VerbReceipt:
		return b.receipt(ctx, r)
	case subject.VerbUpload:
		return b.upload(ctx, r)
	case subject.VerbFile:
		return b.file(ctx, r)
	case subject.VerbSnooze:
		return b.snooze(ctx, r)
	case subject.VerbHandOver:
		return b.handover(ctx, r)
	case subject.VerbSeen:
		return b.seen(ctx, r)
	case subject.VerbAway:
		return b.away(ctx, r)
	case subject.VerbClaim:
		return b.claim(ctx, r)
	case subject.VerbLink:
		return b.link(ctx, r)
	case subject.VerbList:
		return b.list(ctx, r)
	case subject.VerbNext:
		return b.next(r) //nolint:contextcheck // waits longer than this request's limit
	case subject.VerbDone, subject.VerbExtend, subject.VerbLater:
		return b.settle(ctx, r)
	case subject.VerbRemove:
		return b.removeTenant(ctx, r)
	case subject.VerbReadmit:
		return b.readmitTenant(ctx, r)
	}
	return fmt.Errorf("broker: no verb %q", r.Verb)
}
