package torture

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// driver plays the scripts of one run.
type driver struct {
	h                 *history
	name              string // of a party process
	shape             shape
	retention, margin time.Duration
	log               *slog.Logger
	dial              func(rights.Role) (*nats.Conn, error)

	agents     map[ask.Session]client.Session
	agentConns map[ask.Session]*nats.Conn
	people     map[string]*responder.Responder // by responder type
	operator   *client.Client
	conns      []*nats.Conn

	used  usedIDs
	calls chan struct{} // bounds concurrent requests: a burst is of deadlines, not of requests
	end   time.Time     // of the run: no script starts that cannot end before it
	over  atomic.Bool
	skew  time.Duration // agents' clocks are ahead by it, surfaces' behind
	burst int           // number of asks that share a deadline; 0: no bursts

	acked, ended, reused, full, answers atomic.Int64
	burstEnd                            atomic.Int64 // deadline of the current burst
}

// running reports whether the run continues, so that an abandoned call was abandoned by its script.
func (d *driver) running() bool { return !d.over.Load() }

// shifted returns a clock with an offset.
func shifted(by time.Duration) func() time.Time {
	return func() time.Time { return time.Now().Add(by) }
}

// connect connects all parties.
func (d *driver) connect() error {
	d.agents, d.agentConns, d.people = map[ask.Session]client.Session{}, map[ask.Session]*nats.Conn{}, map[string]*responder.Responder{}
	d.used.free, d.calls = map[string][]usedID{}, make(chan struct{}, 64)
	for _, tenant := range tenants {
		for i := range sessions {
			session := "s" + strconv.Itoa(i)
			nc, err := d.open(rights.Role{Name: rights.RoleAgent, Tenant: tenant, Session: session})
			if err != nil {
				return err
			}
			c, err := client.New(nc, client.Options{Logger: d.log, Now: shifted(d.skew)})
			if err != nil {
				return err
			}
			at := ask.Session{Tenant: tenant, Name: session}
			d.agents[at], d.agentConns[at] = c.Session(tenant, session), nc
		}
	}
	for _, typ := range append([]string{postingType}, liveTypes...) {
		nc, err := d.open(rights.Role{Name: rights.RoleResponder, Type: typ})
		if err != nil {
			return err
		}
		if d.people[typ], err = responder.New(nc, typ, responder.Options{Limit: 1 << 20, Logger: d.log, Now: shifted(-d.skew)}); err != nil {
			return err
		}
	}
	nc, err := d.open(rights.Role{Name: rights.RoleOperator})
	if err != nil {
		return err
	}
	d.operator, err = client.New(nc, client.Options{Logger: d.log})
	return err
}

func (d *driver) open(r rights.Role) (*nats.Conn, error) {
	nc, err := d.dial(r)
	if err != nil {
		return nil, fmt.Errorf("torture: connect as %s: %w", r.User(), err)
	}
	d.conns = append(d.conns, nc)
	return nc, nil
}

func (d *driver) close() {
	for _, nc := range d.conns {
		nc.Close()
	}
}

// share is the set of a driver's scripts: those that another party started, then from, from+step
// and so on.
type share struct {
	from, step int
	resume     []int
}

func (s share) below(asks int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, i := range s.resume {
			if !yield(i) {
				return
			}
		}
		for i := s.from; i < asks; i += s.step {
			if !yield(i) {
				return
			}
		}
	}
}

// playAll plays scripts, at most open at once, until asks many have been asked or the time is up.
// It returns when the last has ended; the end of the run cuts off open ones.
func (d *driver) playAll(ctx context.Context, of share, asks, open int) {
	ctx, cancel := context.WithDeadline(ctx, d.end)
	defer cancel()
	slots := make(chan struct{}, open)
	var scripts sync.WaitGroup
	for i := range of.below(asks) {
		if d.burst > 0 && i%d.burst == 0 {
			scripts.Wait() // the previous burst has ended
		}
		s := d.shape.write(i)
		if d.burst > 0 {
			d.aim(&s, i)
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil || !d.fits(&s) {
			break
		}
		if d.name != "" { // somebody may have to take over
			s.reuse = false
			d.h.add(Event{Who: d.name, Op: OpBegun, Seq: uint64(i)}) //nolint:gosec // an index
		}
		scripts.Go(func() {
			var once sync.Once
			d.play(ctx, s, func() { once.Do(func() { <-slots }) })
			if d.name != "" {
				d.h.add(Event{Who: d.name, Op: OpOver, Seq: uint64(i)}) //nolint:gosec // an index
			}
		})
	}
	scripts.Wait()
}

// fits reports whether the run has time for an ask's deadline and for learning of it. Towards the
// end of the run deadlines become shorter.
func (d *driver) fits(s *script) bool {
	room := time.Until(d.end) - tail
	if !s.ask.Deadline.IsZero() {
		return time.Until(s.ask.Deadline) < room
	}
	s.ask.Timeout = min(s.ask.Timeout, room)
	return room >= ask.MinTimeout
}

// tail is the time after a deadline for the ask to end and for all parties to learn of it.
const tail = 3 * time.Second

// aim sets the deadline of a script to its burst's.
func (d *driver) aim(s *script, index int) {
	if index%d.burst == 0 || d.burstAt().Before(time.Now()) {
		at := time.Now().Add(5*time.Second + time.Duration(d.burst)*3*time.Millisecond).UnixNano()
		d.burstEnd.Store(at)
	}
	s.ask.Timeout, s.ask.Deadline = 0, d.burstAt()
	s.reuse, s.raw, s.twice, s.ask.Escalate, s.ask.EscalateRepeat = false, false, false, nil, 0
	if d.burst >= 1000 && index%10 != 0 { // of many, nine of ten just expire
		s.acts, s.late = nil, nil
		return
	}
	for i := range s.acts {
		if s.acts[i].op != OpWait {
			s.acts[i].at, s.acts[i].aimed = s.acts[i].at%(300*time.Millisecond), true
		}
	}
}

func (d *driver) burstAt() time.Time { return time.Unix(0, d.burstEnd.Load()) }

// lookAgain reads every acknowledged ask without an outcome once more.
func (d *driver) lookAgain(ctx context.Context) {
	type open struct {
		key  ask.Key
		life string
	}
	left := map[string]open{}
	for _, e := range d.h.all() {
		switch {
		case e.Truth != nil:
			delete(left, e.Truth.Life)
		case e.Op == OpAsk && e.Code == OK:
			left[e.Life] = open{e.Key, e.Life}
		}
	}
	var gets sync.WaitGroup
	slots := make(chan struct{}, 64)
	for _, o := range left {
		slots <- struct{}{}
		gets.Go(func() {
			defer func() { <-slots }()
			d.get(ctx, o.key, o.life)
		})
	}
	gets.Wait()
}
