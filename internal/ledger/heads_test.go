package ledger_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/natstest"
	"github.com/askbus/askbus/internal/wire"
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
