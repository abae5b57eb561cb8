package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/process/ratelimit"
)

// linesOfMessage is how many warnings and errors of one message are logged in a
// minute. Strangers can cause many of them, and the disk is finite.
const linesOfMessage = 200

// Bounded drops warnings and errors beyond 200 of one message in a minute, and
// logs how many it dropped a minute after the first. Messages are constants;
// what a stranger can choose is in the attributes.
func Bounded(h slog.Handler) slog.Handler {
	return bounded{h, &lines{to: h, taken: ratelimit.New(linesOfMessage), dropped: map[string]int{}}}
}

type bounded struct {
	slog.Handler
	lines *lines
}

// lines counts the lines of all handlers that were derived from one.
type lines struct {
	to    slog.Handler
	taken *ratelimit.PerMinute

	mu      sync.Mutex
	dropped map[string]int // by message; not empty: tell is due
}

// Handle implements [slog.Handler].
func (b bounded) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn && !b.lines.taken.Take(r.Message, time.Now()) {
		b.lines.drop(r.Message)
		return nil
	}
	if err := b.Handler.Handle(ctx, r); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	return nil
}

func (l *lines) drop(message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.dropped) == 0 {
		time.AfterFunc(time.Minute, l.report)
	}
	l.dropped[message]++
}

// report logs what was dropped since the last call.
func (l *lines) report() {
	l.mu.Lock()
	dropped := maps.Clone(l.dropped)
	clear(l.dropped)
	l.mu.Unlock()
	for _, message := range slices.Sorted(maps.Keys(dropped)) {
		r := slog.NewRecord(time.Now(), slog.LevelWarn, "dropped lines: too many of one message in a minute", 0)
		r.AddAttrs(slog.String("message", message), slog.Int("lines", dropped[message]))
		_ = l.to.Handle(context.Background(), r) // there is nowhere to report it
	}
}

// WithAttrs implements [slog.Handler].
func (b bounded) WithAttrs(a []slog.Attr) slog.Handler {
	return bounded{b.Handler.WithAttrs(a), b.lines}
}

// WithGroup implements [slog.Handler].
func (b bounded) WithGroup(name string) slog.Handler {
	return bounded{b.Handler.WithGroup(name), b.lines}
}
