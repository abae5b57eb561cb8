package broker

import (
	"context"
	"errors"
	"log/slog"
	"strconv"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// replyStatus replies with the status of an ask.
func (b *Broker) replyStatus(r *request, s wire.StatusReply) error {
	b.goOn(r, &s)
	b.breakStatus(r, &s)
	data, err := wire.EncodeStatus(&s)
	if err != nil {
		return err
	}
	ev := cloudevent.Event{Source: cloudevent.BrokerSource, Type: cloudevent.TypeStatus, Key: s.Key, Time: b.led.Now(), Data: data}
	msg, err := ev.Msg(r.mode)
	if err != nil {
		return err
	}
	if s.Created != nil {
		msg.Header[headerCreated] = []string{strconv.FormatBool(*s.Created)}
	}
	return b.send(r, msg)
}

// replyEnd replies with the outcome of an ask.
func (b *Broker) replyEnd(r *request, s *lifecycle.State) error {
	ev, err := cloudevent.EndEvent(b.breakEnd(r, s))
	if err != nil {
		return err
	}
	msg, err := ev.Msg(r.mode)
	if err != nil {
		return err
	}
	if r.Verb == subject.VerbAsk {
		msg.Header[headerCreated] = []string{strconv.FormatBool(r.created(s))}
	}
	return b.send(r, msg)
}

// replyJSON replies with a value as plain JSON.
func (b *Broker) replyJSON(r *request, v any) error {
	body, err := wire.Marshal(v)
	if err != nil {
		return err
	}
	return b.replyBody(r, body)
}

// replyBody replies with what is JSON already.
func (b *Broker) replyBody(r *request, body []byte) error {
	return b.send(r, &nats.Msg{Header: nats.Header{"Content-Type": []string{cloudevent.TypeJSON}}, Data: body})
}

// errNobodyListens means that the server could not deliver a reply.
var errNobodyListens = errors.New("nobody listens for the reply")

// replyListener replies with plain JSON, as a request: the server reports at
// once if nobody is subscribed to its subject. A listener need not reply. So work
// for a replica that died while its request was held is given back at once, and
// not after its lease of a minute.
func (b *Broker) replyListener(ctx context.Context, r *request, body []byte) error {
	inbox := b.nc.NewInbox()
	sub, err := b.nc.SubscribeSync(inbox)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	msg := &nats.Msg{Header: nats.Header{"Content-Type": []string{cloudevent.TypeJSON}}, Reply: inbox, Data: body}
	if err := b.send(r, msg); err != nil {
		return err
	}
	if err := b.nc.FlushWithContext(ctx); err != nil {
		return nil // it may have been received
	}
	if waiting, _, err := sub.Pending(); err == nil && waiting > 0 {
		return errNobodyListens
	}
	return nil
}

// refuse replies with an error: the headers of a NATS service error and a
// problem body.
func (b *Broker) refuse(ctx context.Context, r *request, err error) {
	e := wire.AsError(unavailable(err))
	if wire.HTTPStatus(e.Code) >= 500 && e.Code != ask.CodeNobody { // that nobody is there is an answer
		b.opts.Logger.WarnContext(ctx, "request failed", slog.Any("verb", r.Verb), slog.String("ask_id", r.ID), slog.String("code", e.Code), slog.Any("error", err))
	} else {
		b.opts.Logger.DebugContext(ctx, "refused", slog.Any("verb", r.Verb), slog.String("ask_id", r.ID), slog.String("code", e.Code))
	}
	b.refuseUnlogged(ctx, r, e)
}

func (b *Broker) refuseUnlogged(ctx context.Context, r *request, e *ask.Error) {
	b.refused.Add(1)
	b.counts.Refused(r.Tenant, e.Code)
	b.auditRefusal(r, e)
	if err := b.send(r, connection.Refuse(e)); err != nil {
		b.opts.Logger.WarnContext(ctx, "cannot reply", slog.Any("verb", r.Verb), slog.String("ask_id", r.ID), slog.Any("error", err))
	}
}

// unavailable converts the error of an unreachable ledger to a refusal.
func unavailable(err error) error {
	e := wire.AsError(err)
	if e.Code != ask.CodeInternal || !ledger.IsTemporary(err) {
		return err
	}
	return ask.Refuse(ask.CodeUnavailable, "the ledger does not answer now; try again with the same ids")
}

// send publishes a reply on the service connection, which can only reach
// inboxes.
func (b *Broker) send(r *request, msg *nats.Msg) error {
	if r.reply == "" {
		return nil
	}
	msg.Subject = r.reply
	if msg.Header == nil {
		msg.Header = nats.Header{}
	}
	msg.Header[wire.HeaderProtocol] = []string{wire.ProtocolText()}
	if most := b.nc.MaxPayload(); most > 0 && int64(len(msg.Data)) > most-4096 {
		return ask.Refuse(ask.CodeTooLarge, "the reply has %d bytes, more than the server carries; ask for less at a time", len(msg.Data))
	}
	return b.nc.PublishMsg(msg)
}

// log writes the one line of a decision: names only, never texts.
func (b *Broker) log(ctx context.Context, phase string, r *request, s *lifecycle.State) {
	responder := r.Type
	if r.Asks() {
		responder = ""
	}
	if s.End != nil && s.End.By != nil {
		responder = s.End.By.Responder
	}
	b.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "ask", slog.String("phase", phase), slog.String("tenant", r.Tenant), slog.String("session", r.Session), slog.String("ask_id", r.ID), slog.String("responder", responder))
}
