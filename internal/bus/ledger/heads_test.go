package ledger_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/bus/ledger"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
)

// A list of heads has no bodies; after its mark there is nothing until
// something is stored; a mark of another ledger gives a full list.
func TestHeadsAndWhatChangedSince(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c, err := client.New(b.Agent("acme", "s1"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	s, led := c.Session("acme", "s1"), b.Ledger()
	put := func(id string) {
		t.Helper()
		a := ask.Ask{ID: id, Context: strings.Repeat("x", 5000), Audience: []string{"group:a"}, Questions: []ask.Question{{Text: "\x1bHow many of " + strings.Repeat("them ", 100)}}}
		if _, err := s.Ask(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	heads := func(since string) ([]wire.ListItem, wire.Mark) {
		t.Helper()
		q := wire.Query{Heads: true, Since: since, Limit: 100}
		if since == "" {
			q.State = "pending"
		}
		items, next, mark, err := led.Heads(t.Context(), q)
		if err != nil || next != "" {
			t.Fatal(next, err)
		}
		return items, mark
	}
	put("a1")
	put("a2")
	items, mark := heads("")
	if len(items) != 2 || !mark.Full || mark.At == "" {
		t.Fatalf("%+v %+v", items, mark)
	}
	var a ask.Ask
	if err := json.Unmarshal(items[0].RawAsk, &a); err != nil || a.Context != "" || len(a.Questions) != 0 || len([]rune(a.Title)) != wire.MaxHeading || !strings.HasPrefix(a.Title, "How many") || len(a.Audience) != 1 || a.Deadline.IsZero() {
		t.Errorf("a head is %s, %v", items[0].RawAsk, err)
	}
	if items, again := heads(mark.At); len(items) != 0 || again.Full || again.At != mark.At {
		t.Errorf("nothing changed: %+v %+v", items, again)
	}
	if _, err := s.Withdraw(t.Context(), "a1", ""); err != nil {
		t.Fatal(err)
	}
	put("a3")
	items, _ = heads(mark.At)
	if len(items) != 2 || items[0].Record.State != ask.StateResolved || items[0].Record.Ask.ID != "a1" || items[1].Record.Ask.ID != "a3" {
		t.Errorf("changed: %+v", items)
	}
	for _, foreign := range []string{"nonsense", "enp6enouenp6enp6Lnp6enp6enouenp6enp6eg"} {
		if items, mark := heads(foreign); len(items) != 2 || !mark.Full {
			t.Errorf("since %s: %d items, %+v", foreign, len(items), mark)
		}
	}
}

// A page of heads has what a bounded number of bytes in the store says, however
// short the heads are; all pages together have each ask once.
func TestAPageOfHeadsReadsABoundedNumberOfBytes(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{})
	const n, each = 60, 3 * ask.MaxLong // together 11 MiB
	for i := range n {
		b.store(t, key(fmt.Sprintf("s%d", i%7), fmt.Sprintf("a%02d", i)), func(a *ask.Ask) {
			a.Context = strings.Repeat("x", ask.MaxLong)
			for j := range 2 {
				a.Questions[0].Options[j].Preview = &ask.Preview{Body: a.Context}
			}
		})
	}
	seen := map[string]bool{}
	pages, page := 0, ""
	for q := (wire.Query{Heads: true, Limit: wire.MaxPage}); ; pages++ {
		if pages == 2 {
			page = q.Cursor
		}
		items, next, _, err := b.led.Heads(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(items)*each > 6<<20 {
			t.Errorf("a page has the heads of %d asks of %d bytes", len(items), each)
		}
		for i := range items {
			seen[items[i].Record.Ask.ID] = true
		}
		if q.Cursor, q.State = next, string(ask.StatePending); next == "" {
			break
		}
	}
	if len(seen) != n {
		t.Errorf("%d asks of %d", len(seen), n)
	}
	// Pages after the first have readers, which keep what a page has no room for:
	// reading large asks one by one for each page took a hundred times as long.
	if _, next, err := b.led.List(t.Context(), wire.Query{State: string(ask.StatePending), Limit: wire.MaxPage, Cursor: page}); err != nil || b.led.ReadersKept() == 0 {
		t.Errorf("no readers are kept for %s: %v", next, err)
	}
}
