package bench_test

import (
	"context"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/lab/bench"
	"github.com/askbus/askbus/internal/testkit/waittest"
)

// Everybody answers each ask at once, in every chat, the browser and a terminal: each has one outcome, which every card
// shows, and no button is left. While all platforms are away the asks end elsewhere, and afterwards every card says so.
func TestAllChatsRaceAndRecover(t *testing.T) {
	t.Parallel()
	bed, err := bench.Embedded(t.Context(), bench.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bed.Close)
	const asks = 12
	ctx, cancel := context.WithTimeout(t.Context(), 3*waittest.Limit) // two dozen rounds
	defer cancel()
	c, err := bed.Chats(ctx, bench.ChatsOptions{Asks: asks, Cards: 6, Outage: 5 * time.Minute, Speed: 60, Presented: 4})
	if err != nil {
		t.Fatalf("%v: %+v", err, c)
	}
	if err := c.Race.Err(); err != nil || c.Race.Surfaces != 9 || c.Race.Presses != 9*asks {
		t.Errorf("%v: %+v", err, c.Race)
	}
	if len(c.Recovery) != 7 || len(c.Presented) != 21 {
		t.Errorf("%d recoveries, %d rates", len(c.Recovery), len(c.Presented))
	}
	for _, r := range c.Recovery {
		if r.Calls == 0 {
			t.Errorf("%s made no call while it was away", r.Chat)
		}
	}
	t.Logf("%+v", c)
}
