package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// Every decision about time uses the clock that fires the timers: that of the
// server that leads an ask's partition. The clock of a broker's machine may be
// wrong, so the leader's is measured: STREAM.INFO has its time, and the
// machine's clock only measures the time since then.

const (
	// maxUnsure is how uncertain the ledger's clock may be. Beyond it nothing
	// is decided about time, and the broker is not ready.
	maxUnsure = time.Second
	// MaxSkew is how far apart the clocks of a cluster's servers may be.
	MaxSkew = time.Second

	drift      = 200             // parts per million by which two clocks drift apart
	stepped    = time.Second / 2 // difference between wall and monotonic clock that means the wall clock was set, or the machine slept
	watchEvery = time.Second     // one probe, which detects a new leader or a clock that was set
	probeEvery = 10 * time.Second
	probes     = 5                // the fastest of these counts
	remembered = 10 * time.Minute // how long the clock of a server that leads nothing is remembered
)

// reading is one measurement of the clock of a partition's leader.
type reading struct {
	at     time.Time     // by this machine's clock, the middle of the probe
	server time.Time     // by the leader's clock
	half   time.Duration // half of the round trip
	leader string        // empty: a single server
	peers  []string      // servers that could lead instead
}

// when returns the time by the reading's clock, and its uncertainty.
func (r *reading) when(now time.Time) (t time.Time, unsure time.Duration) {
	age := now.Sub(r.at)
	unsure = r.half + age.Abs()*drift/1_000_000
	if wall := now.Round(0).Sub(r.at.Round(0)); r.at.IsZero() || (wall-age).Abs() > stepped {
		unsure = time.Hour
	}
	return r.server.Add(age), unsure
}

// differs returns by how much two clocks certainly differ at a time: positive
// if r is ahead of o.
func (r *reading) differs(o *reading, now time.Time) time.Duration {
	a, au := r.when(now)
	b, bu := o.when(now)
	d := a.Sub(b)
	if d.Abs() <= au+bu {
		return 0
	}
	return d
}

// clock holds what is known about the servers' clocks.
type clock struct {
	now     func() time.Time // this machine's
	probing []probing        // by partition; the last one is for shared state
	suspect []atomic.Bool    // by partition: it may have a new leader since the last probe

	mu       sync.Mutex
	readings []reading
	servers  map[string]reading       // the last reading of each
	agreed   reading                  // of a server in the majority
	firm     bool                     // another server, or this machine, agreed with agreed
	wrong    map[string]time.Duration // servers outside the majority, and how far ahead they are
	tied     error                    // no majority
}

func newClock(now func() time.Time, streams int) *clock {
	c := &clock{
		now: now, probing: make([]probing, streams), suspect: make([]atomic.Bool, streams),
		readings: make([]reading, streams), servers: map[string]reading{}, wrong: map[string]time.Duration{},
	}
	for i := range c.probing {
		c.probing[i].busy = make(chan struct{}, 1)
	}
	return c
}

// probing makes the requests that wait for a probe share it.
type probing struct {
	busy  chan struct{} // holds one during a probe
	ended atomic.Uint64
	err   error // of the last probe
}

// once probes if it is still needed when its turn comes. If another probe failed while it waited, it
// shares that error: a server that answers too slowly would otherwise keep each of hundreds of
// requests for the length of a probe, one after the other.
func (p *probing) once(needed func() bool, probe func() error) error {
	before := p.ended.Load()
	p.busy <- struct{}{}
	defer func() { <-p.busy }()
	if !needed() {
		return nil
	}
	if p.ended.Load() == before || p.err == nil {
		p.err = probe()
		p.ended.Add(1)
	}
	return p.err
}

// suspectAll makes the next decision wait for a probe.
func (c *clock) suspectAll() {
	for i := range c.suspect {
		c.suspect[i].Store(true)
	}
}

