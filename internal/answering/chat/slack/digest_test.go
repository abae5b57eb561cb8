package slack_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/chat/slack"
	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

func TestTwoReplicasPostOneDigest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{})
	w.ask(ask.Ask{ID: "a1", Agent: ask.Agent{Name: chattest.Marked}})
	due, clock := chattest.DigestDue()
	change := func(o *slack.Options) { o.Digest, o.Clock = due, clock }
	replicas := []*replica{w.start(false, change), w.start(false, change)}
	digests := func() (all []fakeslack.Message) {
		for _, m := range w.fake.Messages("C0ASKS") {
			if strings.HasPrefix(m.Text, "askbus, ") {
				all = append(all, m)
			}
		}
		return all
	}
	natstest.Eventually(t, "the digest", func() bool { return len(digests()) > 0 })
	for _, r := range replicas {
		r.stop()
	}
	all := digests()
	if len(all) != 1 {
		t.Fatalf("%d digests", len(all))
	}
	m := all[0]
	if text, _ := m.Blocks[0]["text"].(map[string]any); text["type"] != "plain_text" || !strings.Contains(m.Shown(), "Questions asked: 1 (the week before: 0)") || !strings.Contains(m.Shown(), "• <!channel> @everyone **b**") {
		t.Errorf("%v", m.Blocks)
	}
}
