package ledger

import (
	"context"
	"errors"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The streams of files and shared state may use a share of the ledger's budget, each so little that asks need not know
// of it: see [Ledger.Room]. A broker that makes them chooses it. No broker may change a stream, so another budget later
// needs [SetShares], as the audit's size needs [SetAudit].
const (
	defaultFileBudget  = 4 << 30
	minFileBudget      = 1 << 20
	defaultStateBudget = 64 << 20
	minStateBudget     = 1 << 20
)

// share returns how many bytes files or shared state may use of a budget; 0: unknown.
func share(stream string, budget int64) int64 {
	least, most, part := int64(minFileBudget), int64(defaultFileBudget), budget/5
	if stream == subject.StateStream {
		least, most, part = minStateBudget, defaultStateBudget, budget/32
	}
	if budget <= 0 {
		return most
	}
	return max(least, min(most, part))
}

// Shares are how many bytes may be used beside the asks; 0: there is no such stream.
type Shares struct {
	Files int64 `json:"files"`
	State int64 `json:"state"`
}

// SetShares gives files and shared state what a new ledger with this budget would, over a connection that may update
// streams. It takes away nothing that they need: each keeps twice what it holds. It returns what they have then; 0 as
// budget changes nothing.
func SetShares(ctx context.Context, nc *nats.Conn, budget int64) (Shares, error) {
	var got Shares
	for name, bytes := range map[string]*int64{subject.FileStream: &got.Files, subject.StateStream: &got.State} {
		js, s, err := streamOver(ctx, nc, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue // the next broker makes it
		}
		if err != nil {
			return got, err
		}
		info := s.CachedInfo()
		cfg := info.Config
		if budget > 0 {
			cfg.MaxBytes = max(share(name, budget), min(cfg.MaxBytes, 2*int64(info.State.Bytes))) //nolint:gosec // bytes of a disk
			if err := update(ctx, js, cfg); err != nil {
				return got, err
			}
		}
		*bytes = cfg.MaxBytes
	}
	return got, nil
}