// note records a reading. It returns by how much the clock jumped.
func (c *clock) note(i int, r reading) (jumped time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, old := c.now(), c.readings[i]
	if !old.at.IsZero() && old.leader == r.leader {
		if jumped = r.differs(&old, now); jumped == 0 {
			_, was := old.when(now)
			if _, is := r.when(now); was < is {
				r.at, r.server, r.half = old.at, old.server, old.half // the old one is more precise
			}
		}
	}
	c.readings[i], c.servers[r.leader] = r, r
	c.judge(now)
	return jumped
}

// judge decides which servers' clocks are right: those of the majority of
// servers that have been seen to lead. In a tie, the clocks that continue the
// previously agreed time are right, if more than one clock had agreed on it,
// else those that agree with this machine. The caller holds mu.
func (c *clock) judge(now time.Time) {
	maps.DeleteFunc(c.servers, func(_ string, r reading) bool { return now.Sub(r.at) > remembered })
	own := reading{at: now, server: now}
	best, votes, tied, firm := reading{}, 0, false, false
	for _, name := range slices.Sorted(maps.Keys(c.servers)) {
		r := c.servers[name]
		n := 0
		for _, o := range c.servers {
			if r.differs(&o, now).Abs() <= MaxSkew {
				n += 4
			}
		}
		if c.firm && r.differs(&c.agreed, now).Abs() <= MaxSkew {
			n += 2
		}
		if r.differs(&own, now).Abs() <= MaxSkew {
			n++
		}
		switch {
		case n > votes:
			best, votes, tied, firm = r, n, false, n > 4
		case n == votes && r.differs(&best, now).Abs() > MaxSkew:
			tied = true
		case n == votes:
			_, a := r.when(now)
			if _, b := best.when(now); a < b {
				best = r
			}
		}
	}
	clear(c.wrong)
	if c.tied = nil; tied {
		c.tied = fmt.Errorf("the servers' clocks differ by more than %s, and no majority agrees: %s; set them by NTP", MaxSkew, c.times(now))
		return
	}
	c.agreed, c.firm = best, c.firm || firm
	for name, r := range c.servers {
		if d := r.differs(&best, now); d.Abs() > MaxSkew {
			c.wrong[name] = d
		}
	}
}

// times lists the time of each server's clock. The caller holds mu.
func (c *clock) times(now time.Time) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(c.servers)) {
		r := c.servers[name]
		t, _ := r.when(now)
		all = append(all, name+" says "+t.UTC().Format(time.RFC3339))
	}
	return strings.Join(all, ", ")
}

// moment returns the earliest possible time by the clock of a partition's
// leader, or by the majority's if the leader's is wrong.
func (c *clock) moment(i int) (time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tied != nil {
		return time.Time{}, c.tied
	}
	r := &c.readings[i]
	if _, wrong := c.wrong[r.leader]; wrong || r.at.IsZero() {
		r = &c.agreed
	}
	t, unsure := r.when(c.now())
	if unsure > maxUnsure {
		return time.Time{}, fmt.Errorf("the ledger's clock is uncertain by more than %s: its servers answer too slowly or not at all", maxUnsure)
	}
	return t.Add(-unsure), nil
}

