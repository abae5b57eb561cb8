package board_test

import (
	"context"
	"sync"
	"testing"

	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
)

func TestOthersSeeWhoIsAtAnAsk(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	ask1(t, agent(t, b, "acme", "s1"), "a1")
	of := func(role rights.Role) *board.Board {
		r, err := responder.New(b.Connect(role), role.Type, responder.Options{Tenant: role.Tenant, Logger: natstest.Logger()})
		if err != nil {
			t.Fatal(err)
		}
		return run(t, r, board.Options{})
	}
	tui := of(rights.Role{Name: rights.RoleResponder, Type: "tui", Tenant: "acme"})
	web := of(rights.Role{Name: rights.RoleResponder, Type: "web"})
	ctx, cancel := context.WithCancel(t.Context())
	var at sync.WaitGroup
	at.Go(func() {
		if err := tui.Attend(ctx, board.Viewer{By: ask.By{Principal: "os:mei", Name: "Mei\x1b[31m"}}, key("a1"), true); err != nil {
			t.Error(err)
		}
	})
	natstest.Eventually(t, "the web sees Mei", func() bool { return len(web.Attending(key("a1"))) == 1 })
	if a := web.Attending(key("a1"))[0]; a.Principal != "os:mei" || a.Name != "Mei" || !a.Answering || a.Responder != "tui" {
		t.Errorf("it sees %+v", a)
	}
	if err := web.Look(board.Viewer{By: ask.By{Principal: "os:mei"}}, key("a1"), false); err != nil {
		t.Fatal(err)
	}
	if a := web.Attending(key("a1")); len(a) != 1 || !a[0].Answering {
		t.Errorf("another screen of Mei's hides that she is answering: %+v", a)
	}
	cancel()
	at.Wait()
	natstest.Eventually(t, "Mei has left", func() bool { return len(web.Attending(key("a1"))) == 0 })
}

// Attention comes on another subject than the ask: it may be there first, and counts all the same.
func TestAttentionMayComeBeforeItsAsk(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	asks := agent(t, b, "acme", "s1")
	ask1(t, asks, "a1")
	of := func(typ string) *board.Board {
		r, err := responder.New(b.Connect(rights.Role{Name: rights.RoleResponder, Type: typ}), typ, responder.Options{Logger: natstest.Logger()})
		if err != nil {
			t.Fatal(err)
		}
		return run(t, r, board.Options{})
	}
	tui, web := of("tui"), of("web")
	mei := board.Viewer{By: ask.By{Principal: "os:mei", Name: "Mei"}}
	for _, id := range []string{"a2", "a1"} { // of one publisher: when the second is there, the first one was
		if err := tui.Look(mei, key(id), false); err != nil {
			t.Fatal(err)
		}
	}
	natstest.Eventually(t, "the web sees Mei", func() bool { return len(web.Attending(key("a1"))) == 1 })
	if n := len(web.Attending(key("a2"))); n != 0 {
		t.Fatalf("%d people are at an ask that nobody asked", n)
	}
	ask1(t, asks, "a2")
	natstest.Eventually(t, "the web sees Mei at the ask that came later", func() bool { return len(web.Attending(key("a2"))) == 1 })
	if h, ok := web.Take(t.Context(), board.Viewer{By: ask.By{Principal: "os:tom"}}, board.Filter{}, board.Turn{}); ok {
		t.Errorf("Tom is given %s, which Mei reads", h.Key)
	}
}
