package torture

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/pkg/ask"
)

// play executes one script: it asks, lets everybody act, waits, reads again, and then lets
// latecomers act. ended is called when the ask has ended, before the latecomers.
func (d *driver) play(ctx context.Context, s script, ended func()) {
	defer ended()
	tenant, session := s.home()
	if s.reuse {
		if k, ok := d.used.take(tenant, session, time.Now()); ok {
			s.ask.ID = k.ID
			d.reused.Add(1)
		}
	}
	k := ask.Key{Tenant: tenant, Session: session, ID: s.ask.ID}
	deadline, ok := d.askFor(ctx, k, &s)
	if !ok {
		return
	}
	acked := time.Now()
	var acts sync.WaitGroup
	for _, a := range s.acts {
		at := acked.Add(a.at)
		if a.aimed {
			at = deadline.Add(a.at)
		}
		acts.Go(func() {
			if until(ctx, at) {
				d.act(ctx, k, &s, a, deadline)
			}
		})
	}
	o := d.wait(ctx, k, s.life())
	acts.Wait()
	if o == nil {
		d.get(ctx, k, s.life())
		return
	}
	ended()
	d.ended.Add(1)
	after := time.Now()
	for _, a := range s.late {
		if until(ctx, after.Add(a.at)) && time.Now().Before(d.remembered(deadline)) {
			d.act(ctx, k, &s, a, deadline)
		}
	}
	d.used.put(k, later(deadline, after).Add(d.retention+d.margin+time.Second))
}

// askFor asks until the ask is acknowledged or the run ends.
func (d *driver) askFor(ctx context.Context, k ask.Key, s *script) (deadline time.Time, ok bool) {
	last := d.remembered(time.Now().Add(s.ask.Timeout))
	if !s.ask.Deadline.IsZero() {
		last = s.ask.Deadline
	}
	if s.raw {
		go d.askHeld(ctx, k, s)
	}
	if s.twice {
		done := make(chan struct{})
		defer func() { <-done }()
		go func() {
			defer close(done)
			d.ask(ctx, k, s.ask, "twin", last)
		}()
	}
	for {
		d.calls <- struct{}{} // a slow machine waits here for as long as an ask is remembered
		if ctx.Err() != nil || !time.Now().Before(last) {
			<-d.calls
			return time.Time{}, false
		}
		deadline, code := d.ask(ctx, k, s.ask, "agent", last)
		<-d.calls
		switch code {
		case OK:
			d.acked.Add(1)
			return deadline, true
		case Unknown, Full:
			if code == Full {
				d.full.Add(1)
			}
			if !until(ctx, time.Now().Add(300*time.Millisecond)) {
				return time.Time{}, false
			}
		case Lost, Reused, NotFound, Forbidden, Invalid, GaveUp, Voted, Unchanged: // an id that was reused too early
			return time.Time{}, false
		}
	}
}

// act executes one act.
func (d *driver) act(ctx context.Context, k ask.Key, s *script, a act, deadline time.Time) {
	switch a.op {
	case OpAnswer, OpDecline, OpUnvote:
		d.reply(ctx, k, s, a)
	case OpWithdraw:
		d.withdraw(ctx, k, s.life())
	case OpAbort:
		d.abort(ctx, k, s.life())
	case OpAsk:
		again := s.ask
		if a.outsider {
			again.Title += " (another)"
		}
		d.ask(ctx, k, again, "agent", d.remembered(deadline))
	case OpGet:
		d.get(ctx, k, s.life())
	case OpWait:
		if a.outsider {
			short, cancel := context.WithTimeout(ctx, time.Duration(a.who)*time.Millisecond)
			defer cancel()
			ctx = short
		}
		d.wait(ctx, k, s.life())
	case OpAway, OpShown, OpEnded, OpPosted, OpRetracted, OpStored, OpGhost, OpFault, OpBegun, OpOver:
		// These are events, not acts.
	}
}

// until waits for a moment and reports whether ctx is still alive.
func until(ctx context.Context, at time.Time) bool {
	return backoff.Sleep(ctx, time.Until(at)) == nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// codeOf returns the code of a call's error, and the outcome in it.
func codeOf(err error) (Code, *ask.Outcome) {
	e, _ := errors.AsType[*ask.Error](err)
	switch {
	case err == nil:
		return OK, nil
	case errors.Is(err, errUnchanged):
		return Unchanged, nil
	case errors.Is(err, ask.ErrVoted):
		return Voted, nil
	case errors.Is(err, ask.ErrResolved) && e != nil:
		return Lost, e.Outcome
	case errors.Is(err, ask.ErrIDReused):
		return Reused, nil
	case errors.Is(err, ask.ErrNotFound):
		return NotFound, nil
	case errors.Is(err, ask.ErrForbidden):
		return Forbidden, nil
	case errors.Is(err, ask.ErrInvalid):
		return Invalid, nil
	case e != nil && e.Code == ask.CodeLedgerFull:
		return Full, nil
	}
	return Unknown, nil
}

// usedIDs are ids whose outcome has expired or will expire.
type usedIDs struct {
	mu   sync.Mutex
	free map[string][]usedID
}

type usedID struct {
	key ask.Key
	at  time.Time
}

// put offers an id from a time on.
func (u *usedIDs) put(k ask.Key, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	home := k.Tenant + "/" + k.Session
	if len(u.free[home]) < 1000 {
		u.free[home] = append(u.free[home], usedID{k, at})
	}
}

// take returns the oldest free id of a session.
func (u *usedIDs) take(tenant, session string, now time.Time) (ask.Key, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	home := tenant + "/" + session
	if q := u.free[home]; len(q) > 0 && now.After(q[0].at) {
		u.free[home] = q[1:]
		return q[0].key, true
	}
	return ask.Key{}, false
}
