package slack_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
)

// A card says who looks at its ask elsewhere, while they do: whoever reads the channel goes on to another one.
func TestACardSaysWhoLooksElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	w.start(true, nil)
	w.start(true, nil) // one of two replicas edits the card
	k := w.ask(ask.Ask{ID: "a1"})
	w.posted("a1")
	screen, err := responder.New(w.bus.Connect(rights.Role{Name: rights.RoleResponder, Type: "tui", Tenant: "acme"}), "tui", responder.Options{Tenant: "acme", Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	br := board.New(screen, board.Options{})
	ctx, leave := context.WithCancel(t.Context())
	var at sync.WaitGroup
	t.Cleanup(at.Wait)
	at.Go(func() { _ = br.Run(t.Context()) })
	natstest.Eventually(t, "the terminal has the ask", func() bool { return br.Status().Pending == 1 })
	tom := board.Viewer{By: ask.By{Principal: "os:tom", Name: "Tom <b> & Co"}}
	at.Go(func() {
		if err := br.Attend(ctx, tom, k, false); err != nil {
			t.Error(err)
		}
	})
	natstest.Eventually(t, "the card says that Tom looks", func() bool {
		m := w.card("a1")
		return strings.Contains(m.Shown(), ":eyes: Tom &lt;b&gt; &amp; Co is looking at this")
	})
	if m := w.card("a1"); !m.Live() {
		t.Error("nobody can answer the marked card")
	}
	before := w.fake.Count("chat.update")
	leave()
	natstest.Eventually(t, "the mark is gone", func() bool { m := w.card("a1"); return m.Edits == 2 })
	if n := w.fake.Count("chat.update") - before; n != 1 {
		t.Errorf("%d edits remove a mark", n)
	}
	if err := br.Look(tom, k, true); err != nil {
		t.Fatal(err)
	}
	if _, err := screen.Answer(t.Context(), k, ask.Reply{By: tom.By, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}}); err != nil {
		t.Fatal(err)
	}
	w.dead("a1")
}
