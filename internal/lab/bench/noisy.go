package bench

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
)

// Noisy is a session that asks as fast as it can among quiet ones.
type Noisy struct {
	Machine Machine `json:"machine"`
	Quiet   Times   `json:"quiet"`       // the quiet sessions' cycles, when nobody is noisy
	Beside  Times   `json:"beside"`      // the same, beside the noisy one
	Noise   float64 `json:"noise_per_s"` // its cycles
}

// Write prints the report.
func (n Noisy) Write(out io.Writer) error {
	return lines(out, "machine", n.Machine, "quiet sessions alone", n.Quiet, "beside a noisy one", n.Beside, "noisy session, cycles/s", round(n.Noise))
}

const (
	quietSessions = 15
	quietPause    = 20 * time.Millisecond
	noise         = 256 // in flight
)

// Noisy measures 15 sessions that ask now and then, alternately alone and with one with 256 asks in
// flight.
func (b *Bed) Noisy(ctx context.Context, plan Plan) (Noisy, error) {
	plan.fill()
	asks, err := b.NewAsks(ctx, quietSessions+1)
	if err != nil {
		return Noisy{}, err
	}
	var alone, beside []time.Duration
	var noisy []float64
	for range plan.Rounds {
		plan.Progress("quiet sessions alone")
		took, err := asks.quietly(ctx, plan.Round)
		if err != nil {
			return Noisy{}, err
		}
		alone = append(alone, took...)
		plan.Progress("quiet sessions beside a noisy one")
		took, rate, err := asks.besideNoise(ctx, plan.Round)
		if err != nil {
			return Noisy{}, err
		}
		beside, noisy = append(beside, took...), append(noisy, rate)
	}
	return Noisy{ThisMachine(), timesOf(alone), timesOf(beside), figure(noisy).Median}, nil
}

// quietly has every session but the first ask, wait and pause for d; the last cycles finish even
// after ctx ends.
func (a *Asks) quietly(ctx context.Context, d time.Duration) ([]time.Duration, error) {
	var (
		mu     sync.Mutex
		took   []time.Duration
		failed error
		all    sync.WaitGroup
	)
	work, stop := connection.WithGrace(ctx, grace)
	defer stop()
	began := time.Now()
	for slot := 1; slot <= quietSessions; slot++ {
		all.Go(func() {
			for n := 0; (n == 0 || time.Since(began) < d) && ctx.Err() == nil; n++ {
				start := time.Now()
				err := a.Cycle(work, slot)
				mu.Lock()
				took = append(took, time.Since(start))
				if err != nil {
					failed = err
				}
				mu.Unlock()
				if err != nil {
					return
				}
				time.Sleep(quietPause)
			}
		})
	}
	all.Wait()
	return took, errors.Join(failed, ctx.Err())
}

func (a *Asks) besideNoise(ctx context.Context, d time.Duration) ([]time.Duration, float64, error) {
	type result struct {
		Sample
		err error
	}
	loud := make(chan result, 1)
	go func() {
		s, err := Drive(ctx, first{a}, noise, d)
		loud <- result{s, err}
	}()
	took, err := a.quietly(ctx, d)
	r := <-loud
	if err == nil {
		err = r.err
	}
	return took, r.PerSec, err
}

// first makes the first session ask in every slot.
type first struct{ *Asks }

// Cycle implements [System].
func (f first) Cycle(ctx context.Context, _ int) error { return f.Asks.Cycle(ctx, 0) }
