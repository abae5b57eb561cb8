package telegram_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/lab/faketelegram"
	"github.com/askbus/askbus/pkg/ask"
)

// A vote that needs a reason is given when its reason is written; it can be taken back, and who has none is told so.
func TestAVoteWithItsReasonIsTakenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	_, err := w.Agent.Ask(t.Context(), ask.Ask{
		ID: "a1", Questions: []ask.Question{{ID: "ok", Kind: ask.KindBoolean, Text: "Deploy?"}},
		Approval: &ask.Approval{AnyOf: []ask.Alternative{{Need: 2, From: []string{"chat:tom", "group:platform"}, Reason: ask.ReasonRequired, ReasonPrompt: "the ticket", ReasonPattern: "^OPS-[0-9]+"}}, Deny: &ask.Denial{Need: 2}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.click(tom, w.open("0 of 2 approvals"), "Yes")
	prompt := w.message("a prompt", func(m *faketelegram.Message) bool { return m.Force && strings.Contains(m.Text, "the ticket") })
	w.fake.Write(tom, group, "because", prompt.ID)
	w.message("the reason is refused", func(m *faketelegram.Message) bool { return strings.Contains(m.Text, "Not stored") })
	w.fake.Write(tom, group, "OPS-17", prompt.ID)
	w.message("the vote is stored", func(m *faketelegram.Message) bool { return strings.Contains(m.Text, "Your vote is stored") })
	voted := w.open("1 of 2 approvals")
	if !strings.Contains(voted.Text, "Tom in Telegram approved: OPS-17") {
		t.Errorf("it shows %q", voted.Text)
	}
	if told := w.click(ann, voted, "Take the vote back"); !strings.Contains(told, "no vote to take back") {
		t.Errorf("Ann is told %q", told)
	}
	if told := w.click(tom, voted, "Take the vote back"); !strings.Contains(told, "Your vote is taken back; the question stays open: 0 of 2 approvals") {
		t.Errorf("Tom is told %q", told)
	}
	w.open("took the vote back")
	if told := w.click(mei, w.open("0 of 2 approvals"), "No"); !strings.Contains(told, "may not") {
		t.Errorf("Mei is told %q", told)
	}
}
