package ledger

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
)

// lease is how long after contact with most of its peers a leader is certainly
// the only one: they wait 4 s for its heartbeats, sent each second, before they
// elect another. Within it, a confirmation holds for confirmedFor.
const (
	lease        = 2500 * time.Millisecond
	confirmedFor = 250 * time.Millisecond
)

// confirmLeader checks, after a read, that the leader of a partition can be
// trusted that something does not exist. A leader that was cut off from its
// peers continues to answer, and does not know what was stored since.
func (l *Ledger) confirmLeader(ctx context.Context, p int) error {
	return l.confirmLeaderOf(ctx, subject.Stream(p), &l.confirmed[p])
}

// confirmLeaderOf does the same for any stream; seen is when its leader was
// last confirmed.
func (l *Ledger) confirmLeaderOf(ctx context.Context, stream string, seen *atomic.Int64) error {
	if l.alone || time.Since(time.Unix(0, seen.Load())) < confirmedFor {
		return nil
	}
	began := time.Now()
	info, err := l.info(ctx, stream)
	if err != nil {
		return err
	}
	peers := info.Cluster.Replicas
	heard := 1 // itself
	for _, peer := range peers {
		if peer.Active < lease {
			heard++
		}
	}
	if heard <= (len(peers)+1)/2 {
		return ask.Refuse(ask.CodeUnavailable, "the ledger's leader is in contact with %d of its %d servers only, so its data may be old; try again", heard, len(peers)+1)
	}
	seen.Store(began.UnixNano())
	return nil
}
