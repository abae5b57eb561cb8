package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/internal/ledger"
	"github.com/askbus/askbus/internal/lifecycle"
	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/pkg/ask"
)

func (b *Broker) ask(ctx context.Context, r *request) error {
	a, err := cloudevent.DecodeAsk(r.body)
	if err != nil {
		return err
	}
	if a.ID != r.ID {
		return ask.InvalidError("ask", []ask.Fault{{Pointer: "/id", Message: fmt.Sprintf("is %.80q, but the subject says %q; they must agree", a.ID, r.ID)}})
	}
	a.Tenant, a.Session = r.Tenant, r.Session
	a.Normalize()
	if err := a.Validate(b.opts.Now()); err != nil {
		return err
	}
	digest, err := cloudevent.Digest(&a)
	if err != nil {
		return err
	}
	origin := cloudevent.Question{EventID: clip(r.event.ID), Trace: r.event.Trace}
	roll := b.presence.recent
	if a.RequireResponder {
		roll = b.presence.ask
	}
	who := roll(r.Tenant, r.Session) // answered while the question is being stored
	var h *held
	if r.hold > 0 {
		h = b.waits.hold(r)
	}
	entry, err := b.carry(ctx, r.Key(), lifecycle.Ask{Ask: a, Digest: digest}, origin)
	if err != nil {
		h.cancel()
		return err
	}
	b.log(ctx, "asked", r, entry)
	s := status(r.Key(), entry)
	s.Warnings = warnings(&a, entry, b.opts.Now())
	switch {
	case h != nil && entry.Resolved != nil:
		if h.cancel() {
			return b.tellEnd(r, entry.Resolved)
		}
		return nil
	case h != nil:
		h.pending(entry.Pending.Ask.Deadline) //nolint:contextcheck // it waits longer than this request's limit
		return nil
	}
	s.Present = who.wait(ctx, 50*time.Millisecond)
	s.Ask, s.RawAsk = nil, nil // the agent has just said it
	return b.tellStatus(r, s)
}

// clip bounds the id of an event that we keep.
func clip(id string) string {
	if len(id) > 256 {
		return id[:256]
	}
	return id
}

// warnings tells an agent what it may not have meant.
func warnings(a *ask.Ask, e ledger.Entry, now time.Time) []string {
	if e.Pending == nil || a.Deadline.IsZero() && a.Timeout == 0 {
		return nil
	}
	// The deadline of the first asking stays.
	if d := a.Due(now).Sub(e.Pending.Ask.Deadline); d.Abs() > time.Minute {
		return []string{"this ask was asked before; its deadline stays " + e.Pending.Ask.Deadline.UTC().Format(time.RFC3339)}
	}
	return nil
}

// get serves get and wait.
func (b *Broker) get(ctx context.Context, r *request) error {
	var h *held
	if r.Verb == subject.VerbWait && r.hold > 0 {
		h = b.waits.hold(r) // before reading, so that no outcome falls between
	}
	entry, err := b.look(ctx, r.Key())
	switch {
	case err != nil:
		h.cancel()
		return err
	case h != nil && entry.Resolved == nil:
		h.pending(entry.Pending.Ask.Deadline) //nolint:contextcheck // it waits longer than this request's limit
		return nil
	case h != nil && !h.cancel():
		return nil // the outcome came on the wire meanwhile
	case r.Verb == subject.VerbWait && entry.Resolved != nil:
		return b.tellEnd(r, entry.Resolved)
	}
	s := status(r.Key(), entry)
	if r.Verb == subject.VerbGet {
		if s.Receipts, err = b.led.Receipts(ctx, r.Key(), s.Seq); err != nil {
			return err
		}
	}
	return b.tellStatus(r, s)
}

// status is what is said of an entry.
func status(k ask.Key, e ledger.Entry) cloudevent.Status {
	if e.Resolved != nil {
		return cloudevent.Status{
			State: ask.StateResolved, Key: k, Deadline: e.Resolved.Outcome.Ask.Deadline, AskedAt: e.Resolved.AskedAt,
			Ask: e.Resolved.Outcome.Ask, RawAsk: e.Resolved.AskJSON(), Outcome: &e.Resolved.Outcome,
		}
	}
	return cloudevent.Status{
		State: ask.StatePending, Key: k, Deadline: e.Pending.Ask.Deadline, AskedAt: e.Pending.AskedAt, Seq: e.Pending.Seq,
		Ask: &e.Pending.Ask, RawAsk: e.Pending.RawAsk,
	}
}

