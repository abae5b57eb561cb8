package ledger

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/pkg/ask"
)

// lease is for how long after it was heard of by most of its peers a leader is
// the only one: they wait 4 s for its heartbeats, one each second, before they
// choose another. Within it, what was seen holds for confirmedFor.
const (
	lease        = 2500 * time.Millisecond
	confirmedFor = 250 * time.Millisecond
)

// alone reports whether one server has everything: no other can know more.
func (l *Ledger) alone() bool { return l.copies == 1 && l.nc.ConnectedClusterName() == "" }

// confirmLeader says whether the leader of a partition may be believed that something is
// not there, after it was asked. One that was cut off from its peers goes on
// answering as if it still led, and does not know what was stored since.
func (l *Ledger) confirmLeader(ctx context.Context, p int) error {
	return l.confirmLeaderOf(ctx, subject.Stream(p), &l.confirmed[p])
}

// confirmLeaderOf says the same of the leader of any stream; seen is when it was seen to.
func (l *Ledger) confirmLeaderOf(ctx context.Context, stream string, seen *atomic.Int64) error {
	if l.alone() || time.Since(time.Unix(0, seen.Load())) < confirmedFor {
		return nil
	}
	var info struct {
		Cluster struct {
			Replicas []struct {
				Active time.Duration `json:"active"` // since it was heard of
			} `json:"replicas"`
		} `json:"cluster"`
	}
	began := time.Now()
	if err := l.api(ctx, "STREAM.INFO."+stream, nil, &info); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	peers := info.Cluster.Replicas
	heard := 1 // itself
	for _, peer := range peers {
		if peer.Active < lease {
			heard++
		}
	}
	if heard <= (len(peers)+1)/2 {
		return ask.Refuse(ask.CodeUnavailable, "the ledger's leader has heard of %d of its %d servers just now, so it cannot say what it does not know; try again", heard, len(peers)+1)
	}
	seen.Store(began.UnixNano())
	return nil
}