// leads returns the server that leads a partition with a wrong clock.
func (c *clock) leads(i int) (leader string, ahead time.Duration, peers []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &c.readings[i]
	if ahead = c.wrong[r.leader]; ahead == 0 {
		return "", 0, nil
	}
	peers = slices.DeleteFunc(slices.Clone(r.peers), func(name string) bool { return c.wrong[name] != 0 })
	slices.SortFunc(peers, func(a, b string) int { // servers with a correct clock first
		_, knownA := c.servers[a]
		_, knownB := c.servers[b]
		return cmp.Or(cmp.Compare(btoi(knownB), btoi(knownA)), cmp.Compare(a, b))
	})
	return r.leader, ahead, peers
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// openClock measures the clocks for the first time.
func (l *Ledger) openClock(ctx context.Context) error {
	l.clock = newClock(l.opts.Clock, l.clockStreams())
	for try := 0; ; try++ {
		err := l.readClocks(ctx, 1)
		if err == nil {
			return nil
		}
		if backOff(ctx, try) != nil {
			return fmt.Errorf("ledger: %w", err)
		}
	}
}

// clockStreams returns how many leaders' clocks are followed.
func (l *Ledger) clockStreams() int {
	if l.alone() {
		return 1
	}
	return l.n + 1
}

func (l *Ledger) clockStream(i int) string {
	if i == l.n {
		return subject.StateStream
	}
	return subject.Stream(i)
}

// clockOf returns the index of a partition's clock.
func (l *Ledger) clockOf(p int) int { return min(p, len(l.clock.readings)-1) }

// Now returns the ledger's earliest possible time as last measured.
func (l *Ledger) Now() time.Time {
	l.clock.mu.Lock()
	defer l.clock.mu.Unlock()
	t, unsure := l.clock.agreed.when(l.clock.now())
	return t.Add(l.opts.Ahead() - min(unsure, maxUnsure))
}

// Moment returns the earliest possible time by the clock that fires an ask's
// timer: a date from it is never after the time of storing. It probes first if
// the leader may have changed. The error says why the time is unknown; then
// nothing may be decided about time.
func (l *Ledger) Moment(ctx context.Context, k ask.Key) (time.Time, error) {
	p, _ := l.place(k)
	i := l.clockOf(p)
	t, err := l.clock.moment(i)
	if err == nil && !l.clock.suspect[i].Load() {
		return t.Add(l.opts.Ahead()), nil
	}
	err = l.clock.probing[i].once(func() bool {
		_, err := l.clock.moment(i)
		return err != nil || l.clock.suspect[i].Load()
	}, func() error { return l.probe(context.WithoutCancel(ctx), i, 1) }) // others share its result
	if err == nil {
		t, err = l.clock.moment(i)
	}
	if err != nil {
		e := ask.Refuse(ask.CodeUnavailable, "the time is not known now, so nothing is decided; try again with the same ids")
		return time.Time{}, errors.Join(e, fmt.Errorf("ledger: %w", err))
	}
	return t.Add(l.opts.Ahead()), nil
}

// ClockError says why decisions about time cannot or should not be made.
func (l *Ledger) ClockError() error {
	for i := range l.clock.readings {
		if _, err := l.clock.moment(i); err != nil {
			return err
		}
		if leader, ahead, _ := l.clock.leads(i); leader != "" {
			return fmt.Errorf("the clock of server %s, which leads %s, is %s; set it by NTP", leader, l.clockStream(i), off(ahead))
		}
	}
	return nil
}

func off(ahead time.Duration) string {
	d := ahead.Abs().Round(10 * time.Millisecond).String()
	if ahead < 0 {
		return d + " behind the others'"
	}
	return d + " ahead of the others'"
}

// ClockRoom refuses a new ask whose timer would run on a server with a wrong
// clock, which would end the ask at once, or late.
func (l *Ledger) ClockRoom(k ask.Key) error {
	p, _ := l.place(k)
	if leader, ahead, _ := l.clock.leads(l.clockOf(p)); leader != "" {
		return ask.Refuse(ask.CodeUnavailable, "the clock of server %s, which would keep this ask's deadline, is %s; another server is being asked to lead; try again", leader, off(ahead))
	}
	return nil
}

// probe asks a partition's leader for its time. The fastest reply counts.
func (l *Ledger) probe(ctx context.Context, i, times int) error {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	l.clock.suspect[i].Store(false) // any later event is a new suspicion
	var best reading
	for range times {
		r, err := l.readClock(ctx, i)
		if err != nil {
			if best.at.IsZero() {
				l.clock.suspect[i].Store(true)
				return fmt.Errorf("ask %s for the time: %w", l.clockStream(i), err)
			}
			break
		}
		if best.at.IsZero() || r.half < best.half || r.leader != best.leader {
			best = r
		}
	}
	if jumped := l.clock.note(i, best); jumped.Abs() > MaxSkew {
		l.opts.Logger.WarnContext(ctx, "the server's clock was set", slog.String("server", best.leader), slog.Duration("by", jumped))
	}
	return nil
}

func (l *Ledger) readClock(ctx context.Context, i int) (reading, error) {
	var info struct {
		Error   *apiError `json:"error"`
		Time    time.Time `json:"ts"`
		Cluster struct {
			Leader   string `json:"leader"`
			Replicas []struct {
				Name    string `json:"name"`
				Current bool   `json:"current"`
				Offline bool   `json:"offline"`
			} `json:"replicas"`
		} `json:"cluster"`
	}
	began := l.clock.now()
	reply, err := l.nc.RequestWithContext(ctx, "$JS.API.STREAM.INFO."+l.clockStream(i), nil)
	if err != nil {
		return reading{}, err
	}
	took := l.clock.now().Sub(began)
	if err := json.Unmarshal(reply.Data, &info); err != nil {
		return reading{}, err
	}
	switch {
	case info.Error != nil:
		return reading{}, info.Error
	case info.Time.IsZero():
		return reading{}, errors.New("the reply has no server time")
	}
	r := reading{at: began.Add(took / 2), server: info.Time, half: took / 2, leader: info.Cluster.Leader}
	for _, peer := range info.Cluster.Replicas {
		if peer.Current && !peer.Offline {
			r.peers = append(r.peers, peer.Name)
		}
	}
	return r, nil
}

// readClocks measures all clocks once.
func (l *Ledger) readClocks(ctx context.Context, times int) error {
	var errs []error
	for i := range l.clock.readings {
		errs = append(errs, l.clock.probing[i].once(func() bool { return true }, func() error { return l.probe(ctx, i, times) }))
	}
	return errors.Join(errs...)
}

// KeepTime follows the clocks of the servers until ctx ends, moves leadership
// away from servers with a wrong clock, and logs faults when they change.
func (l *Ledger) KeepTime(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	status := l.nc.StatusChanged(nats.CONNECTED)
	defer l.nc.RemoveStatusListener(status)
	var full time.Time
	said := ""
	for {
		times := 1
		if time.Since(full) >= probeEvery {
			times, full = probes, time.Now()
		}
		err := l.readClocks(ctx, times)
		l.stepDown(ctx)
		if ctx.Err() != nil {
			return
		}
		said = l.sayClock(ctx, said, err)
		select {
		case <-ctx.Done():
			return
		case <-status: // there may be another leader with another clock
			l.clock.suspectAll()
			full = time.Time{}
		case <-tick.C:
		}
	}
}

func (l *Ledger) sayClock(ctx context.Context, said string, cause error) string {
	err := l.ClockError()
	now := ""
	if err != nil {
		now = err.Error()
	}
	switch {
	case now == said:
	case err != nil:
		l.opts.Logger.ErrorContext(ctx, "the ledger's clock cannot be trusted; not ready", slog.Any("error", errors.Join(err, cause)))
	default:
		l.opts.Logger.InfoContext(ctx, "the ledger's clock can be trusted again")
	}
	return now
}

// stepDown asks servers with a wrong clock to give up leadership.
func (l *Ledger) stepDown(ctx context.Context) {
	for i := range l.clock.readings {
		leader, ahead, peers := l.clock.leads(i)
		if leader == "" || len(peers) == 0 {
			continue
		}
		stream := l.clockStream(i)
		body := map[string]any{"placement": map[string]string{"preferred": peers[0]}}
		one, cancel := context.WithTimeout(ctx, 2*attempt)
		err := l.api(one, "STREAM.LEADER.STEPDOWN."+stream, body, nil)
		cancel()
		l.opts.Logger.WarnContext(ctx, "moved leadership away from a server with a wrong clock", slog.String("server", leader), slog.String("stream", stream),
			slog.Duration("ahead", ahead), slog.String("to", peers[0]), slog.Any("error", err))
		l.clock.suspect[i].Store(true)
	}
}
