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

// MakeToken returns the token that w gives a group for an ack subject.
func MakeToken(t testing.TB, w *Work, g Group, ack string) string {
	t.Helper()
	k, err := w.tokens.of(t.Context(), w.l, true)
	if err != nil {
		t.Fatal(err)
	}
	return k.make(g, ack)
}
