package broker

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// stepsEvery is the shortest time between two looks for steps that are due: all
// that are due within it are taken at once.
const stepsEvery = time.Second

// steps remembers when the next step is due of the ladders that this broker has
// stored or moved since the last sweep. Those of other brokers are found by the
// sweep, so a step of a broker that died is late by at most one interval.
type steps struct {
	mu   sync.Mutex
	at   time.Time     // zero: none is known
	wake chan struct{} // has a signal when it became earlier
}

func newSteps() *steps { return &steps{wake: make(chan struct{}, 1)} }

// expect notes when the next step of an ask is due.
func (n *steps) expect(s *lifecycle.State) {
	if !s.Pending() || len(s.Ask.Escalate) == 0 {
		return
	}
	if next, ok := s.Ask.NextStep(s.AskedAt, s.Escalated()); ok {
		n.earlier(next.At) // one that was missed is found by the sweep, once its calendar is open
	}
}

func (n *steps) earlier(at time.Time) {
	if at.IsZero() {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.at.IsZero() || at.Before(n.at) {
		n.at = at
		select {
		case n.wake <- struct{}{}:
		default:
		}
	}
}

// take returns when the next step is due, and forgets it.
func (n *steps) take() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	at := n.at
	n.at = time.Time{}
	return at
}

// next returns how long it takes until the next step is due, and whether one is
// known.
func (n *steps) next(now time.Time) (time.Duration, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.at.IsZero() {
		return 0, false
	}
	return max(n.at.Sub(now), 0), true
}

// expect notes when the next step of an ask is due.
func (b *Broker) expect(s *lifecycle.State) {
	if s.Ask != nil && len(s.Ask.Escalate) > 0 {
		known := b.broken(*s)
		b.steps.expect(&known)
	}
}

// climb takes the step of an ask that is due. Any number of brokers may try: one
// of them writes it.
func (b *Broker) climb(ctx context.Context, k ask.Key) error {
	_, err := b.apply(ctx, k, lifecycle.Climb{}, "")
	return err
}

// due does what is due about an ask: a step of its ladder, to say in it who is on
// call, or its end.
func (b *Broker) due(ctx context.Context, d ledger.Due) (err error) {
	if d.OnCall {
		if _, err = b.apply(ctx, d.Key, lifecycle.Relieve{}, ""); err != nil {
			return err
		}
	}
	switch {
	case d.Step:
		return b.climb(ctx, d.Key)
	case d.Late:
		_, err = b.load(ctx, d.Key)
	}
	return err
}

// rewritten logs what has happened to a pending ask.
func (b *Broker) rewritten(ctx context.Context, k ask.Key, e lifecycle.Event) {
	switch e := e.(type) {
	case lifecycle.Stepped:
		b.opts.Logger.InfoContext(ctx, "escalated", slog.String("ask_id", k.ID), slog.Int("step", e.Step.N))
	case lifecycle.Relieved:
		b.opts.Logger.InfoContext(ctx, "others are on call and may decide an ask", slog.String("ask_id", k.ID))
		for _, name := range e.Ask.Schedules() {
			if _, known := b.duty("schedule:" + name); !known {
				b.opts.Logger.WarnContext(ctx, "an ask waits for who is on call by a schedule that the approvals file no longer has: nobody decides it by that; put the schedule back, or abort the ask",
					slog.String("tenant", k.Tenant), slog.String("session", k.Session), slog.String("ask_id", k.ID), slog.String("schedule", name))
			}
		}
	case lifecycle.Asked, lifecycle.Voted, lifecycle.Left, lifecycle.Ended:
	case lifecycle.Looked:
		b.opts.Logger.InfoContext(ctx, "escalation waits, because somebody looks", slog.String("ask_id", k.ID), slog.Int("step", e.Seen.N))
	}
}

// seen notes that the person whom the sender's credential asserts looks at an ask:
// the next step of its ladder waits once more.
func (b *Broker) seen(ctx context.Context, r *request) error {
	z, err := wire.DecodeSeen(r.body)
	if err != nil {
		return err
	}
	if len(z.Unseen) > 0 {
		return b.unseen(ctx, r, &z)
	}
	by, err := b.vouched(r, z.By)
	if err != nil {
		return err
	}
	s, err := b.load(ctx, r.Key())
	if err != nil {
		return err
	}
	if s.Life != z.Life {
		return ask.InvalidError(string(r.Verb), []ask.Fault{ask.NewFault("/life", ask.FaultAnotherLife, z.Life, s.Life)})
	}
	if _, err := b.apply(ctx, r.Key(), lifecycle.Attend{By: by}, r.User); err != nil {
		return err
	}
	return b.replyJSON(r, struct{}{})
}

// unheard says of each step of a ladder that nobody is configured to hear why
// not.
func (b *Broker) unheard(ctx context.Context, a *ask.Ask, present []string) (told []string) {
	if len(a.Escalate) == 0 {
		return nil
	}
	served := slices.Clone(present)
	backlog, err := b.Backlog(ctx)
	if err != nil {
		b.opts.Logger.WarnContext(ctx, "cannot say who hears the steps of a ladder", slog.Any("error", err))
		return nil
	}
	for name := range backlog {
		if g, ok := ledger.ParseGroup(name); ok && (g.Tenant == "" || g.Tenant == a.Tenant) {
			served = append(served, g.Type)
		}
	}
	for i := range a.Escalate {
		step := &a.Escalate[i]
		for _, entry := range step.Tell {
			switch who, known := b.duty(entry); {
			case who == nil:
			case !known:
				told = append(told, fmt.Sprintf("step %d of escalate tells nobody as %.80q: this bus has no such schedule; an operator adds it to schedules in the approvals file", i+1, entry))
			case len(who.People) == 0:
				told = append(told, fmt.Sprintf("nobody is on call in %.80q now, of step %d of escalate", entry, i+1))
			}
		}
		switch heard := slices.ContainsFunc(served, func(typ string) bool { return ask.Leads(step.Via, typ) }); {
		case heard:
		case len(step.Via) == 0 || len(served) == 0:
			told = append(told, fmt.Sprintf("nobody hears step %d of escalate: no surface is connected that could tell anybody", i+1))
		default:
			told = append(told, fmt.Sprintf("nobody hears step %d of escalate: no surface of this bus is %s", i+1, strings.Join(step.Via, " or ")))
		}
	}
	return told
}
