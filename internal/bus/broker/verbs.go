package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

func (b *Broker) ask(ctx context.Context, r *request) error {
	if err := b.quotas.Ask(r.Key()); err != nil {
		return err
	}
	a, err := wire.DecodeAsk(r.body)
	if err != nil {
		return err
	}
	if a.ID != r.ID {
		return ask.InvalidError("ask", []ask.Fault{ask.NewFault("/id", ask.FaultDisagrees, ask.Clip(a.ID, 80), "subject", r.ID)})
	}
	a.Tenant, a.Session = r.Tenant, r.Session
	a.Normalize()
	now, err := b.led.Moment(ctx, r.Key())
	if err != nil {
		return err
	}
	state, err := b.govern(ctx, a, r, now)
	if again, ok := errors.AsType[*askedError](err); ok {
		if again.held.End != nil && r.hold > 0 {
			return b.replyEnd(r, &again.held)
		}
		s := b.status(r, &again.held)
		s.RawAsk = nil
		return b.replyStatus(r, s)
	}
	if err != nil {
		return err
	}
	if state.Trace == "" { // without a trace of the agent, it begins here
		state.Trace = b.tracer.Carry(ctx)
	}
	poll := b.presence.recent
	if a.RequireResponder {
		poll = b.presence.ask
	}
	var unleased string
	if a.WhileWaiting { // first, so that a stored ask has a lease
		if err := b.leases.renew(ctx, r.Key().InSession(), r.hold); noLease(err) {
			unleased = "while_waiting has no effect here, and this ask stays open until its deadline: " + wire.AsError(err).Detail
		} else if err != nil {
			return err
		}
	}
	who := poll(r.Tenant, r.Session) // runs while the question is being stored
	var h *held
	if r.hold > 0 {
		if h, err = b.waits.hold(r); err != nil {
			return err
		}
	}
	held, err := b.apply(ctx, r.Key(), lifecycle.Ask{State: state}, "")
	if err == nil {
		err = b.keepFiles(ctx, r.Key(), held.Deadline, a.AllFiles())
	}
	if err != nil {
		if h.answered() {
			return nil
		}
		return err
	}
	b.log(ctx, "asked", r, &held)
	s := b.status(r, &held)
	s.Warnings = warnings(&a, &held, now)
	if unleased != "" {
		s.Warnings = append(s.Warnings, unleased)
	}
	switch {
	case h != nil && held.End != nil:
		if h.answered() {
			return nil
		}
		return b.replyEnd(r, &held)
	case h != nil:
		h.pending(held.Deadline) //nolint:contextcheck // waits longer than this request's limit
		return nil
	}
	s.Present = who.wait(ctx, 50*time.Millisecond)
	s.Warnings = append(s.Warnings, append(b.unheard(ctx, &a, s.Present), b.offDuty(&a)...)...)
	if held.Pending() {
		s.Warnings = append(s.Warnings, b.unreached(held.Ask, held.AskedAt)...)
	}
	s.RawAsk = nil // the agent has it
	return b.replyStatus(r, s)
}

// begin makes the state of a new ask. It is the only place where an ask is
// encoded: these bytes are stored, digested, sent in replies and copied into
// the outcome. A digest that is given is that of the ask as its agent sent it.
func begin(a ask.Ask, digest string, r *request, now time.Time) (lifecycle.State, error) {
	s := lifecycle.New(a, now)
	raw, err := wire.EncodeAsk(s.Ask)
	if err == nil && digest == "" {
		digest, err = wire.DigestJSON(raw)
	}
	if err != nil {
		return lifecycle.State{}, err
	}
	s.Life, s.EventID, s.Trace = cloudevent.NewID(), clip(r.event.ID), r.event.Trace
	s.RawAsk, s.Digests = raw, []string{digest}
	if s.Asker = r.User; r.token != "" {
		s.Asker += " " + r.token
	}
	return s, nil
}

// created reports whether this event stored the ask, also if it is sent again
// because its reply was lost.
func (r *request) created(s *lifecycle.State) bool { return s.EventID == clip(r.event.ID) }

// clip bounds the stored id of an event.
func clip(id string) string {
	if len(id) > 256 {
		return id[:256]
	}
	return id
}

