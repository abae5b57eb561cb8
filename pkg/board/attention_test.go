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
	cancel()
	at.Wait()
	natstest.Eventually(t, "Mei has left", func() bool { return len(web.Attending(key("a1"))) == 0 })
}
