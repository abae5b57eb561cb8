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
	by     ask.By // who answers, as far as the sender's credential may say it
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
	b.queue(m, &req, req.line(), "of "+req.sender(), func(ctx context.Context) error { return b.handle(ctx, msg, &req) })
}

// queue serves a request when it is its line's turn; whose names the requests of that line.
func (b *Broker) queue(m micro.Request, r *request, line ask.Key, whose string, serve func(context.Context) error) {
	if !b.workers.do(line, len(m.Data()), func() { b.do(m.Headers(), r, serve) }) {
		b.refuse(b.base, r, b.workers.busy(whose))
	}
}

// do serves a request whose turn it is, unless its sender has given up.
func (b *Broker) do(h micro.Headers, r *request, serve func(context.Context) error) {
	if r.over() {
		b.late.Add(1)
		return
	}
	ctx, cancel := context.WithTimeout(b.base, b.opts.Limit)
	defer cancel()
	err := checkProtocol(h)
	if err == nil {
		err = serve(ctx)
	}
	if err != nil {
		b.refuse(ctx, r, err)
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

// served says how requests with a verb are served.
type served struct {
	carries carried
	event   string // its type, if they carry one
	serve   func(*Broker, context.Context, *request) error
}

// carried is what a request carries.
type carried int

const (
	withEvent carried = iota
	withMode          // of an event, for the reply: it reads
	withBody          // JSON without an event
	withBytes         // of a file
)

// verbs are the verbs that brokers serve.
//
//nolint:gochecknoglobals // a table
var verbs = map[subject.Verb]served{
	subject.VerbAsk:       {withEvent, cloudevent.TypeAsked, (*Broker).ask},
	subject.VerbGet:       {withMode, "", (*Broker).get},
	subject.VerbWait:      {withMode, "", (*Broker).get},
	subject.VerbWithdraw:  {withEvent, cloudevent.TypeWithdrawn, (*Broker).end},
	subject.VerbAbort:     {withEvent, cloudevent.TypeAborted, (*Broker).end},
	subject.VerbAnswer:    {withEvent, cloudevent.TypeAnswered, (*Broker).answer},
	subject.VerbCancel:    {withEvent, cloudevent.TypeDeclined, (*Broker).answer},
	subject.VerbUnvote:    {withEvent, cloudevent.TypeUnvoted, (*Broker).unvote},
	subject.VerbReceipt:   {withEvent, cloudevent.TypePresented, (*Broker).receipt},
	subject.VerbRepeat:    {withBody, "", (*Broker).repeat},
	subject.VerbDelivered: {withBody, "", (*Broker).delivered},
	subject.VerbUpload:    {withBytes, "", (*Broker).upload},
	subject.VerbFile:      {withBytes, "", (*Broker).file},
	subject.VerbSnooze:    {withBody, "", (*Broker).snooze},
	subject.VerbHandOver:  {withBody, "", (*Broker).handover},
	subject.VerbSeen:      {withBody, "", (*Broker).seen},
	subject.VerbAway:      {withBody, "", (*Broker).away},
	subject.VerbClaim:     {withBody, "", (*Broker).claim},
	subject.VerbLink:      {withBody, "", (*Broker).link},
	subject.VerbList:      {withBody, "", (*Broker).list},
	subject.VerbNext:      {withBody, "", (*Broker).next},
	subject.VerbDone:      {withBody, "", (*Broker).settle},
	subject.VerbExtend:    {withBody, "", (*Broker).settle},
	subject.VerbLater:     {withBody, "", (*Broker).settle},
	subject.VerbRemove:    {withBody, "", (*Broker).removeTenant},
	subject.VerbReadmit:   {withBody, "", (*Broker).readmitTenant},
}

func (b *Broker) handle(ctx context.Context, msg *nats.Msg, r *request) (err error) {
	verb, ok := verbs[r.Verb]
	err = b.read(msg, r, &verb)
	if verb.event != "" { // it changes or presents an ask
		var end func(error)
		ctx, end = b.tracer.Start(ctx, "broker "+string(r.Verb), tracing.Serves, r.event.Trace, tracing.Ask{Tenant: r.Tenant, Session: r.Session, ID: r.ID, Responder: r.Type})
		defer func() { end(err) }()
	}
	switch {
	case err != nil:
		return err
	case !ok:
		return fmt.Errorf("broker: no verb %q", r.Verb)
	}
	return verb.serve(b, ctx, r)
}

// read takes what a message carries.
func (b *Broker) read(msg *nats.Msg, r *request, verb *served) error {
	if len(msg.Data) > ask.MaxEventBytes {
		return ask.Refusal(ask.CodeTooLarge, ask.FaultTooManyBytes, "the_event", len(msg.Data), ask.MaxEventBytes)
	}
	if verb.carries == withBytes {
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
	if verb.carries == withBody {
		r.body, r.jwt = msg.Data, credentials(msg.Header)
		return nil
	}
	var err error
	r.event, r.mode, err = cloudevent.Read(msg)
	if verb.carries == withEvent {
		if errors.Is(err, cloudevent.ErrNoEvent) {
			return ask.Refuse(ask.CodeInvalid, "%s needs a CloudEvent in its body", r.Verb)
		}
		if err == nil {
			err = checkEvent(r, verb.event)
		}
		if err != nil {
			return err
		}
		r.body, r.jwt = r.event.Data, credentials(msg.Header)
		if id := msg.Header.Get(connection.HeaderToken); r.Type == subject.TypeGateway && ask.ValidToken(id) {
			r.token = id
		}
	}
	return r.readHold(msg.Header)
}

func checkEvent(r *request, want string) error {
	if r.event.Type != want {
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
