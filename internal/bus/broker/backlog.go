package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/pkg/ask"
)

// Backlog counts the work that waits for a responder type's replicas.
type Backlog = ledger.Backlog

// maxTypes is the maximum number of responder types to prepare.
const maxTypes = 64

// backlogAge is the maximum age of the figures, so that many clients can poll
// them.
const backlogAge = time.Second

// backlog caches the figures and reads them for one caller at a time.
type backlog struct {
	mu   sync.Mutex
	read time.Time
	last map[string]Backlog
}

// Backlog returns the work that waits for each responder type's replicas. It
// always includes the types of [Options.Types].
func (b *Broker) Backlog(ctx context.Context) (map[string]Backlog, error) {
	f := &b.backlog
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last != nil && time.Since(f.read) < backlogAge {
		return f.last, nil
	}
	now, err := b.work.Backlog(ctx)
	if err != nil {
		return nil, err
	}
	for _, typ := range b.opts.Types {
		if _, ok := now[typ]; !ok {
			now[typ] = Backlog{}
			select {
			case b.unprepared <- struct{}{}:
			default:
			}
		}
	}
	f.last, f.read = now, time.Now()
	return now, nil
}

// CheckTypes returns an error if the types, each TYPE or TYPE@TENANT, cannot be prepared.
func CheckTypes(types []string) error {
	if len(types) > maxTypes {
		return fmt.Errorf("%d responder types; prepare at most %d", len(types), maxTypes)
	}
	for _, typ := range types {
		if _, ok := ledger.ParseGroup(typ); !ok {
			return fmt.Errorf("invalid responder type %q: use A-Z a-z 0-9 _ -, and TYPE@TENANT for one tenant's", typ)
		}
	}
	return nil
}

// prepare creates the consumers of the types known beforehand, so that asks
// count as a type's backlog while it has no replicas: at the start, and when
// [Broker.Backlog] misses some, because the server removes unused ones.
func (b *Broker) prepare(ctx context.Context) {
	for types := b.opts.Types; ; {
		types = b.prepared(ctx, types)
		select {
		case <-b.unprepared:
		case <-ctx.Done():
			return
		}
	}
}

// prepared creates the consumers of types, and returns the types that have some.
func (b *Broker) prepared(ctx context.Context, types []string) (made []string) {
	left := slices.Clone(types)
	for try := 0; len(left) > 0; try++ {
		left = slices.DeleteFunc(left, func(typ string) bool {
			one, cancel := context.WithTimeout(ctx, b.opts.Limit)
			defer cancel()
			g, _ := ledger.ParseGroup(typ) // CheckTypes did
			err := b.work.Prepare(one, g)
			if err == nil {
				made = append(made, typ)
				return true
			}
			if ctx.Err() == nil {
				b.opts.Logger.WarnContext(ctx, "cannot make the consumers of a responder type", slog.String("responder", typ), slog.Any("error", err))
			}
			// A refusal is final: tenants serve the type, each with its own
			// consumers.
			refused, ok := errors.AsType[*ask.Error](err)
			return ok && refused.Code == ask.CodeForbidden
		})
		if len(left) > 0 && backoff.Wait(ctx, time.Second, min(try, 5)) != nil {
			break
		}
	}
	return made
}
