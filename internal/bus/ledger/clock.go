package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/bus/servertime"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// Every decision about time uses the clock that fires the timers: that of the
// server that leads an ask's partition. The clock of a broker's machine may be
// wrong, so the servers are asked for theirs, and the machine's clock only
// measures the time since then. STREAM.INFO says who leads; whose time its "ts"
// is, nobody knows while a leader changes.

const (
	// maxUnsure is how uncertain the ledger's clock may be. Beyond it nothing
	// is decided about time, and the broker is not ready.
	maxUnsure  = time.Second
	watchEvery = time.Second // one probe, which detects a new leader or a clock that was set
	probeEvery = 10 * time.Second
	probes     = 5 // the fastest of these counts
)

// leadership says who leads a stream.
type leadership struct {
	leader string   // empty: a single server, or nobody
	peers  []string // servers that could lead instead
}

// clock holds what is known about the servers' clocks.
type clock struct {
	now     func() time.Time // this machine's
	probing []probing        // by partition; the last one is for shared state
	suspect []atomic.Bool    // by partition: it may have a new leader since the last probe
	jumps   atomic.Int64     // how often a server's clock was set

	// servers are the clocks of those that can be asked. Without the right to ask
	// them it is nil, and times has what STREAM.INFO said.
	servers *servertime.Servers
	pinger  *servertime.Pinger

	mu      sync.Mutex
	leading []leadership         // by partition
	times   []servertime.Reading // by partition: of a server without a name
	odd     []servertime.Reading // likewise, of which a second one is awaited
}

func newClock(now func() time.Time, streams int) *clock {
	c := &clock{
		now: now, probing: make([]probing, streams), suspect: make([]atomic.Bool, streams),
		leading: make([]leadership, streams), times: make([]servertime.Reading, streams), odd: make([]servertime.Reading, streams),
	}
	for i := range c.probing {
		c.probing[i].busy = make(chan struct{}, 1)
	}
	return c
}