// warnings tells an agent what of an ask that was asked before stays as it was.
func warnings(a *ask.Ask, s *lifecycle.State, now time.Time) (all []string) {
	if !s.Pending() {
		return nil
	}
	const before = "this ask was asked before; "
	if d := a.Due(now).Sub(s.Deadline); d.Abs() > time.Minute && (!a.Deadline.IsZero() || a.Timeout != 0) {
		all = append(all, before+"its deadline stays "+s.Deadline.UTC().Format(time.RFC3339))
	}
	if a.Callback != "" && a.Callback != s.Ask.Callback {
		has := "none"
		if s.Ask.Callback != "" {
			has = strconv.Quote(s.Ask.Callback)
		}
		all = append(all, before+fmt.Sprintf("the callback %q is not called: it has %s", a.Callback, has))
	}
	if a.Priority != ask.PriorityNormal && a.Priority != s.Ask.Priority {
		all = append(all, before+"its priority stays "+string(s.Ask.Priority))
	}
	return all
}

// get serves get and wait.
func (b *Broker) get(ctx context.Context, r *request) error {
	var h *held
	var err error
	if r.Verb == subject.VerbWait && r.hold > 0 {
		if h, err = b.waits.hold(r); err != nil { // before reading, so that no outcome is missed
			return err
		}
	}
	if deadline, ok := h.join(); ok {
		h.pending(deadline) //nolint:contextcheck // waits longer than this request's limit
		return nil
	}
	began := time.Now()
	held, err := b.load(ctx, r.Key())
	if err != nil {
		if h.answered() {
			return nil
		}
		return err
	}
	if r.Verb == subject.VerbWait {
		b.leases.waits(r, &held) //nolint:contextcheck // runs concurrently with the request
	}
	switch {
	case h != nil && held.Pending():
		if !held.Ask.WhileWaiting { // each wait for such an ask renews a lease
			h.found(held.Deadline, began)
		}
		h.pending(held.Deadline) //nolint:contextcheck // waits longer than this request's limit
		return nil
	case h.answered():
		return nil
	case r.Verb == subject.VerbWait && held.End != nil:
		return b.replyEnd(r, &held)
	}
	s := b.status(r, &held)
	if r.Verb == subject.VerbGet {
		if s.Receipts, err = b.led.Receipts(ctx, r.Key(), s.Life); err != nil {
			return err
		}
	}
	return b.replyStatus(r, s)
}

// status returns the status of a known ask.
func (b *Broker) status(r *request, s *lifecycle.State) wire.StatusReply {
	w := wire.StatusReply{
		State: ask.StatePending, Key: r.Key(), Deadline: s.Deadline, AskedAt: s.AskedAt, Life: s.Life, Seq: s.Version,
		RawAsk: cloudevent.AskJSON(s), Outcome: s.End,
	}
	if s.Pending() && s.Living() {
		rec := ask.Record{State: ask.StatePending, AskedAt: s.AskedAt, Ask: *s.Ask, Votes: s.Votes(), Escalated: s.Escalated()}
		w.Votes, w.Escalated, w.Progress = rec.Votes, rec.Escalated, rec.Waits("", b.led.Now())
	}
	if s.End != nil {
		w.State, w.Seq, w.RawOutcome = ask.StateResolved, 0, s.RawEnd
	}
	if r.Verb == subject.VerbAsk {
		w.Created = new(r.created(s))
	}
	return w
}

// end serves withdraw and abort.
func (b *Broker) end(ctx context.Context, r *request) error {
	e, err := wire.DecodeEnd(string(r.Verb), r.body, r.ID)
	if err != nil {
		return err
	}
	if e.DialogWithin > 0 {
		return b.leave(ctx, r, e)
	}
	var c lifecycle.Command = lifecycle.Withdraw{Reason: e.Reason}
	if r.Verb == subject.VerbAbort {
		c = lifecycle.Abort{Reason: e.Reason}
	}
	return b.resolve(ctx, r, c)
}

// answer serves answer and cancel.
func (b *Broker) answer(ctx context.Context, r *request) error {
	var c lifecycle.Command
	if r.Verb == subject.VerbAnswer {
		reply, err := wire.DecodeReply(r.body, r.ID)
		if err != nil {
			return err
		}
		if reply.By, err = b.vouched(r, reply.By); err != nil {
			return err
		}
		if err := b.checkFiles(ctx, r.Key(), "answer", reply.AllFiles()); err != nil {
			return err
		}
		c = lifecycle.Reply{Reply: reply, MinProof: b.demands(r), Credential: r.User, Token: r.token}
	} else {
		reply, reason, err := wire.DecodeDecline(r.body, r.ID)
		if err != nil {
			return err
		}
		if reply.By, err = b.vouched(r, reply.By); err != nil {
			return err
		}
		c = lifecycle.Decline{Reply: reply, Reason: reason, MinProof: b.demands(r), Credential: r.User, Token: r.token}
	}
	return b.resolve(ctx, r, c)
}

