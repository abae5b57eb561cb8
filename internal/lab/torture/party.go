package torture

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/server/rights"
	"github.com/nats-io/nats.go"
)

// orders are the instructions of a party in its own process.
type orders struct {
	Start, End        time.Time
	Run               string
	Seed              uint64
	Longest           time.Duration
	Long, Votes       int
	Ladders           int
	Life              time.Duration
	From, Step        int
	Resume            []int  // scripts that a killed party had started
	Name              string // in the history
	Asks, Open        int
	Retention, Margin time.Duration
	URL               string
	Keys              string // directory of the signing keys
}

// Party plays the scripts that in names, and writes events to out. It may be killed at any moment:
// the next party repeats its asks.
func Party(ctx context.Context, in io.Reader, out io.Writer, log *slog.Logger) error {
	var o orders
	if err := gob.NewDecoder(in).Decode(&o); err != nil {
		return fmt.Errorf("torture: read orders: %w", err)
	}
	h := newHistory(o.Start)
	enc := gob.NewEncoder(out)
	var failed error
	h.sink = func(e *Event) { failed = errors.Join(failed, enc.Encode(e)) }
	d := &driver{
		h: h, name: o.Name, retention: o.Retention, margin: o.Margin, log: log, end: o.End,
		shape: shape{run: o.Run, seed: o.Seed, longest: o.Longest, long: o.Long, votes: o.Votes, ladders: o.Ladders, life: o.Life},
		dial: func(r rights.Role) (*nats.Conn, error) {
			keys, err := rights.LoadIssuer(o.Keys)
			if err != nil {
				return nil, err
			}
			return dial(&Given{URL: o.URL, Issuer: keys}, r, log)
		},
	}
	defer d.close()
	if err := d.connect(); err != nil {
		return err
	}
	d.playAll(ctx, share{o.From, o.Step, o.Resume}, o.Asks, o.Open)
	return failed
}
