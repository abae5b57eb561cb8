package torture

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/natsd"
	"github.com/nats-io/nats.go"
)

// orders is what a party in a process of its own is told to do.
type orders struct {
	Start, End        time.Time
	Run               string
	Seed              uint64
	Longest           time.Duration
	Long              int
	From, Step        int
	Resume            []int  // scripts that a killed one had begun
	Name              string // in the history
	Asks, Open        int
	Retention, Margin time.Duration
	URL               string
	Keys              string // the directory whose keys sign
}

// Party plays scripts as ordered on in, and writes what it was told to out. It
// may be killed at any moment: another one asks the same again.
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
		shape: shape{run: o.Run, seed: o.Seed, longest: o.Longest, long: o.Long},
		dial: func(r natsd.Role) (*nats.Conn, error) {
			keys, err := natsd.LoadIssuer(o.Keys)
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
