package slack_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/chat/slack"
	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/pkg/ask"
)

func TestTwoReplicasPostOneDigest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{})
	w.ask(ask.Ask{ID: "a1", Agent: ask.Agent{Name: chattest.Marked}})
	due, clock := chattest.DigestDue()
	change := func(o *slack.Options) { o.Digest, o.Clock = due, clock }
	replicas := []*replica{w.start(false, change), w.start(false, change)}
	m := chattest.Once(t, "the digest", func() []fakeslack.Message { return w.fake.Messages("C0ASKS") },
		func(m *fakeslack.Message) bool { return strings.HasPrefix(m.Text, "askbus, ") }, replicas[0].stop, replicas[1].stop)
	if text, _ := m.Blocks[0]["text"].(map[string]any); text["type"] != "plain_text" || !strings.Contains(m.Shown(), "Questions asked: 1 (the week before: 0)") || !strings.Contains(m.Shown(), "• <!channel> @everyone **b**") {
		t.Errorf("%v", m.Blocks)
	}
}
