package ledger

import "testing"

// MakeToken returns the token that w gives a group for an ack subject.
func MakeToken(t testing.TB, w *Work, g Group, ack string) string {
	t.Helper()
	k, err := w.tokens.of(t.Context(), w.l, true)
	if err != nil {
		t.Fatal(err)
	}
	return k.make(g, ack)
}
