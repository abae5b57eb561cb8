package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

// Inbox is the share of a team's reading that is wasted because another person decides meanwhile.
type Inbox struct {
	Machine Machine     `json:"machine"`
	People  int         `json:"people"`
	Speed   float64     `json:"speed"` // of the people's clock: the bus is as fast as always
	Runs    []InboxRead `json:"runs"`

	Screens []InboxScreen `json:"screens,omitempty"`
	Streams *InboxStreams `json:"streams,omitempty"`
	Note    string        `json:"note,omitempty"` // why there is no browser
}

// InboxRead is one scenario, read in one way.
type InboxRead struct {
	Asks   string  `json:"asks"`
	Way    string  `json:"way"`
	Reads  int     `json:"reads"`
	InVain int     `json:"in_vain"` // somebody else decided the ask while it was read
	Share  float64 `json:"share"`   // InVain of Reads
	Took   string  `json:"took"`    // until the last was decided, by the people's clock
}

// Write prints the report.
func (r Inbox) Write(out io.Writer) error {
	pairs := []any{"machine", r.Machine, "people", fmt.Sprintf("%d, each at a replica of their own, reading 2.0–3.5 s; their clock at %g×", r.People, r.Speed)}
	for _, run := range r.Runs {
		pairs = append(pairs, run.Asks+", "+run.Way, fmt.Sprintf("%d of %d reads wasted (%.0f %%), done after %s", run.InVain, run.Reads, run.Share*100, run.Took))
	}
	for i := range r.Screens {
		s := &r.Screens[i]
		for _, line := range [][2]any{
			{"first load", fmt.Sprintf("%.1f kB, compressed", float64(s.Load)/1000)},
			{"an event", fmt.Sprintf("%.0f B and %s of the main thread", s.EventBytes, ms(&s.EventMain))},
			{"ask until visible", s.Visible},
			{"ask below the page's end until counted", s.Counted},
			{"elsewhere until shown", s.Elsewhere},
			{"Enter until the next card", s.Next},
			{"typing, 50 asks a second", s.Typing},
		} {
			pairs = append(pairs, fmt.Sprintf("%d pending, %s", s.Pending, line[0]), line[1])
		}
	}
	if s := r.Streams; s != nil {
		pairs = append(pairs, fmt.Sprintf("%d open inboxes of different people, %d pending", s.Open, s.Pending), fmt.Sprintf("%.0f KiB each", s.Memory/1024))
	}
	if r.Note != "" {
		pairs = append(pairs, "in a browser", r.Note)
	}
	return lines(out, pairs...)
}

// InboxOptions configures [Bed.Inbox].
type InboxOptions struct {
	People  int     // default 3
	Speed   float64 // of the people's clock, at least 1; default 5
	Quick   bool    // only the asks that wait at once
	Chrome  string  // the browser's program; empty: the page is not measured
	Sizes   []int   // of the queue in the browser; default 500 and 1,000
	Streams int     // inboxes that are open at once; default 1,000
	Screen  bool    // only what is measured in a browser
}

// The people's reading speed, and the rate of asks.
const (
	readLeast   = 2000 * time.Millisecond
	readMost    = 3500 * time.Millisecond
	streamEvery = time.Second
)

// team is the state that the people of one run share.
type team struct {
	bed    *Bed
	speed  float64
	spread bool
	tag    string // in the headings of this run's asks
	left   sync.WaitGroup

	mu     sync.Mutex
	reads  int
	inVain int
}

// Inbox has people work through a shared queue: 24 asks of 6 sessions at once, and 200 that arrive
// at one per second. Each scenario is read from the top by everybody, as without attention, and as
// [board.Board.Take] offers it. Every person has their own board and connection, as on
// replicas; on one replica the choice is exact. A faster clock is a disadvantage for the measured
// system, because messages take as long as always.
func (b *Bed) Inbox(ctx context.Context, opts InboxOptions) (Inbox, error) {
	if opts.People <= 0 {
		opts.People = 3
	}
	if opts.Speed < 1 {
		opts.Speed = 5
	}
	r := Inbox{Machine: ThisMachine(), People: opts.People, Speed: opts.Speed}
	for _, stream := range []bool{false, true} {
		if stream && opts.Quick || opts.Screen {
			break
		}
		for _, spread := range []bool{false, true} {
			run, err := b.inboxRun(ctx, opts, stream, spread)
			if err != nil {
				return r, err
			}
			r.Runs = append(r.Runs, run)
		}
	}
	switch {
	case opts.Chrome == "":
		r.Note = "no Chromium was found; ASKBUS_CHROME names one"
		return r, nil
	case !b.embedded:
		r.Note = "only measured on a bus that the bench starts"
		return r, nil
	case opts.Quick:
		return r, nil
	}
	if len(opts.Sizes) == 0 {
		opts.Sizes = []int{500, 1000}
	}
	if opts.Streams == 0 {
		opts.Streams = 1000
	}
	return r, b.screens(ctx, opts.Chrome, opts.Sizes, opts.Streams, &r)
}

