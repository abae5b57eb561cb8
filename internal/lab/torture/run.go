package torture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
)

// Options configures a run. Asks and For are required.
type Options struct {
	Asks    int           // maximum number of asks
	For     time.Duration // maximum duration
	Seed    uint64
	Open    int // concurrently open asks; default 256
	Long    int // percentage of asks with a far deadline, if the run is long enough; default 5
	Burst   int // number of asks that share a deadline; default: 1
	Votes   int // percentage of asks that several people decide; default 15
	Ladders int // percentage of asks with a ladder, if the run is long enough; default 5

	KillEvery time.Duration // between kills of a victim; default: none
	StopEvery time.Duration // between stops of a victim; default: none
	Kills     int           // maximum; default: unlimited
	Victims   string        // prefix of the victims' names; default: all

	Retention, Margin time.Duration // of the bus; default: [DefaultRetention], [DefaultMargin]
	Ends, Learns      time.Duration // limits of liveness; default 10s, with faults 45s
	Steps             time.Duration // the same for steps of ladders; default 10s, with faults 75s: the sweep finds those of a broker that died
	Posts             time.Duration // the same for posting surfaces; default 90s
	Skew              time.Duration // agents' clocks are ahead, surfaces' behind
	Disturbed         bool          // faults are injected from outside: screens may miss short asks
	Out               io.Writer     // the closing line and violations
	Logger            *slog.Logger  // default: discard
}

