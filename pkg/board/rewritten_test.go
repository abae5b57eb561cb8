package board_test

import (
	"errors"
	"testing"

	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
)

// TestAVoteLeavesWhoHasTheAsk: to whom an ask was handed over, and who is at it, is the same after a vote. What was read
// before it is not shown after it.
func TestAVoteLeavesWhoHasTheAsk(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	two := question("a1")
	two.Questions[0].NoOther = true
	two.Approval = &ask.Approval{AnyOf: []ask.Alternative{{Need: 2}}, ApproveOptions: []string{"pg"}, DenyOptions: []string{"lite"}}
	if _, err := agent(t, b, "acme", "s1").Ask(t.Context(), two); err != nil {
		t.Fatal(err)
	}
	r := surface(t, b, responder.Options{})
	br := run(t, r, board.Options{Shared: true})
	before, err := r.Get(t.Context(), key("a1"))
	if err != nil {
		t.Fatal(err)
	}
	tom := person("tom")
	if err := br.Look(tom, key("a1"), false); err != nil {
		t.Fatal(err)
	}
	if err := br.HandOver(t.Context(), person("mei"), key("a1"), "os:tom", ""); err != nil {
		t.Fatal(err)
	}
	vote := pick()
	vote.By.Proof = "os"
	if _, err := r.Answer(t.Context(), key("a1"), vote); !errors.Is(err, ask.ErrVoted) {
		t.Fatalf("a vote: %v", err)
	}
	var head board.Head
	natstest.Eventually(t, "the board has the vote", func() bool {
		heads, _ := br.Pending(board.Filter{Viewer: tom}, 0, 1)
		head = heads[0]
		return len(head.Votes) == 1
	})
	if head.Handed == nil || head.Handed.To != "os:tom" {
		t.Errorf("it is handed over to %+v", head.Handed)
	}
	if at := br.Attending(key("a1")); len(at) != 1 || at[0].Principal != "os:tom" {
		t.Errorf("at it are %+v", at)
	}
	board.CameLate(br, before)
	if rec, err := br.Get(t.Context(), key("a1")); err != nil || len(rec.Votes) != 1 {
		t.Errorf("what was read before the vote, and comes after it, is shown: %d votes, %v", len(rec.Votes), err)
	}
}
