package operator

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/server/rights"
)

// fakeCluster is a cluster whose server gets ready at a poll.
type fakeCluster struct {
	note    *string // as written last; nil: never
	polls   int
	readyAt int // the poll from which a server is ready; 0: never
}

func (c *fakeCluster) Write(_ context.Context, _ string, _ map[string]string, data map[string][]byte) error {
	text := string(data[rights.LedgerNote])
	c.note = &text
	return nil
}

func (c *fakeCluster) Ready(context.Context, string) (bool, error) {
	c.polls++
	return c.readyAt > 0 && c.polls >= c.readyAt, nil
}

func TestTheKeysSayWhichServersHaveTheLedger(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		held    string
		leave   []string
		readyAt int
		want    string // written; "-": nothing
		said    string
	}{
		"the first installation":    {"", nil, 3, "askbus-nats", ""},
		"a server that never comes": {"", nil, 0, "-", "not ready yet"},
		"the next run":              {"askbus-nats", nil, 1, "-", ""},
		"another shape":             {"askbus", nil, 1, "-", "persistence.leave={data-askbus-0}"},
		"another shape, allowed":    {"askbus", []string{"data-askbus-0"}, 2, "askbus-nats", ""},
		"another claim allowed":     {"askbus", []string{"data-x-0"}, 2, "-", "persistence.leave={data-askbus-0}"},
		"allowed, and not ready":    {"askbus", []string{"data-askbus-0"}, 0, "", "not ready yet"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := &fakeCluster{readyAt: c.readyAt}
				var said strings.Builder
				a := &cli.App{Stderr: &said}
				n := newLedgerNote(api, "askbus-keys", map[string][]byte{rights.LedgerNote: []byte(c.held)}, "askbus-nats", c.leave)
				if err := n.clear(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := n.write(t.Context(), a); err != nil {
					t.Fatal(err)
				}
				got := "-"
				if api.note != nil {
					got = *api.note
				}
				if got != c.want || c.said != "" && !strings.Contains(said.String(), c.said) {
					t.Errorf("wrote %q, want %q; said %q", got, c.want, said.String())
				}
			})
		})
	}
}