func (b *Bed) inboxRun(ctx context.Context, opts InboxOptions, stream, spread bool) (InboxRead, error) {
	run := InboxRead{Asks: "24 asks in 6 sessions", Way: "from the top"}
	n, sessions := 24, 6
	if stream {
		run.Asks, n = "200 asks, one a second", 200
	}
	if spread {
		run.Way = "spread"
	}
	c := &team{bed: b, speed: opts.Speed, spread: spread, tag: runID()}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	agents, err := c.agents(sessions)
	if err != nil {
		return run, err
	}
	if !stream {
		if err := c.ask(ctx, agents, n, 0); err != nil {
			return run, err
		}
	}
	boards := make([]*board.Board, opts.People)
	responders := make([]*responder.Responder, opts.People)
	var at sync.WaitGroup
	defer at.Wait()
	defer cancel()
	for i := range boards {
		if responders[i], boards[i], err = c.screen(); err != nil {
			return run, err
		}
		at.Go(func() { _ = boards[i].Run(ctx) }) // it ends with ctx, or the connection
		if err := poll(ctx, 10*time.Second, "a board is not synchronized", func() bool { return boards[i].Status().Synced }); err != nil {
			return run, err
		}
	}
	c.left.Add(n)
	began := time.Now()
	failed := make(chan error, opts.People+1)
	if stream {
		at.Go(func() {
			if err := c.ask(ctx, agents, n, c.scaled(streamEvery)); err != nil {
				failed <- err
			}
		})
	}
	for i := range boards {
		at.Go(func() {
			if err := c.person(ctx, i, boards[i], responders[i]); err != nil {
				failed <- err
			}
		})
	}
	done := make(chan struct{})
	go func() { c.left.Wait(); close(done) }()
	select {
	case <-done:
	case err := <-failed:
		return run, err
	case <-ctx.Done():
		return run, ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	run.Reads, run.InVain = c.reads, c.inVain
	run.Share = hundredths(float64(c.inVain) / float64(max(1, c.reads)))
	run.Took = time.Duration(float64(time.Since(began)) * c.speed).Round(time.Second).String()
	return run, nil
}

func (c *team) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) / c.speed)
}

func (c *team) agents(n int) ([]client.Session, error) {
	var agents []client.Session
	for i := range n {
		session := c.tag + "-" + strconv.Itoa(i)
		nc, err := c.bed.open(rights.Role{Name: rights.RoleAgent, Tenant: c.bed.Tenant, Session: session})
		if err != nil {
			return nil, err
		}
		a, err := client.New(nc, client.Options{Logger: c.bed.log})
		if err != nil {
			return nil, err
		}
		agents = append(agents, a.Session(c.bed.Tenant, session))
	}
	return agents, nil
}

// ask asks n times, rotating through the sessions.
func (c *team) ask(ctx context.Context, agents []client.Session, n int, every time.Duration) error {
	for i := range n {
		if _, err := agents[i%len(agents)].Ask(ctx, question("inbox")); err != nil {
			return err
		}
		if err := backoff.Sleep(ctx, every); err != nil {
			return err
		}
	}
	return nil
}

func (c *team) screen() (*responder.Responder, *board.Board, error) {
	nc, err := c.bed.open(rights.Role{Name: rights.RoleResponder, Type: responderType, Tenant: c.bed.Tenant})
	if err != nil {
		return nil, nil, err
	}
	r, err := responder.New(nc, responderType, responder.Options{Tenant: c.bed.Tenant, Logger: c.bed.log})
	if err != nil {
		return nil, nil, err
	}
	return r, board.New(r, board.Options{}), nil
}

// person reads and answers one ask after the other until ctx ends.
func (c *team) person(ctx context.Context, i int, queue *board.Board, r *responder.Responder) error {
	v := board.Viewer{By: ask.By{Principal: "os:p" + strconv.Itoa(i), Name: "Person " + strconv.Itoa(i), Proof: "local"}}
	f := board.Filter{Viewer: v, Mine: true, Search: c.tag}
	changed, stop := queue.Changes(f)
	defer stop()
	for {
		h, ok := c.next(ctx, queue, v, f)
		if !ok {
			select {
			case <-ctx.Done():
				return nil
			case <-changed:
				continue
			}
		}
		// A screen learns at once when another person decides its ask.
		read := readLeast + rand.N(readMost-readLeast) //nolint:gosec // how long people read
		gone, err := c.read(ctx, queue, h, c.scaled(read), changed)
		if ctx.Err() != nil {
			return nil // the run is over
		}
		if err != nil {
			return err
		}
		if !gone {
			_, err = r.Answer(ctx, h.Key, ask.Reply{By: v.By, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}})
			gone = errors.Is(err, ask.ErrResolved)
			if err != nil && !gone {
				if ctx.Err() != nil {
					return nil // the run is over
				}
				return err
			}
		}
		c.mu.Lock()
		c.reads++
		if gone {
			c.inVain++
		}
		c.mu.Unlock()
		if !gone {
			c.left.Done()
			queue.Learn(ask.Record{State: ask.StateResolved, Life: h.Life, Ask: ask.Ask{Tenant: h.Key.Tenant, Session: h.Key.Session, ID: h.Key.ID}})
		}
	}
}

// next returns what a person reads next.
func (c *team) next(ctx context.Context, queue *board.Board, v board.Viewer, f board.Filter) (board.Head, bool) {
	if c.spread {
		return queue.Take(ctx, v, f, board.Turn{})
	}
	heads, _ := queue.Pending(f, 0, 1)
	if len(heads) == 0 {
		return board.Head{}, false
	}
	return heads[0], true
}

// read reads an ask and reports whether it ended meanwhile.
func (c *team) read(ctx context.Context, queue *board.Board, h board.Head, d time.Duration, changed <-chan struct{}) (gone bool, err error) {
	end := time.NewTimer(d)
	defer end.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-end.C:
			return false, nil
		case <-changed:
			f := board.Filter{Session: h.Key.Session, Search: h.Key.ID}
			if heads, _ := queue.Pending(f, 0, 1); len(heads) == 0 {
				return true, nil
			}
		}
	}
}