func (o *Options) fill() {
	if o.Open == 0 {
		o.Open = 256
	}
	if o.Long == 0 {
		o.Long = 5
	}
	if o.Votes == 0 {
		o.Votes = 15
	}
	if o.Ladders == 0 {
		o.Ladders = 5
	}
	if o.Burst > 0 {
		o.Open = max(o.Open, o.Burst)
	}
	if o.Retention == 0 {
		o.Retention, o.Margin = DefaultRetention, DefaultMargin
	}
	if o.KillEvery > 0 || o.StopEvery > 0 {
		o.Disturbed = true
	}
	bound := 10 * time.Second
	if o.Disturbed {
		bound = 45 * time.Second
	}
	if o.Ends == 0 {
		o.Ends = bound
	}
	if o.Steps == 0 {
		o.Steps = bound
		if o.Disturbed {
			o.Steps += 30 * time.Second
		}
	}
	if o.Learns == 0 {
		o.Learns = bound
	}
	if o.Posts == 0 {
		o.Posts = 90 * time.Second
	}
	if o.Out == nil {
		o.Out = io.Discard
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// ErrViolated reports a broken promise.
var ErrViolated = errors.New("a promise was broken")

// errOvertaken reports that the machine was too slow for the bus's margin, so that some asks were
// not judged.
var errOvertaken = errors.New("the server's timer was later than the margin")

// Result is the result of a run.
type Result struct {
	Figures    Figures
	Violations []Violation
	Overtaken  int       // asks whose timer exceeded the margin, for which nothing is promised
	Shortest   [][]Event // of the first violation of each rule
}

// Run tortures a bus and reports. The error is [ErrViolated] for a broken promise; other errors are
// failures of the run itself.
func Run(ctx context.Context, bus Bus, opts Options) (*Result, error) {
	opts.fill()
	began := time.Now()
	h := newHistory(began)
	d := &driver{
		h: h, retention: opts.Retention, margin: opts.Margin, log: opts.Logger, burst: opts.Burst, skew: opts.Skew,
		end: began.Add(opts.For),
		shape: shape{
			run: strconv.FormatInt(began.UnixMicro(), 36), seed: opts.Seed, longest: opts.For/2 - tail, long: longShare(opts), votes: opts.Votes,
			ladders: opts.Ladders, life: ladderLife(opts),
		},
		dial: func(r rights.Role) (*nats.Conn, error) { return dial(bus, r, opts.Logger) },
	}
	defer d.close()
	if err := d.connect(); err != nil {
		return nil, err
	}
	led, stopLedger, err := openReader(ctx, bus, d)
	if err != nil {
		return nil, err
	}
	defer stopLedger()

	surfaces, lim, err := d.surfaces(ctx)
	if err != nil {
		return nil, err
	}
	d.end = d.end.Add(min(time.Since(began), startMost)) // do not count the start
	step := 1
	var party *partyProcess
	if p, ok := bus.(*Processes); ok {
		step = 2
		if party, err = p.party(d, opts); err != nil {
			return nil, err
		}
		defer party.close()
	}
	faults := &chaos{bus: bus, h: h, kill: opts.KillEvery, stop: opts.StopEvery, only: opts.Victims, limit: opts.Kills}
	faults.healed = func(ctx context.Context, _ string) {
		if led != nil {
			faults.ghosts += led.ghosts(ctx, 10*time.Second)
		}
	}
	// Faults end early enough for the parties to recover and learn all ends.
	shaking, stopShaking := context.WithDeadline(ctx, d.end.Add(-2*tail))
	var shaken sync.WaitGroup
	shaken.Go(func() { faults.run(shaking, opts.Seed) })

	var absences sync.WaitGroup
	absences.Go(func() { d.absences(shaking) })
	d.playAll(ctx, share{from: 0, step: step}, opts.Asks, opts.Open)
	party.wait()
	stopShaking()
	shaken.Wait()
	absences.Wait()
	d.lookAgain(ctx)
	surfaces.settle(ctx, d, opts.Learns)
	d.over.Store(true)
	ledgerRead := led == nil
	if led != nil {
		stopLedger()
		ledgerRead = led.catchUp(ctx) == nil
		faults.ghosts += led.ghosts(ctx, 3*time.Second)
	}
	surfaces.stop()

	if led != nil {
		lim.Unread = led.unread
	}
	lim.Margin = opts.Margin
	lim.Retention, lim.Ends, lim.Learns, lim.Posts, lim.Steps = opts.Retention, opts.Ends, opts.Learns, opts.Posts, opts.Steps
	lim.End, lim.Undisturbed = h.now(), !opts.Disturbed
	res := &Result{Violations: Check(h.all(), lim), Overtaken: overtaken(h.all(), lim)}
	res.Figures = figure(h.all(), lim)
	res.Figures.fill(opts, d, faults, led)
	res.Figures.LedgerRead = led != nil && ledgerRead
	for _, v := range res.Violations {
		if v.Rule == InTime {
			res.Figures.Early++
		}
	}
	seen, shrinkUntil := map[Rule]bool{}, time.Now().Add(2*time.Second)
	for _, v := range res.Violations {
		if !seen[v.Rule] {
			seen[v.Rule] = true
			res.Shortest = append(res.Shortest, Shrink(h.all(), v, lim, shrinkUntil))
		}
	}
	report(opts.Out, res)
	if faults.failure != nil {
		return res, faults.failure
	}
	if len(res.Violations) > 0 {
		return res, fmt.Errorf("torture: %w: %d violations, seed %d", ErrViolated, len(res.Violations), opts.Seed)
	}
	if res.Overtaken > 0 {
		return res, fmt.Errorf("torture: %w: %d asks were not judged; the timer was %s late with a margin of %s: run again with a longer --margin",
			errOvertaken, res.Overtaken, short(res.Figures.Late), opts.Margin)
	}
	return res, nil
}

// startMost is another part of the 8 s by which a run may exceed its duration.
const startMost = 4 * time.Second

func longShare(o Options) int {
	if o.For < 20*time.Second {
		return 0
	}
	return o.Long
}

// dial connects with a role.
func dial(bus Bus, r rights.Role, log *slog.Logger) (*nats.Conn, error) {
	c, err := bus.Credential(r)
	if err != nil {
		return nil, err
	}
	return client.Connect(c, log, nats.ReconnectWait(50*time.Millisecond), nats.ReconnectJitter(50*time.Millisecond, 50*time.Millisecond), nats.PingInterval(2*time.Second))
}

// openReader follows the ledger, if there is a credential for it.
func openReader(ctx context.Context, bus Bus, d *driver) (*reader, func(), error) {
	c, ok := bus.Ledger()
	if !ok {
		return nil, func() {}, nil
	}
	nc, err := connection.Connect(connection.Credential(c), d.log)
	if err != nil {
		return nil, nil, fmt.Errorf("torture: connect to read the ledger: %w", err)
	}
	d.conns = append(d.conns, nc)
	open, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	led, err := newReader(open, nc, d)
	if err != nil {
		return nil, nil, err
	}
	following, stop := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() { led.follow(following) })
	return led, func() { stop(); done.Wait() }, nil
}