// end serves withdraw and abort.
func (b *Broker) end(ctx context.Context, r *request) error {
	reason, err := cloudevent.DecodeEnd(string(r.Verb), r.body, r.ID)
	if err != nil {
		return err
	}
	var c lifecycle.Command = lifecycle.Withdraw{Reason: reason}
	if r.Verb == subject.VerbAbort {
		c = lifecycle.Abort{Reason: reason}
	}
	return b.resolve(ctx, r, c)
}

// answer serves answer and cancel.
func (b *Broker) answer(ctx context.Context, r *request) error {
	var c lifecycle.Command
	if r.Verb == subject.VerbAnswer {
		reply, err := cloudevent.DecodeReply(r.body, r.ID)
		if err != nil {
			return err
		}
		reply.By.Responder = r.Type // what the credential proves, whatever the body says
		c = lifecycle.Reply{Reply: reply}
	} else {
		reply, reason, err := cloudevent.DecodeDecline(r.body, r.ID)
		if err != nil {
			return err
		}
		reply.By.Responder = r.Type
		c = lifecycle.Decline{Reply: reply, Reason: reason}
	}
	return b.resolve(ctx, r, c)
}

// resolve ends an ask and tells the outcome.
func (b *Broker) resolve(ctx context.Context, r *request, c lifecycle.Command) error {
	entry, err := b.carry(ctx, r.Key(), c, cloudevent.Question{})
	if err != nil {
		return err
	}
	b.log(ctx, string(entry.Resolved.Outcome.Status), r, entry)
	return b.tellEnd(r, entry.Resolved)
}

func (b *Broker) receipt(ctx context.Context, r *request) error {
	receipt, err := cloudevent.DecodeReceipt(r.body, r.ID)
	if err != nil {
		return err
	}
	entry, err := b.led.ReadAny(ctx, r.Key())
	if err == nil && (entry == (ledger.Entry{}) || entry.Pending != nil && b.opts.Now().After(entry.Pending.Ask.Deadline)) {
		entry, err = b.look(ctx, r.Key())
	}
	if err != nil {
		return err
	}
	s := status(r.Key(), entry)
	if s.Seq != 0 && s.Seq != receipt.Seq {
		return ask.InvalidError("receipt", []ask.Fault{{Pointer: "/seq", Message: fmt.Sprintf("is %d, but this question has %d: another life of the id", receipt.Seq, s.Seq)}})
	}
	now := b.opts.Now()
	receipt.Type, receipt.At = r.Type, now.UTC()
	if err := b.led.Receipt(ctx, r.Key(), receipt, s.Deadline, now); err != nil {
		return err
	}
	s.Receipts = []ask.Receipt{receipt}
	return b.tellStatus(r, s)
}

func (b *Broker) list(ctx context.Context, r *request) error {
	q, err := cloudevent.DecodeQuery(r.body)
	if err != nil {
		return err
	}
	for _, v := range []struct {
		at         string
		own, asked *string
	}{{"/tenant", &r.Tenant, &q.Tenant}, {"/session", &r.Session, &q.Session}} {
		if *v.own == "" {
			continue
		}
		if *v.asked != "" && *v.asked != *v.own {
			return ask.InvalidError("list", []ask.Fault{{Pointer: v.at, Message: fmt.Sprintf("is %q, but the subject says %q", *v.asked, *v.own)}})
		}
		*v.asked = *v.own
	}
	if q.Session != "" && q.Tenant == "" {
		return ask.InvalidError("list", []ask.Fault{{Pointer: "/tenant", Message: "is missing; a session needs its tenant"}})
	}
	items, next, err := b.led.List(ctx, q)
	if err != nil {
		return err
	}
	for i := range items { // what is overdue ends now, not when somebody answers
		it := &items[i]
		if it.Record.State != ask.StatePending || !b.opts.Now().After(it.Record.Ask.Deadline.Add(lifecycle.Overdue)) {
			continue
		}
		entry, err := b.look(ctx, it.Record.Ask.Key())
		if errors.Is(err, ask.ErrNotFound) { // its outcome is past its retention
			it.Record.State = ""
			continue
		}
		if err != nil {
			return err
		}
		if entry.Resolved != nil {
			it.Record.State, it.Record.Outcome, it.Outcome = ask.StateResolved, &entry.Resolved.Outcome, nil
		}
	}
	items = slices.DeleteFunc(items, func(it cloudevent.ListItem) bool {
		return it.Record.State == "" || q.State != "" && string(it.Record.State) != q.State
	})
	body, err := cloudevent.EncodePage(items, next)
	if err != nil {
		return err
	}
	return b.tellJSON(r, body)
}
