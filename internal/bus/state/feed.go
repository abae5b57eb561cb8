package state

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/nats-io/nats.go"
)

// feed is the part of a bucket that a [Cache] uses.
type feed interface {
	// changes reads the writes after a revision (0: every entry), and the
	// revision that it has reached.
	changes(ctx context.Context, after uint64) (entries []Entry, revision uint64, err error)
	// subscribe returns live changes, and signals when some may have been
	// missed, until stop is called. again ends with an error, or closed.
	subscribe() (live <-chan Entry, again <-chan error, stop func(), err error)
}

// inboxSize bounds the changes that wait for a slow reader.
const inboxSize = 4096

// subscribe implements feed.
func (b *Bucket) subscribe() (<-chan Entry, <-chan error, func(), error) {
	inbox := make(chan *nats.Msg, inboxSize)
	sub, err := b.nc.ChanSubscribe(subject.OutState(b.name, b.role.tenant, b.role.tenant == ""), inbox)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("subscribe: %w", err)
	}
	status := b.nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	live, again, done := make(chan Entry), make(chan error, 1), make(chan struct{})
	var pump sync.WaitGroup
	pump.Go(func() {
		dropped, behind := 0, false
		look := time.NewTicker(time.Second) // a full inbox drops messages silently
		defer look.Stop()
		missed := func() {
			select {
			case again <- nil:
			default: // already signalled
			}
		}
		for {
			select {
			case <-done:
				return
			case s, ok := <-status:
				if !ok || s == nats.CLOSED {
					select {
					case again <- nats.ErrConnectionClosed:
					case <-done:
					}
					return
				}
				missed()
			case m := <-inbox:
				behind = behind || len(inbox) >= inboxSize-1
				if e, ok := entryIn(m); ok {
					select {
					case live <- e:
					case <-done:
						return
					}
				}
				if behind && len(inbox) == 0 {
					behind = false
					missed()
				}
			case <-look.C:
				if n, err := sub.Dropped(); err == nil && n > dropped {
					dropped = n
					missed()
				}
			}
		}
	})
	return live, again, func() {
		close(done)
		_ = sub.Unsubscribe() // the connection may be closed
		b.nc.RemoveStatusListener(status)
		pump.Wait()
	}, nil
}

// entryIn decodes a republished change.
func entryIn(m *nats.Msg) (Entry, bool) {
	_, k, ok := subject.ParseStateEntry(m.Subject)
	if !ok {
		return Entry{}, false
	}
	var e Entry
	if _, err := fmt.Sscan(m.Header.Get("Nats-Sequence"), &e.Revision); err != nil {
		return Entry{}, false
	}
	e.Key, e.Value = k, m.Data
	e.Deleted = m.Header.Get("KV-Operation") != ""
	e.Written, _ = time.Parse(time.RFC3339Nano, m.Header.Get("Nats-Time-Stamp"))
	if at := m.Header.Get("Askbus-Expires"); at != "" {
		var err error
		if e.Expires, err = time.Parse(time.RFC3339Nano, at); err != nil {
			return Entry{}, false
		}
	}
	return e, true
}
