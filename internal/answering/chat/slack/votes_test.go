package slack_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

// A vote that needs a reason is given in the form, which begins with the option that was clicked. It can be taken back,
// and who has none is told so.
func TestAVoteWithItsReasonIsTakenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	w.start(true, nil)
	k := w.ask(ask.Ask{
		ID: "a1", Questions: []ask.Question{{ID: "ok", Kind: ask.KindBoolean, Text: "Deploy?"}},
		Approval: &ask.Approval{AnyOf: []ask.Alternative{{Need: 2, From: []string{"chat:tom", "group:platform"}, Reason: ask.ReasonRequired, ReasonPrompt: "the ticket", ReasonPattern: "^OPS-[0-9]+"}}, Deny: &ask.Denial{Need: 2}},
	})
	at := w.card("a1").Place
	shows := func(parts ...string) {
		t.Helper()
		natstest.Eventually(t, strings.Join(parts, ", "), func() bool {
			m := w.card("a1")
			for _, part := range parts {
				if !strings.Contains(m.Shown(), part) {
					return false
				}
			}
			return m.Live()
		})
	}
	shows("0 of 2 approvals", "the ticket", "one person's vote")
	acked(t, w.fake.Click("U0TOM", at, "Yes"))
	yes := map[string]fakeslack.Input{"Deploy?": {Options: []string{"Yes"}}, "Reason": {Text: "because"}}
	acked(t, w.fake.Submit("U0TOM", yes))
	v, open := w.fake.Modal("U0TOM")
	if !open || len(v.Errors) == 0 {
		t.Fatalf("a reason that does not fit is taken: %+v", v)
	}
	yes["Reason"] = fakeslack.Input{Text: "OPS-17"}
	acked(t, w.fake.Submit("U0TOM", yes))
	shows("1 of 2 approvals", "Tom on Slack approved", "OPS-17")
	acked(t, w.fake.Click("U0ANN", at, "Take the vote back"))
	w.told("U0ANN", "no vote to take back")
	acked(t, w.fake.Click("U0TOM", at, "Take the vote back"))
	w.told("U0TOM", "Your vote is taken back; the question stays open: 0 of 2 approvals")
	shows("0 of 2 approvals", "took the vote back")
	acked(t, w.fake.Click("U0TOM", at, "No"))
	w.told("U0TOM", "Your vote is stored")
	shows("1 of 2 denials", "Tom on Slack denied")
	acked(t, w.fake.Click("U0ANN", at, "No"))
	if text := w.dead("a1"); !strings.Contains(text, ":no_entry_sign: ") || !strings.Contains(text, "Denied") || !strings.Contains(text, "Ann on Slack denied") || !strings.Contains(text, "Deploy?") {
		t.Errorf("it ends as %q", text)
	}
	if o := w.outcome(k); o == nil || *o.Answers[0].Boolean || len(o.Votes) != 2 {
		t.Errorf("the outcome is %+v", o)
	}
}
