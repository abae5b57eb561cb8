package ledger

import "testing"

// MakeToken returns the token that w gives a desk for an ack subject.
func MakeToken(t testing.TB, w *Work, d Desk, ack string) string {
	t.Helper()
	k, err := w.tokens.of(t.Context(), w.l, true)
	if err != nil {
		t.Fatal(err)
	}
	return k.make(d, ack)
}
