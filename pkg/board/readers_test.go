package board_test

import (
	"fmt"
	"testing"

	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
)

// Who decided an ask in a chat reads the newest one of that channel next: others are offered the rest.
func TestOthersAreOfferedWhatNobodyReadsInAChat(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true})
	chat, err := responder.New(b.Connect(rights.Role{Name: rights.RoleResponder, Type: "slack"}), "slack", responder.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	br, c := run(t, surface(t, b, responder.Options{}), board.Options{}), agent(t, b, "acme", "s1")
	post := func(id, place string) {
		t.Helper()
		ask1(t, c, id)
		if err := board.PostedAt(chat, key(id), place); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		post(fmt.Sprint("a", i), "C1")
	}
	natstest.Eventually(t, "the asks are there", func() bool { return br.Status().Pending == 3 && br.Posting() == 3 })
	mei := ask.By{Principal: "slack:mei", Name: "Mei", Proof: "slack"}
	if _, err := chat.Answer(t.Context(), key("a0"), ask.Reply{By: mei, Answers: pick().Answers}); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "Mei decided", func() bool { return br.Status().Pending == 2 })
	tom := person("tom")
	if h, ok := br.Take(t.Context(), tom, board.Filter{}, board.Turn{}); !ok || h.Key.ID != "a1" {
		t.Fatalf("Tom is offered %v, %t; Mei reads a2", h.Key, ok)
	}
	if h, ok := br.Take(t.Context(), person("ann"), board.Filter{}, board.Turn{}); ok {
		t.Errorf("Ann is offered %v, and Mei and Tom read both", h.Key)
	}
	if n := len(br.Attending(key("a2"))); n != 0 {
		t.Errorf("%d people are shown at an ask that somebody is only expected to read", n)
	}
	if h, ok := br.Take(t.Context(), board.Viewer{By: mei}, board.Filter{}, board.Turn{}); !ok || h.Key.ID != "a2" {
		t.Errorf("Mei herself is offered %v, %t", h.Key, ok)
	}
}

// Somebody who does not do what is expected keeps an ask from nobody: it is offered again, and so are urgent ones at once.
func TestWhoLeftAChatIsNotExpectedForLong(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true})
	chat, err := responder.New(b.Connect(rights.Role{Name: rights.RoleResponder, Type: "slack"}), "slack", responder.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	br, c := run(t, surface(t, b, responder.Options{}), board.Options{}), agent(t, b, "acme", "s1")
	ask1(t, c, "a0")
	if err := board.PostedAt(chat, key("a0"), "C1"); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "the ask is there", func() bool { return br.Status().Pending == 1 && br.Posting() == 1 })
	if _, err := chat.Answer(t.Context(), key("a0"), ask.Reply{By: ask.By{Principal: "slack:mei", Proof: "slack"}, Answers: pick().Answers}); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "Mei decided", func() bool { return br.Status().Pending == 0 })
	ask1(t, c, "a1") // its card is not there yet
	natstest.Eventually(t, "the next is there", func() bool { return br.Status().Pending == 1 })
	tom := person("tom")
	if h, ok := br.Take(t.Context(), tom, board.Filter{}, board.Turn{}); ok {
		t.Fatalf("Tom is offered %v, which Mei is expected to read", h.Key)
	}
	urgent := question("a2")
	urgent.Priority = ask.PriorityUrgent
	if _, err := c.Ask(t.Context(), urgent); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "the urgent one is there", func() bool { return br.Status().Pending == 2 })
	if h, ok := br.Take(t.Context(), tom, board.Filter{}, board.Turn{}); !ok || h.Key.ID != "a2" {
		t.Errorf("Tom is offered %v, %t", h.Key, ok)
	}
	changed, stop := br.Changes(board.Filter{})
	defer stop()
	br.ReadersLeft()
	<-changed // a screen that waits is told
	if h, ok := br.Take(t.Context(), tom, board.Filter{Priority: ask.PriorityNormal}, board.Turn{}); !ok || h.Key.ID != "a1" {
		t.Errorf("after a while Tom is offered %v, %t", h.Key, ok)
	}
}