// ask makes the clock ask the servers over a connection in the system account.
func (c *clock) ask(nc *nats.Conn, note func(server string, r servertime.Reading)) (err error) {
	c.servers = servertime.NewServers(c.now, 0)
	c.pinger, err = servertime.NewPinger(nc, c.now, note)
	return err
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

// noteTime records a time from STREAM.INFO, if the servers cannot be asked. It
// may be a former leader's, so one that differs from what was known counts only
// when the next one confirms it. It returns by how much the time then jumped.
func (c *clock) noteTime(i int, r servertime.Reading) (jumped time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	better, jumped := servertime.Follow(c.times[i], r, now)
	if jumped.Abs() <= servertime.MaxSkew {
		c.times[i], c.odd[i] = better, servertime.Reading{}
		return 0
	}
	if odd := c.odd[i]; !odd.At.IsZero() {
		if _, again := servertime.Follow(odd, r, now); again.Abs() <= servertime.MaxSkew {
			c.times[i], c.odd[i] = r, servertime.Reading{}
			return jumped
		}
	}
	c.odd[i] = r
	return 0
}

// reading returns the measurement of the clock that decides in a partition: its
// leader's or, if that is wrong, the majority's.
func (c *clock) reading(i int) servertime.Reading {
	c.mu.Lock()
	leader, said := c.leading[i].leader, c.times[i]
	c.mu.Unlock()
	if c.servers == nil {
		return said
	}
	return c.servers.Of(leader)
}

// moment returns the earliest possible time by the clock that decides in a
// partition.
func (c *clock) moment(i int) (time.Time, error) {
	t, unsure := c.reading(i).When(c.now())
	if unsure > maxUnsure {
		return time.Time{}, fmt.Errorf("the ledger's clock is uncertain by more than %s: its servers answer too slowly or not at all", maxUnsure)
	}
	return t.Add(-unsure), nil
}

// leads returns the server that leads a partition with a wrong clock, and those
// with a right one that could lead instead.
func (c *clock) leads(i int) (leader string, ahead time.Duration, peers []string) {
	if c.servers == nil {
		return "", 0, nil
	}
	c.mu.Lock()
	now := c.leading[i]
	c.mu.Unlock()
	if ahead = c.servers.Wrong(now.leader); ahead == 0 {
		return "", 0, nil
	}
	for _, name := range now.peers {
		if c.servers.Right(name) {
			peers = append(peers, name)
		}
	}
	slices.Sort(peers)
	return now.leader, ahead, peers
}

// split returns why nobody knows which clock is right.
func (c *clock) split(name func(int) string) error {
	if c.servers != nil {
		return c.servers.Split()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	for i := range c.times {
		if d := c.times[i].Differs(c.times[0], now); d.Abs() > servertime.MaxSkew {
			return fmt.Errorf("the clocks of the servers that lead %s and %s differ by %s, and this broker has no credential to ask which is wrong; set them by NTP", name(0), name(i), d.Abs().Round(10*time.Millisecond))
		}
	}
	return nil
}

// openClock measures the clocks for the first time.
func (l *Ledger) openClock(ctx context.Context) error {
	l.clock = newClock(l.opts.Clock, l.clockStreams())
	if l.opts.Servers != nil {
		if err := l.clock.ask(l.opts.Servers, l.noteServer); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
	}
	for try := 0; ; try++ {
		err := l.readClocks(ctx, 1)
		if err == nil {
			return nil
		}
		if try == 1 {
			l.opts.Logger.ErrorContext(ctx, "waiting for the time of the NATS servers: most must run, and their system_account must be the one that \"askbus auth config\" prints, or export $SYS.REQ.SERVER.PING and $SYS.REQ.SERVER.PING.JSZ to it", slog.Any("error", err))
		}
		if backOff(ctx, try) != nil {
			return fmt.Errorf("ledger: %w", err)
		}
	}
}

// clockStreams returns how many leaders' clocks are followed.
func (l *Ledger) clockStreams() int {
	if l.alone {
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
func (l *Ledger) clockOf(p int) int { return min(p, len(l.clock.leading)-1) }

// Now returns the ledger's earliest possible time as last measured.
func (l *Ledger) Now() time.Time {
	t, unsure := l.clock.reading(len(l.clock.leading) - 1).When(l.clock.now())
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
	for i := range l.clock.leading {
		if _, err := l.clock.moment(i); err != nil {
			return err
		}
		if leader, ahead, _ := l.clock.leads(i); leader != "" {
			return fmt.Errorf("the clock of server %s, which leads %s, is %s; set it by NTP", leader, l.clockStream(i), servertime.Off(ahead))
		}
	}
	return l.clock.split(l.clockStream)
}

// ClockWarning names the servers whose clocks are wrong, also while they lead
// nothing and decisions can be made.
func (l *Ledger) ClockWarning() error {
	if l.clock.servers == nil {
		return nil
	}
	return removedEarly(l.clock.servers.Err(), l.clock.servers.Skews(), l.opts.Margin)
}

// removedEarly adds to a warning the servers that are further ahead than the
// margin: each server removes what has expired by its own clock, so their copies
// lack outcomes that are still needed.
func removedEarly(warning error, skews map[string]time.Duration, margin time.Duration) error {
	for _, server := range slices.Sorted(maps.Keys(skews)) {
		if skews[server] > margin {
			warning = errors.Join(warning, fmt.Errorf("server %s is further ahead than the ledger's margin of %s, so its copy of the ledger lacks outcomes: stop it, empty its store, set its clock, and start it again; it then copies everything from the others", server, margin))
		}
	}
	return warning
}

// ClockSkews returns how far each server's clock is ahead of the majority's, and
// how often a clock was set since the start. There are none if the servers
// cannot be asked.
func (l *Ledger) ClockSkews() (skews map[string]time.Duration, set int64) {
	if l.clock.servers != nil {
		skews = l.clock.servers.Skews()
	}
	return skews, l.clock.jumps.Load()
}

// ClockRoom refuses a new ask whose timer would run on a server with a wrong
// clock, which would end the ask at once, or late.
func (l *Ledger) ClockRoom(k ask.Key) error {
	p, _ := l.place(k)
	if leader, ahead, _ := l.clock.leads(l.clockOf(p)); leader != "" {
		return ask.Refuse(ask.CodeUnavailable, "the clock of server %s, which would keep this ask's deadline, is %s; another server is being asked to lead; try again", leader, servertime.Off(ahead))
	}
	return nil
}

// probe learns who leads a partition, and the time by that server's clock. The
// fastest reply counts.
func (l *Ledger) probe(ctx context.Context, i, times int) error {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	l.clock.suspect[i].Store(false) // any later event is a new suspicion
	err := l.readLeader(ctx, i)
	for n := 0; err == nil && n < times; n++ {
		if l.clock.servers != nil {
			if err = l.clock.pinger.Ping(ctx, l.clock.heard(i)); err != nil {
				if _, unknown := l.clock.moment(i); unknown == nil {
					return nil // the broker's way to the leader may be cut; what it said before still counts
				}
			}
		} else if n > 0 {
			err = l.readLeader(ctx, i)
		}
		if err != nil && n > 0 {
			return nil // one reply is enough
		}
	}
	if err != nil {
		l.clock.suspect[i].Store(true)
		return fmt.Errorf("ask %s for the time: %w", l.clockStream(i), err)
	}
	return nil
}

// heard returns a condition: a partition's leader has replied. If nobody leads
// it, most servers must have.
func (c *clock) heard(i int) func(replied map[string]bool) bool {
	c.mu.Lock()
	leader := c.leading[i].leader
	c.mu.Unlock()
	return func(replied map[string]bool) bool {
		if leader != "" {
			return replied[leader]
		}
		return len(replied) > len(c.servers.Names())/2
	}
}

// noteServer records what a server said about its own clock.
func (l *Ledger) noteServer(server string, r servertime.Reading) {
	l.saySet(l.clock.servers.Note(server, r), slog.String("server", server))
}

func (l *Ledger) saySet(by time.Duration, of slog.Attr) {
	if by.Abs() > servertime.MaxSkew {
		l.clock.jumps.Add(1)
		l.opts.Logger.Warn("a server's clock was set, or its machine slept; deadlines follow it", of, slog.Duration("by", by))
	}
}

// readLeader asks who leads a stream.
func (l *Ledger) readLeader(ctx context.Context, i int) error {
	if l.clock.servers != nil && l.alone {
		return nil
	}
	began := l.clock.now()
	reply, err := l.nc.RequestWithContext(ctx, "$JS.API.STREAM.INFO."+l.clockStream(i), nil)
	if err != nil {
		return err
	}
	ended := l.clock.now()
	by, err := l.clock.noteInfo(i, began, ended, reply.Data)
	l.saySet(by, slog.String("stream", l.clockStream(i)))
	return err
}

// noteInfo records the reply to STREAM.INFO: who leads. The time in it is of the
// server that replied, which may be the former leader and names only the new
// one, or nobody. It is used, without a name, only if the servers cannot be
// asked.
func (c *clock) noteInfo(i int, began, ended time.Time, reply []byte) (jumped time.Duration, err error) {
	var info streamInfo
	if err := json.Unmarshal(reply, &info); err != nil {
		return 0, err
	}
	switch {
	case info.Error != nil:
		return 0, info.Error
	case info.Time.IsZero():
		return 0, errors.New("the reply has no server time")
	}
	now := leadership{leader: info.Cluster.Leader}
	for _, peer := range info.Cluster.Replicas {
		if peer.Current && !peer.Offline {
			now.peers = append(now.peers, peer.Name)
		}
	}
	c.mu.Lock()
	c.leading[i] = now
	c.mu.Unlock()
	if c.servers == nil {
		jumped = c.noteTime(i, servertime.Between(began, ended, info.Time))
	}
	return jumped, nil
}

// readClocks measures all clocks once.
func (l *Ledger) readClocks(ctx context.Context, times int) error {
	var errs []error
	for i := range l.clock.leading {
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
	if l.clock.pinger != nil {
		defer l.clock.pinger.Close()
	}
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
	for i := range l.clock.leading {
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
