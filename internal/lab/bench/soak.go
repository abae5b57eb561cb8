package bench

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

// SoakOptions configures [MeasureSoak]. The zero value is an hour at 100 cycles per second.
type SoakOptions struct {
	Dir        string        // where the bus's directory is made; default: the system's temporary directory
	For        time.Duration // default: 1h
	Rate       float64       // cycles a second; default: 100
	Every      time.Duration // between two samples; default: 10s
	Partitions int           // default: the ledger's
	Progress   func(string)  // reports progress; default: not at all
}

func (o *SoakOptions) fill() {
	if o.For <= 0 {
		o.For = time.Hour
	}
	if o.Rate <= 0 {
		o.Rate = 100
	}
	if o.Every <= 0 {
		o.Every = 10 * time.Second
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
}

const (
	soakSessions  = 8
	soakInFlight  = 512              // at most; beyond, the pace falls
	soakTimeout   = time.Minute      // of an ask
	soakRetention = time.Minute      // of an outcome, after its ask's deadline
	soakExpires   = 2 * time.Second  // timeout of an ask that nobody answers
	soakSample    = 20 * time.Second // limit for one sample
	soakKept      = soakTimeout + soakRetention + ledger.MinMargin
)

// MeasureSoak starts "askbus up" with a short retention, drives cycles at a steady rate, and
// samples the process. When ctx ends it reports the samples so far. With an error, too, the report
// has the samples so far.
func MeasureSoak(ctx context.Context, program Program, opts SoakOptions) (s Soak, err error) {
	opts.fill()
	s = Soak{Machine: ThisMachine(), Planned: opts.For.Seconds(), Rate: opts.Rate, Rule: soakRule}
	dir, err := os.MkdirTemp(opts.Dir, "askbus-bench-")
	if err != nil {
		return s, fmt.Errorf("bench: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // temporary
	args := append(upArgs(), "--retention", soakRetention.String(), "--margin", ledger.MinMargin.String())
	if opts.Partitions > 0 {
		args = append(args, "--partitions", strconv.Itoa(opts.Partitions))
	}
	p, err := startProcess(ctx, program, dir, "up", args...)
	if err != nil {
		return s, err
	}
	defer p.kill()
	bed, err := p.bed("bench")
	if err != nil {
		return s, err
	}
	defer bed.Close()
	asks, err := bed.NewAsks(ctx, soakSessions)
	if err != nil {
		return s, err
	}
	began := time.Now()
	through, err := p.endpoints(ctx, program, bed)
	if err != nil {
		return s, err
	}
	load := &soakLoad{asks: asks, endpoints: through}
	driving, stop := context.WithTimeout(ctx, opts.For)
	defer stop()
	var driver sync.WaitGroup
	driver.Go(func() { load.drive(ctx, driving, opts.Rate) })
	samples, err := p.soak(driving, opts, load)
	s.Seconds = time.Since(began).Seconds()
	stop()
	driver.Wait()
	s.Cycles, s.Failures, s.FirstError = load.counted()
	s.Repeats = load.repeats // the driver has ended
	s.PerSec = float64(s.Cycles.all()) / s.Seconds
	s = s.Judge(samples)
	if s.Seconds/5 < soakKept.Seconds() {
		s.Note = fmt.Sprintf("the run is short: outcomes are kept for %s, so the store still fills when the second fifth begins", soakKept)
	}
	return s, err
}

// soak samples until ctx ends.
func (p *process) soak(ctx context.Context, opts SoakOptions, load *soakLoad) (samples []SoakSample, err error) {
	tick := time.NewTicker(opts.Every)
	defer tick.Stop()
	began, told := time.Now(), -1
	for {
		select {
		case <-ctx.Done():
			return samples, nil
		case <-tick.C:
		}
		at := time.Since(began)
		s, err := p.sample(ctx, at)
		if ctx.Err() != nil {
			return samples, nil
		}
		if err != nil {
			return samples, fmt.Errorf("bench: sample after %s: %w", at.Round(time.Second), err)
		}
		samples = append(samples, s)
		if tenth := int(10 * at / opts.For); tenth > told {
			told = tenth
			done, failed, _ := load.counted()
			opts.Progress(fmt.Sprintf("%s of %s: %d cycles, %d failed; %s resident, %s live heap, %d goroutines, %s on disk",
				at.Round(time.Second), opts.For, done.all(), failed, mib(s.RSS), mib(s.Heap), s.Goroutines, mib(s.Disk)))
		}
	}
}

// sample reads the resident memory first, because the live heap needs a collection.
func (p *process) sample(ctx context.Context, at time.Duration) (s SoakSample, err error) {
	ctx, cancel := context.WithTimeout(ctx, soakSample)
	defer cancel()
	s = SoakSample{At: at, RSS: p.rss(), Disk: p.disk()}
	if s.Goroutines, err = p.goroutines(ctx); err != nil {
		return s, err
	}
	s.Heap, err = p.heap(ctx)
	return s, err
}

// soakLoad drives cycles of every kind and counts them.
type soakLoad struct {
	asks      *Asks
	endpoints *endpoints

	mu      sync.Mutex
	done    SoakCycles
	repeats int
	failed  int
	first   string // error
}

// drive starts cycles at a fixed rate until driving ends, and lets the last ones finish. It skips
// cycles that are more than a second late.
func (l *soakLoad) drive(ctx, driving context.Context, rate float64) {
	var running sync.WaitGroup
	defer running.Wait()
	slots := make(chan struct{}, soakInFlight)
	interval := time.Duration(float64(time.Second) / rate)
	due := time.Now()
	for i := 0; ; i++ {
		if backoff.Sleep(driving, time.Until(due)) != nil {
			return
		}
		select {
		case slots <- struct{}{}:
		case <-driving.Done():
			return
		}
		running.Go(func() {
			defer func() { <-slots }()
			one, cancel := context.WithTimeout(ctx, cycleLimit)
			defer cancel()
			count, err := l.cycle(one, i)
			if ctx.Err() == nil {
				l.count(count, err)
			}
		})
		if due = due.Add(interval); time.Since(due) > time.Second {
			due = time.Now()
		}
	}
}

// cycle runs the i-th cycle: of a hundred, one is a list, ten are withdrawn, ten expire, and twenty
// are asked and answered over HTTP, WebSocket or MCP.
func (l *soakLoad) cycle(ctx context.Context, i int) (count *int, err error) {
	switch {
	case i%100 == 50:
		return &l.done.Listed, l.list(ctx, i)
	case i%10 == 3:
		return &l.done.Withdrawn, l.withdraw(ctx, i)
	case i%5 == 1:
		repeats, err := l.endpoints.cycle(ctx, i/5)
		l.mu.Lock()
		l.repeats += repeats
		l.mu.Unlock()
		return &l.done.Endpoints, err
	case i%10 == 7:
		_, err = l.asks.end(ctx, i, soakAsk("expire", soakExpires), ask.StatusExpired)
		return &l.done.Expired, err
	default:
		_, err = l.asks.end(ctx, i, soakAsk("cycle", soakTimeout), ask.StatusAnswered)
		return &l.done.Answered, err
	}
}

func (l *soakLoad) count(count *int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		*count++
		return
	}
	l.failed++
	if l.first == "" {
		l.first = err.Error()
	}
}

func (l *soakLoad) counted() (done SoakCycles, failed int, first string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done, l.failed, l.first
}

func (l *soakLoad) withdraw(ctx context.Context, slot int) error {
	c := l.asks.agent(slot)
	s, err := c.Ask(ctx, soakAsk("withdraw", soakTimeout))
	if err != nil {
		return err
	}
	o, err := c.Withdraw(ctx, s.ID, "no longer needed")
	if err == nil && o.Status != ask.StatusWithdrawn {
		err = fmt.Errorf("ask %s ended as %s, not withdrawn", s.ID, o.Status)
	}
	return err
}

// list reads a page of all asks as the agent, and one of the pending asks as the responder.
func (l *soakLoad) list(ctx context.Context, slot int) error {
	if _, err := l.asks.agent(slot).Page(ctx, client.Query{}); err != nil {
		return err
	}
	_, err := l.asks.screen.List(ctx, responder.Query{State: ask.StatePending})
	return err
}

func soakAsk(purpose string, timeout time.Duration) ask.Ask {
	q := question(purpose)
	q.Timeout = timeout
	return q
}
