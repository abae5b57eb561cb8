package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go/jetstream"
)

// What is stored of a tenant lies in the streams of asks, in that of files, in that
// of shared state under its name, and as API tokens and the consumers of surfaces
// that serve it alone. The audit keeps its records.

const (
	tenantEntries = 1_000           // entries of a bucket that are read at a time
	tenantTokens  = 200             // likewise, of API tokens
	retireAfter   = 2 * time.Second // an unused consumer of a removed tenant is then deleted by its server
)

// HoldsTenant counts what is stored of a tenant.
func (l *Ledger) HoldsTenant(ctx context.Context, tenant string) (h wire.Holdings, err error) {
	for p := range l.n {
		for _, of := range []struct {
			kind string
			sum  *int
		}{{subject.Question, &h.Pending}, {subject.Outcome, &h.Ended}} {
			n, err := l.count(ctx, subject.Stream(p), subject.LedgerAll(p, subject.Key{Tenant: tenant}, of.kind))
			if err != nil {
				return h, err
			}
			*of.sum += n
		}
		consumers, err := l.tenantConsumers(ctx, p, tenant)
		if err != nil {
			return h, err
		}
		h.Consumers += len(consumers)
	}
	if h.Files, err = l.count(ctx, subject.FileStream, subject.FileHeads(tenant)); err != nil {
		return h, err
	}
	for _, b := range subject.Buckets() {
		n := 0
		if err := l.entriesOf(ctx, b.Name, tenant, func(message, subject.StateKey) error { n++; return nil }); err != nil {
			return h, err
		}
		switch {
		case n == 0:
		case subject.OutlivesTenant(b.Name):
			h.Kept = with(h.Kept, b.Name, n)
		default:
			h.Entries = with(h.Entries, b.Name, n)
		}
	}
	return h, l.tokensOf(ctx, tenant, func(StateEntry) error { h.Tokens++; return nil })
}

func with(counts map[string]int, name string, n int) map[string]int {
	if counts == nil {
		counts = map[string]int{}
	}
	counts[name] = n
	return counts
}

// Missing returns the names of the ledger's streams that do not exist. Open made them all, so somebody deleted these.
func (l *Ledger) Missing(ctx context.Context) (names []string) {
	for _, name := range l.streams() {
		if _, err := l.info(ctx, name); codeIs(err, codeStreamNotFound) {
			names = append(names, name)
		}
	}
	return names
}

// Ends are the last sequences of the streams of a ledger, by name.
type Ends map[string]uint64

// Ends reads the last sequences of all streams but the audit's.
func (l *Ledger) Ends(ctx context.Context) (Ends, error) {
	ends := Ends{}
	for _, name := range l.streams() {
		last, err := l.lastSequence(ctx, name)
		if err != nil {
			return nil, err
		}
		ends[name] = last
	}
	return ends, nil
}

// DeleteTenant deletes what was stored of a tenant up to the ends, also what is
// pending, and returns how much it found. Repeating it is harmless.
func (l *Ledger) DeleteTenant(ctx context.Context, tenant string, upTo Ends) (found int, err error) {
	purge := func(stream, filter string) error {
		n, err := l.purge(ctx, stream, filter, upTo[stream])
		found += n
		if err != nil {
			return fmt.Errorf("ledger: delete %s: %w", filter, err)
		}
		return nil
	}
	for p := range l.n {
		if err := purge(subject.Stream(p), subject.LedgerTenant(p, tenant)); err != nil {
			return found, err
		}
		if err := l.retire(ctx, p, tenant); err != nil {
			return found, err
		}
	}
	if err := purge(subject.FileStream, subject.FileAny(ask.Session{Tenant: tenant}, "")); err != nil {
		return found, err
	}
	remove := func(bucket string, k subject.StateKey, seq uint64) error {
		if seq > upTo[subject.StateStream] {
			return nil
		}
		found++
		_, err := l.WriteState(ctx, &StateWrite{Bucket: bucket, Key: k, Expect: &seq}, l.Now())
		if IsRace(err) {
			return nil // it was written again; the next run deletes it
		}
		return err
	}
	for _, b := range subject.Buckets() {
		if subject.OutlivesTenant(b.Name) {
			continue
		}
		if err := l.entriesOf(ctx, b.Name, tenant, func(m message, k subject.StateKey) error { return remove(b.Name, k, m.Seq) }); err != nil {
			return found, err
		}
	}
	err = l.tokensOf(ctx, tenant, func(e StateEntry) error {
		if err := remove(subject.BucketTokens, e.Key, e.Revision); err != nil {
			return err
		}
		used, err := l.ReadState(ctx, subject.BucketTokenUses, e.Key)
		if err != nil || !used.Live(l.Now()) {
			return err
		}
		return remove(subject.BucketTokenUses, e.Key, used.Revision)
	})
	return found, err
}

// entriesOf calls do for each entry of a bucket that lies under a tenant's name,
// without its value.
func (l *Ledger) entriesOf(ctx context.Context, bucket, tenant string, do func(message, subject.StateKey) error) error {
	filter := subject.LedgerStateAll(bucket, tenant, false)
	if n, err := l.CountState(ctx, filter); err != nil || n == 0 {
		return err
	}
	return l.eachHeader(ctx, subject.StateStream, filter, 1, tenantEntries, func(m message) error {
		_, k, ok := subject.ParseStateEntry(m.Subject)
		if !ok || m.Header.Get(hdrOperation) == opDelete {
			return nil
		}
		return do(m, k)
	})
}

// tokensOf calls do for each API token of a tenant: its value says whose it is.
func (l *Ledger) tokensOf(ctx context.Context, tenant string, do func(StateEntry) error) error {
	for after, more := uint64(0), true; more; {
		var entries []StateEntry
		var err error
		if entries, more, err = l.StateChanges(ctx, subject.LedgerStateAll(subject.BucketTokens, "", false), after, tenantTokens); err != nil {
			return err
		}
		for i := range entries {
			after = entries[i].Revision
			var of struct {
				Tenant string `json:"tenant"`
			}
			if entries[i].Deleted || json.Unmarshal(entries[i].Value, &of) != nil || of.Tenant != tenant {
				continue
			}
			if err := do(entries[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// tenantConsumers returns the durable consumers of a partition that serve a tenant
// alone, and that are not retired.
func (l *Ledger) tenantConsumers(ctx context.Context, p int, tenant string) (found []jetstream.ConsumerConfig, err error) {
	s, err := l.stream(ctx, subject.Stream(p))
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	list := s.ListConsumers(ctx)
	for info := range list.Info() {
		if g, _, ok := parseConsumer(info.Config.Durable); ok && g.Tenant == tenant && info.Config.InactiveThreshold != retireAfter {
			found = append(found, info.Config)
		}
	}
	if err := list.Err(); err != nil {
		return nil, fmt.Errorf("ledger: list consumers: %w", err)
	}
	return found, nil
}

// retire makes the server delete the consumers of a tenant as soon as nobody uses
// them. A broker may not delete a consumer itself.
func (l *Ledger) retire(ctx context.Context, p int, tenant string) error {
	consumers, err := l.tenantConsumers(ctx, p, tenant)
	if err != nil {
		return err
	}
	for i := range consumers {
		consumers[i].InactiveThreshold = retireAfter
		if _, err := l.js.UpdateConsumer(ctx, subject.Stream(p), consumers[i]); err != nil && !errors.Is(err, jetstream.ErrConsumerDoesNotExist) {
			return fmt.Errorf("ledger: retire consumer %s: %w", consumers[i].Durable, err)
		}
	}
	return nil
}
