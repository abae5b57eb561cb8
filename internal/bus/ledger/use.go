package ledger

import (
	"context"

	"github.com/askbus/askbus/internal/bus/quota"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
)

// Use returns how much a session uses, or a tenant if k has no session. A
// server does not report the bytes of a subject, so the size is estimated from
// the count and the mean size of all messages.
func (l *Ledger) Use(ctx context.Context, k ask.Key) (quota.Use, error) {
	first, last := 0, l.n-1
	if k.Session != "" {
		first, _ = l.place(k)
		last = first
	}
	var u quota.Use
	var messages, bytes int64
	for p := first; p <= last; p++ {
		pending, err := l.count(ctx, subject.Stream(p), subject.LedgerAll(p, k, subject.Question))
		if err != nil {
			return quota.Use{}, err
		}
		both, err := l.count(ctx, subject.Stream(p), subject.LedgerAll(p, k, "*"))
		if err != nil {
			return quota.Use{}, err
		}
		info, err := l.info(ctx, subject.Stream(p))
		if err != nil {
			return quota.Use{}, err
		}
		u.Pending += pending
		u.Messages += both
		messages += info.State.Messages
		bytes += info.State.Bytes
	}
	var err error
	if u.Files, err = l.fileBytes(ctx, k.InSession()); err != nil {
		return quota.Use{}, err
	}
	if messages > 0 {
		u.Mean = bytes / messages
	}
	return u, nil
}
