package ledger

import (
	"context"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"golang.org/x/sync/errgroup"
)

// maxSince bounds the messages that a list since a mark reads, over all
// partitions; beyond it, reading the pending asks is faster.
const maxSince = 20_000

// Heads reads one page of heads. The first page has a mark: the last sequence
// of each partition before it was read. A list since a mark has what was asked
// and what ended after it, in the order of storing. It is a full list if the
// mark belongs to another ledger or too much happened since.
//
// So a screen that reconnects reads what changed, and nothing where the last
// sequences are the same; reading everything is 200 MB for 100,000 asks of 2 KB.
// An outcome can pass its retention unseen and a stream can be restored, so
// screens read everything again now and then.
func (l *Ledger) Heads(ctx context.Context, q wire.Query) ([]wire.ListItem, string, wire.Mark, error) {
	if q.Cursor != "" {
		items, next, err := l.List(ctx, q)
		return items, next, wire.Mark{}, err
	}
	ends, err := l.lastSequences(ctx)
	if err != nil {
		return nil, "", wire.Mark{}, err
	}
	mark := wire.Mark{At: formatCursor(ends), Full: true}
	at := make([]uint64, l.n)
	if since, ok := l.since(q.Since, ends); ok {
		mark.Full = false
		for p := range at {
			if at[p] = since[p] + 1; since[p] == ends[p] {
				at[p] = done
			}
		}
	} else {
		q.State = string(ask.StatePending)
	}
	items, next, err := l.list(ctx, q, at)
	return items, next, mark, err
}

// since parses a mark. ok is false if everything must be read.
func (l *Ledger) since(mark string, ends []uint64) ([]uint64, bool) {
	if mark == "" {
		return nil, false
	}
	at, err := l.parseCursor(mark)
	if err != nil {
		return nil, false
	}
	behind := uint64(0)
	for p := range at {
		if at[p] > ends[p] {
			return nil, false
		}
		behind += ends[p] - at[p]
	}
	return at, behind <= maxSince
}

// lastSequences returns the last sequences of the streams, from their leaders.
func (l *Ledger) lastSequences(ctx context.Context) ([]uint64, error) {
	last := make([]uint64, l.n)
	g, gctx := errgroup.WithContext(ctx)
	for p := range last {
		g.Go(func() error {
			var err error
			if last[p], err = l.lastSequence(gctx, subject.Stream(p)); err != nil {
				return err
			}
			return l.confirmLeader(gctx, p)
		})
	}
	return last, g.Wait()
}

// lastSequence returns the last sequence of a stream, from its leader.
func (l *Ledger) lastSequence(ctx context.Context, stream string) (uint64, error) {
	info, err := l.info(ctx, stream)
	return info.State.Last, err
}
