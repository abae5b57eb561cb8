package board_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
)

func TestASnoozeHidesAnAskFromOnePersonOnly(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c := agent(t, b, "acme", "s1")
	ask1(t, c, "a1")
	ask1(t, c, "a2")
	br := run(t, surface(t, b, responder.Options{}), board.Options{})
	mei, tom := board.Viewer{By: ask.By{Principal: "os:mei"}}, board.Viewer{By: ask.By{Principal: "os:tom"}}
	shown := func(v board.Viewer) string {
		t.Helper()
		off, err := br.Snoozed(t.Context(), v)
		if err != nil {
			t.Fatal(err)
		}
		return headings(br, board.Filter{Viewer: v, Without: off})
	}
	if err := br.Snooze(t.Context(), mei, key("a1"), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if m, o := shown(mei), shown(tom); m != "a2" || o != "a1 a2" {
		t.Errorf("Mei sees %q, Tom %q", m, o)
	}
	if err := br.Snooze(t.Context(), mei, key("a1"), time.Time{}); err != nil || shown(mei) != "a1 a2" {
		t.Errorf("taken back: %q, %v", shown(mei), err)
	}
	if err := br.Snooze(t.Context(), mei, key("nobody"), time.Now().Add(time.Hour)); !errors.Is(err, ask.ErrNotFound) {
		t.Error(err)
	}
}

func TestSnoozesAreBounded(t *testing.T) {
	t.Parallel()
	var b board.Board
	put := func(i int, until time.Time) error {
		return b.PutOff(t.Context(), ask.By{Principal: "os:mei"}, key(fmt.Sprint("a", i)), until)
	}
	for i := range 2000 { // they end at once
		if err := put(i, time.Now().Add(-time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1000 {
		if err := put(i, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if err := put(1000, time.Now().Add(time.Hour)); !errors.Is(err, ask.ErrQuota) {
		t.Errorf("one too many: %v", err)
	}
	if n := b.PutOffBy("os:mei"); n != 1000 {
		t.Error(n)
	}
}

func TestASnoozeHoldsOnEverySurface(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c := agent(t, b, "acme", "s1")
	ask1(t, c, "a1")
	ask1(t, c, "a2")
	mei := board.Viewer{By: ask.By{Principal: "os:mei"}}
	on := func(role rights.Role) *board.Board {
		r, err := responder.New(b.Connect(role), role.Type, responder.Options{Tenant: role.Tenant, Logger: natstest.Logger()})
		if err != nil {
			t.Fatal(err)
		}
		return run(t, r, board.Options{Shared: true})
	}
	web, tui := on(rights.Role{Name: rights.RoleResponder, Type: "web"}), on(rights.Role{Name: rights.RoleResponder, Type: "tui", Tenant: "acme"})
	shown := func(br *board.Board) string {
		t.Helper()
		off, err := br.Snoozed(t.Context(), mei)
		if err != nil {
			t.Fatal(err)
		}
		return headings(br, board.Filter{Viewer: mei, Without: off})
	}
	changed, stop := tui.Changes(board.Filter{Viewer: mei})
	defer stop()
	drain(changed)
	if err := web.Snooze(t.Context(), mei, key("a1"), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	<-changed
	if w, u := shown(web), shown(tui); w != "a2" || u != "a2" {
		t.Errorf("the web shows %q, the terminal %q", w, u)
	}
	// A board that starts later leaves it out as well.
	late := on(rights.Role{Name: rights.RoleResponder, Type: "web"})
	natstest.Eventually(t, "a new replica leaves it out", func() bool { return shown(late) == "a2" })
	if err := tui.Snooze(t.Context(), mei, key("a1"), time.Time{}); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "it is back everywhere", func() bool { return shown(web) == "a1 a2" && shown(late) == "a1 a2" })
	drain(changed)
	if err := web.Snooze(t.Context(), mei, key("a2"), time.Now().Add(5*time.Second)); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "it is put off", func() bool { return shown(tui) == "a1" })
	drain(changed)
	<-changed // it comes back by itself, and the terminal is signalled
	natstest.Eventually(t, "it is back", func() bool { return shown(tui) == "a1 a2" })
}

func drain(c <-chan struct{}) {
	select {
	case <-c:
	default:
	}
}

func TestAnAskIsNotPutOffPastItsDeadline(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c := agent(t, b, "acme", "s1")
	for id, timeout := range map[string]time.Duration{"soon": time.Minute, "hour": time.Hour} {
		a := question(id)
		a.Timeout = timeout
		if _, err := c.Ask(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	br := run(t, surface(t, b, responder.Options{}), board.Options{})
	mei := board.Viewer{By: ask.By{Principal: "os:mei"}}
	if err := br.Snooze(t.Context(), mei, key("soon"), time.Now().Add(time.Hour)); !errors.Is(err, ask.ErrInvalid) {
		t.Errorf("an ask that ends in a minute: %v", err)
	}
	if err := br.Snooze(t.Context(), mei, key("hour"), time.Now().Add(24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	off, err := br.Snoozed(t.Context(), mei)
	if until := time.Until(off[key("hour")]); err != nil || until > 58*time.Minute {
		t.Errorf("put off for %s, %v", until, err)
	}
}