// unvote takes a person's vote back.
func (b *Broker) unvote(ctx context.Context, r *request) error {
	reply, err := wire.DecodeUnvote(r.body, r.ID)
	if err != nil {
		return err
	}
	if reply.By, err = b.vouched(r, reply.By); err != nil {
		return err
	}
	return b.resolve(ctx, r, lifecycle.Unvote{Reply: reply, Credential: r.User, Token: r.token})
}

// resolve carries out a command that may end an ask, and replies with the
// outcome, or with the status if it was a vote that did not.
func (b *Broker) resolve(ctx context.Context, r *request, c lifecycle.Command) error {
	s, err := b.apply(ctx, r.Key(), c, r.User)
	if err != nil {
		return err
	}
	if given, ok := c.(lifecycle.Reply); ok {
		if err := b.keepFiles(ctx, r.Key(), s.Deadline, given.Reply.AllFiles()); err != nil {
			return err
		}
	}
	b.tracer.Link(ctx, s.Trace)
	if s.Pending() {
		b.log(ctx, "voted", r, &s)
		return b.replyStatus(r, b.status(r, &s))
	}
	b.traceEnd(ctx, r.Key(), &s)
	b.log(ctx, string(s.End.Status), r, &s)
	return b.replyEnd(r, &s)
}

func (b *Broker) receipt(ctx context.Context, r *request) error {
	receipt, err := wire.DecodeReceipt(r.body, r.ID)
	if err != nil {
		return err
	}
	held, err := b.led.ReadAny(ctx, r.Key())
	if err == nil && (!held.Known() || held.Pending() && b.led.Now().After(held.Deadline)) {
		held, err = b.load(ctx, r.Key())
	}
	if err != nil {
		return err
	}
	s := b.status(r, &held)
	if s.Life != receipt.Life {
		return ask.InvalidError("receipt", []ask.Fault{ask.NewFault("/life", ask.FaultAnotherLife, receipt.Life, s.Life)})
	}
	now, err := b.led.Moment(ctx, r.Key())
	if err != nil {
		return err
	}
	b.tracer.Link(ctx, held.Trace)
	b.countPresented(ctx, r, &s, receipt.State, now)
	receipt.Type, receipt.At = responderOf(r, ""), now.UTC()
	if err := b.led.Receipt(ctx, r.Key(), receipt, s.Deadline, now); err != nil {
		return err
	}
	b.auditShown(r, &receipt)
	s.Receipts = []ask.Receipt{receipt}
	return b.replyStatus(r, s)
}

func (b *Broker) list(ctx context.Context, r *request) error {
	q, err := wire.DecodeQuery(r.body)
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
			return ask.InvalidError("list", []ask.Fault{ask.NewFault(v.at, ask.FaultDisagrees, *v.asked, "subject", *v.own)})
		}
		*v.asked = *v.own
	}
	if q.Session != "" && q.Tenant == "" {
		return ask.InvalidError("list", []ask.Fault{ask.NewFault("/tenant", ask.FaultMissing, "tenant_of_session")})
	}
	items, next, mark, err := b.page(ctx, q)
	if err != nil {
		return err
	}
	full := false          // no room for an outcome: the sweep ends the others once there is
	for i := range items { // an overdue ask ends now
		it := &items[i]
		if full || it.Record.State != ask.StatePending || !b.led.Now().After(it.Record.Ask.Deadline.Add(lifecycle.Overdue)) {
			continue
		}
		s, err := b.load(ctx, it.Record.Ask.Key())
		if errors.Is(err, ask.ErrNotFound) { // its outcome is past its retention
			it.Record.State = ""
			continue
		}
		if err != nil {
			return err
		}
		if s.End != nil {
			it.Record.State, it.Record.Outcome, it.Outcome = ask.StateResolved, s.End, nil
		}
		full = s.End == nil && b.full.Load()
	}
	items = slices.DeleteFunc(items, func(it wire.ListItem) bool {
		return it.Record.State == "" || q.State != "" && string(it.Record.State) != q.State
	})
	body, err := wire.EncodeHeads(items, next, mark)
	if err != nil {
		return err
	}
	return b.replyBody(r, body)
}

func (b *Broker) page(ctx context.Context, q wire.Query) (items []wire.ListItem, next string, mark wire.Mark, err error) {
	if q.Heads {
		return b.led.Heads(ctx, q)
	}
	items, next, err = b.led.List(ctx, q)
	return items, next, mark, err
}
