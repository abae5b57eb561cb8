package broker

import (
	"context"
	"log/slog"
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/internal/ledger"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// tellStatus replies with the status of an ask.
func (b *Broker) tellStatus(r *request, s cloudevent.Status) error {
	b.breakStatus(r, &s)
	data, err := cloudevent.EncodeStatus(&s)
	if err != nil {
		return err
	}
	ev := cloudevent.Event{Source: cloudevent.BrokerSource, Type: cloudevent.TypeStatus, Key: s.Key, Time: b.opts.Now(), Data: data}
	msg, err := ev.Msg(r.mode)
	if err != nil {
		return err
	}
	return b.send(r, msg)
}

// tellEnd replies with the outcome of an ask.
func (b *Broker) tellEnd(r *request, end *cloudevent.End) error {
	ev, err := b.breakEnd(r, end).Event()
	if err != nil {
		return err
	}
	msg, err := ev.Msg(r.mode)
	if err != nil {
		return err
	}
	return b.send(r, msg)
}

// tellJSON replies with plain JSON.
func (b *Broker) tellJSON(r *request, body []byte) error {
	return b.send(r, &nats.Msg{Header: nats.Header{"Content-Type": []string{cloudevent.TypeJSON}}, Data: body})
}

// refuse replies with an error: the headers of a NATS service error and a
// problem body.
func (b *Broker) refuse(ctx context.Context, r *request, err error) {
	e := cloudevent.AsError(unavailable(err))
	b.refused.Add(1)
	if e.Status >= 500 {
		b.opts.Logger.WarnContext(ctx, "request failed", slog.Any("verb", r.Verb), slog.String("ask_id", r.ID), slog.String("code", e.Code), slog.Any("error", err))
	} else {
		b.opts.Logger.DebugContext(ctx, "refused", slog.Any("verb", r.Verb), slog.String("ask_id", r.ID), slog.String("code", e.Code))
	}
	msg := &nats.Msg{Header: nats.Header{
		micro.ErrorCodeHeader: []string{strconv.Itoa(e.Status)},
		micro.ErrorHeader:     []string{strings.Join(strings.Fields(e.Detail), " ")},
		"Content-Type":        []string{cloudevent.TypeProblem},
	}, Data: cloudevent.EncodeProblem(e)}
	if err := b.send(r, msg); err != nil {
		b.opts.Logger.WarnContext(ctx, "could not reply", slog.Any("verb", r.Verb), slog.String("ask_id", r.ID), slog.Any("error", err))
	}
}

// unavailable gives a ledger that cannot be reached its refusal.
func unavailable(err error) error {
	e := cloudevent.AsError(err)
	if e.Code != ask.CodeInternal || !isUnavailable(err) {
		return err
	}
	return ask.Refuse(503, ask.CodeUnavailable, "the ledger does not answer just now; try again, with the same ids")
}

// send publishes a reply on the service connection, which can reach inboxes
// only.
func (b *Broker) send(r *request, msg *nats.Msg) error {
	if r.reply == "" {
		return nil
	}
	msg.Subject = r.reply
	if most := b.nc.MaxPayload(); most > 0 && int64(len(msg.Data)) > most-4096 {
		return ask.Refuse(413, ask.CodeTooLarge, "the reply has %d bytes, more than the server carries; ask for less at a time", len(msg.Data))
	}
	return b.nc.PublishMsg(msg)
}

// log writes the one line of a decision. Never texts, only names.
func (b *Broker) log(ctx context.Context, phase string, r *request, e ledger.Entry) {
	responder := r.Type
	if e.Resolved != nil && e.Resolved.Outcome.By != nil {
		responder = e.Resolved.Outcome.By.Responder
	}
	b.opts.Logger.InfoContext(ctx, "ask", slog.String("phase", phase), slog.String("tenant", r.Tenant), slog.String("session", r.Session), slog.String("ask_id", r.ID), slog.String("responder", responder))
}
