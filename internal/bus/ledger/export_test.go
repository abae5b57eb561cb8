package ledger

import (
	"context"
	"testing"
)

// Everything reads a stream as a backup does, and tells the subject of each
// message.
func (l *Ledger) Everything(ctx context.Context, stream string, take func(subject string) error) error {
	return l.everything(ctx, stream, func(m message) error { return take(m.Subject) })
}

// Servers returns how many servers said what they may store.
func (l *Ledger) Servers() int {
	l.limits.mu.Lock()
	defer l.limits.mu.Unlock()
	return len(l.limits.byServer)
}

// ReadersKept returns how many readers are kept for pages that may follow.
func (l *Ledger) ReadersKept() int {
	l.readers.mu.Lock()
	defer l.readers.mu.Unlock()
	return len(l.readers.kept)
}

// MakeToken returns the token that w gives a group for an ack subject.
func MakeToken(t testing.TB, w *Work, g Group, ack string) string {
	t.Helper()
	k, err := w.tokens.of(t.Context(), w.l, true)
	if err != nil {
		t.Fatal(err)
	}
	return k.make(g, ack)
}

// Alone reports whether a single server holds everything.
func (l *Ledger) Alone() bool { return l.alone }
