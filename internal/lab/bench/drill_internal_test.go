package bench

import (
	"slices"
	"testing"

	"github.com/askbus/askbus/internal/lab/fakeslack"
)

// A report that says only how many cards were doubled does not lead to the log lines of the replicas
// that posted them.
func TestADrillNamesTheCardsThatWerePostedTwice(t *testing.T) {
	t.Parallel()
	card := func(ts, ask, key string) fakeslack.Message {
		return fakeslack.Message{Place: fakeslack.Place{Channel: drillChannel, TS: ts}, Metadata: map[string]any{"event_payload": map[string]any{"ask": ask, "key": key}}}
	}
	got := twice([]fakeslack.Message{
		card("1700000000.000001", "chat/s/d1", "k1"), card("1700000001.000002", "chat/s/d2", "k2"),
		card("1700000060.000003", "chat/s/d1", "k1"), card("1700000061.000004", "chat/s/d1", "k1"),
	})
	if want := []string{"chat/s/d1 k1 was posted at 22:13:20, 22:14:20, 22:14:21"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := twice([]fakeslack.Message{card("1700000000.000001", "chat/s/d1", "k1"), card("1700000001.000002", "chat/s/d2", "k2")}); got != nil {
		t.Errorf("%q for two cards of two asks", got)
	}
}
