package broker

import (
	"context"
	"fmt"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/pkg/ask"
)

// maxTries bounds how often one command is decided.
const maxTries = 20

// apply carries out a command on one ask and returns the resulting state: read
// what the decision needs, decide, write with compare-and-set, and repeat if
// the write lost its race. user is the public key of the sender's credential,
// if known.
func (b *Broker) apply(ctx context.Context, k ask.Key, c lifecycle.Command, user string) (lifecycle.State, error) {
	s, read, err := b.start(ctx, k, c)
	if err != nil {
		return lifecycle.State{}, err
	}
	looks := reads(c)                      // works even if nothing can be stored
	counted, isNew := func(bool) {}, false // by the quotas
	defer func() { counted(isNew) }()
	for try := range maxTries {
		now, err := b.led.Moment(ctx, k)
		if err != nil && !looks {
			return lifecycle.State{}, err
		}
		s.OnCall = b.onCallFor(&s)
		if s.People, err = b.people(ctx, k.Tenant, &s, c); err != nil && !looks {
			return lifecycle.State{}, err
		}
		s.BreakGlass = b.breakGlass(k.Tenant, c)
		if s.Will.Votes, err = b.standing(ctx, k.Tenant, &s); err != nil && !looks {
			return lifecycle.State{}, err
		}
		effect, err := b.decide(ctx, b.broken(s), c, now)
		if err != nil {
			return lifecycle.State{}, err
		}
		switch e := effect.(type) {
		case lifecycle.Tell:
			return s, nil
		case lifecycle.Store:
			if !read {
				count, refusal := b.admit(ctx, k, &e.State)
				if refusal != nil {
					if s, err = b.led.Read(ctx, k); err == nil && !s.Known() {
						err = refusal
					}
					read = true
					break
				}
				counted = count
			}
			var stored lifecycle.State
			if stored, err = b.led.Store(ctx, e.State); err == nil {
				s = lifecycle.Apply(s, lifecycle.Asked{State: stored})
				b.counts.Asked(k.Tenant)
				isNew = true
				b.expect(&s)
			}
		case lifecycle.Rewrite:
			if b.breakVote(e.Event) {
				return lifecycle.Apply(s, e.Event), nil
			}
			if err = b.led.Rewrite(ctx, s, b.breakEvent(&s, e.Event)); err == nil {
				b.rewritten(ctx, k, e.Event)
				b.breakStep(ctx, k, e.Event)
				s, err = b.led.Read(ctx, k)
				b.expect(&s)
			}
		case lifecycle.Resolve:
			var stored lifecycle.State
			if stored, err = b.led.Resolve(ctx, s, e.Outcome, user, now); err == nil {
				b.breakEnded(ctx, &s, &e.Outcome)
				if s.Versioned() { // the timer may have been first
					stored, err = b.readEnd(ctx, k)
				}
				s = stored
				b.quotas.Ended(k)
			}
		}
		switch {
		case err == nil:
			continue
		case !ledger.IsRace(err) && looks && ledger.IsFull(err):
			b.full.Store(true) // the sweep resets it once there is room
			return s, nil
		case !ledger.IsRace(err):
			return lifecycle.State{}, err
		}
		b.counts.LostRace()
		if try > 0 { // another write is in progress
			if err := backoff.Wait(ctx, time.Millisecond, try); err != nil {
				return lifecycle.State{}, err
			}
		}
		if s, err = b.led.Read(ctx, k); err != nil {
			return lifecycle.State{}, err
		}
		read = true
	}
	return lifecycle.State{}, fmt.Errorf("broker: %s: %w: %d writes in a row lost their race", k, ask.ErrUnavailable, maxTries)
}

// reads reports whether a command is one of the broker itself, which writes only
// if something is due.
func reads(c lifecycle.Command) bool {
	_, looks := c.(lifecycle.Look)
	_, climbs := c.(lifecycle.Climb)
	_, relieves := c.(lifecycle.Relieve)
	return looks || climbs || relieves
}

// start reads what the first decision needs. A new ask needs nothing: the
// compare-and-set detects an existing one.
func (b *Broker) start(ctx context.Context, k ask.Key, c lifecycle.Command) (s lifecycle.State, read bool, err error) {
	switch c.(type) {
	case lifecycle.Ask:
		return lifecycle.State{}, false, nil
	case lifecycle.Look, lifecycle.Leave:
		s, err = b.led.Read(ctx, k)
	default:
		s, err = b.led.ReadToWrite(ctx, k)
		if err == nil && s.Pending() && s.Living() { // its compare-and-set is of what the leader has
			s, err = b.led.Read(ctx, k)
		}
	}
	return s, true, err
}

// readEnd reads how an ask ended after an outcome was acknowledged. A leader
// that has none yet is read again.
func (b *Broker) readEnd(ctx context.Context, k ask.Key) (lifecycle.State, error) {
	for try := range maxTries {
		s, err := b.led.Read(ctx, k)
		if err != nil || s.End != nil {
			return s, err
		}
		if err := backoff.Wait(ctx, time.Millisecond, try); err != nil {
			return s, err
		}
	}
	return lifecycle.State{}, fmt.Errorf("broker: %s: %w: its outcome was stored and is not there", k, ask.ErrUnavailable)
}

// admit refuses a new ask that cannot be stored now. Otherwise it counts the
// ask, and counted must be called with the result.
func (b *Broker) admit(ctx context.Context, k ask.Key, s *lifecycle.State) (counted func(stored bool), err error) {
	if err := b.led.ClockRoom(k); err != nil {
		return nil, err
	}
	if err := b.checkCallback(ctx, k, s); err != nil {
		return nil, err
	}
	if err := b.checkFiles(ctx, k, "ask", s.Ask.AllFiles()); err != nil {
		return nil, err
	}
	if s.Ask.RequireResponder && len(b.presence.ask(k.Tenant, k.Session).wait(ctx, time.Second)) == 0 {
		return nil, ask.Refuse(ask.CodeNobody, "no person is present, and the ask requires a responder; open a surface, or ask without require_responder")
	}
	done, err := b.led.Admit(len(s.RawAsk))
	if err != nil {
		return nil, err
	}
	settle, err := b.quotas.Store(k, len(s.RawAsk))
	if err != nil {
		done()
		return nil, err
	}
	return func(stored bool) { done(); settle(stored) }, nil
}

// load reads one ask, and expires it if it is overdue.
func (b *Broker) load(ctx context.Context, k ask.Key) (lifecycle.State, error) {
	return b.apply(ctx, k, lifecycle.Look{}, "")
}
