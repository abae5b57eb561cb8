package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/backoff"
	"github.com/askbus/askbus/internal/ledger"
	"github.com/askbus/askbus/pkg/ask"
)

// Backlog is what waits for a responder type's replicas.
type Backlog = ledger.Backlog

// MaxTypes is how many responder types a broker can be told to prepare.
const MaxTypes = 64

// backlogAge is how old the figures may be: many may ask for them.
const backlogAge = time.Second

// backlog remembers the figures for a moment, and reads them for one at a time.
type backlog struct {
	mu   sync.Mutex
	read time.Time
	last map[string]Backlog
}

// Backlog tells for each responder type how much waits for its replicas. The
// types of [Options.Types] are always among them.
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
		}
	}
	f.last, f.read = now, time.Now()
	return now, nil
}

// CheckTypes says what is wrong with the types that a broker is to prepare.
func CheckTypes(types []string) error {
	if len(types) > MaxTypes {
		return fmt.Errorf("%d responder types; prepare at most %d", len(types), MaxTypes)
	}
	for _, typ := range types {
		if !ask.ValidToken(typ) {
			return fmt.Errorf("invalid responder type %q: use A-Z a-z 0-9 _ -", typ)
		}
	}
	return nil
}

// prepare makes the consumers of the types that are known beforehand, so that
// what is asked while a type has no replicas counts as its backlog.
func (b *Broker) prepare(ctx context.Context) {
	left := slices.Clone(b.opts.Types)
	for try := 0; len(left) > 0; try++ {
		left = slices.DeleteFunc(left, func(typ string) bool {
			one, cancel := context.WithTimeout(ctx, b.opts.Limit)
			defer cancel()
			err := b.work.Prepare(one, typ)
			if err != nil && ctx.Err() == nil {
				b.opts.Logger.WarnContext(ctx, "cannot make the consumers of a responder type", slog.String("responder", typ), slog.Any("error", err))
			}
			// A refusal stays one: tenants serve the type, each with consumers of its own.
			refused, ok := errors.AsType[*ask.Error](err)
			return err == nil || ok && refused.Code == ask.CodeForbidden
		})
		if len(left) > 0 && backoff.Wait(ctx, time.Second, min(try, 5)) != nil {
			return
		}
	}
}
