package torture

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// SkewEnv is the variable from which the program of [EmbeddedOptions].Skewed
// reads how many seconds its clock is ahead.
const SkewEnv = "ASKBUS_SKEW_SECONDS"

// skews are the faults of a server's clock, one after the other.
func skews() []time.Duration {
	return []time.Duration{time.Hour, 2 * time.Second, -time.Hour, -2 * time.Second}
}

// apart is how long a restarted server gets to catch up before the next one is killed.
const apart = 10 * time.Second

// wrongClock gives one server of a cluster a wrong clock, each server in turn.
type wrongClock struct {
	bus     *Processes
	skewed  string // the program with a wrong clock
	servers []*process
	n       int      // faults so far
	wrong   *process // nil before the first
}

// Name implements [Victim].
func (w *wrongClock) Name() string { return "clock" }

// Stop implements [Victim]: a clock cannot be stopped.
func (w *wrongClock) Stop(context.Context, time.Duration) (bool, error) { return false, nil }

// Kill implements [Victim]. The server that has a wrong clock is killed and restarts with a right
// one; then the next is killed and restarts with a wrong one, which it keeps until the next fault.
func (w *wrongClock) Kill(ctx context.Context) error {
	if w.wrong != nil {
		w.wrong.end()
		w.wrong.self, w.wrong.env = w.bus.self, nil
		if err := w.wrong.start(); err != nil {
			return err
		}
		until(ctx, time.Now().Add(apart))
	}
	next := w.next()
	next.end()
	if err := next.start(); err != nil {
		return err
	}
	return w.bus.serves(ctx)
}

// next chooses the next server and its clock. With three servers and four clocks each server has
// had each clock after twelve faults.
func (w *wrongClock) next() *process {
	all := skews()
	skew := all[w.n%len(all)]
	w.wrong = w.servers[len(w.servers)-1-w.n%len(w.servers)]
	w.n++
	w.wrong.self, w.wrong.env = w.skewed, []string{fmt.Sprintf("%s=%d", SkewEnv, int(skew/time.Second))}
	w.bus.log.Info("a server has a wrong clock", slog.String("server", w.wrong.name), slog.Duration("ahead", skew))
	return w.wrong
}
