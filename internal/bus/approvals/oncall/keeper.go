package oncall

import (
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/process/backoff"
)

// Keeper holds what sources said last. It is safe for concurrent use.
type Keeper struct {
	sources func() map[string]Source // by name
	log     *slog.Logger

	mu    sync.Mutex
	held  map[Source]*Reading  // by what is read, however often
	retry map[Source]time.Time // when each is read next
}

// Reading is what a source said last, and whether it can be read.
type Reading struct {
	Shifts []Shift
	At     time.Time // when it was read; zero: never
	Err    error     // of the last attempt; nil: it was read
}

// Intervals of reading.
const (
	lookEvery = 5 * time.Second
	againIn   = 30 * time.Second
	fetching  = 4 // sources at once
)

// NewKeeper makes a keeper of the sources that the function names, which may
// change. It starts nothing.
func NewKeeper(sources func() map[string]Source, log *slog.Logger) *Keeper {
	return &Keeper{sources: sources, log: log, held: map[Source]*Reading{}, retry: map[Source]time.Time{}}
}

// Of returns what a source said last.
func (k *Keeper) Of(s Source) Reading {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r := k.held[s.what()]; r != nil {
		return *r
	}
	return Reading{}
}

// what returns the source without how often it is read, so that a change of that
// alone keeps what the source said last.
func (s *Source) what() Source {
	what := *s
	what.Every = 0
	return what
}

// Run reads the sources, each at its interval, until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	for on := true; on; on = backoff.Sleep(ctx, lookEvery) == nil {
		k.Refresh(ctx)
	}
}

// Refresh reads the sources whose time has come, and forgets those that are gone.
func (k *Keeper) Refresh(ctx context.Context) {
	now, all := time.Now(), k.sources()
	due := map[Source]string{}
	k.mu.Lock()
	for name, s := range all {
		if at, tried := k.retry[s]; !tried || !now.Before(at) {
			due[s] = name
		}
	}
	present := map[Source]bool{}
	for s := range maps.Values(all) {
		present[s], present[s.what()] = true, true
	}
	maps.DeleteFunc(k.held, func(what Source, _ *Reading) bool { return !present[what] })
	maps.DeleteFunc(k.retry, func(s Source, _ time.Time) bool { return !present[s] })
	k.mu.Unlock()
	slots := make(chan struct{}, fetching)
	var running sync.WaitGroup
	for s, name := range due {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			shifts, err := Fetch(ctx, &s, now)
			if ctx.Err() == nil {
				k.keep(ctx, name, s, shifts, err)
			}
		})
	}
	running.Wait()
}

func (k *Keeper) keep(ctx context.Context, name string, s Source, shifts []Shift, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := Reading{Shifts: shifts, At: time.Now(), Err: err}
	was := k.held[s.what()]
	wait := s.Every
	if err != nil {
		wait = min(wait, againIn)
		if was != nil {
			r.Shifts, r.At = was.Shifts, was.At
		} else {
			r.Shifts, r.At = nil, time.Time{}
		}
		if was == nil || was.Err == nil || was.Err.Error() != err.Error() {
			k.log.WarnContext(ctx, "a schedule or calendar cannot be read; what it said last stays in effect", slog.String("name", name), slog.Any("error", err), slog.Time("as_of", r.At))
		}
	} else if was != nil && was.Err != nil {
		k.log.InfoContext(ctx, "a schedule or calendar can be read again", slog.String("name", name))
	}
	k.held[s.what()] = &r
	k.retry[s] = time.Now().Add(wait + rand.N(wait/10+1)) //nolint:gosec // not all replicas at once
}
