package discord_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/chat/discord"
	"github.com/askbus/askbus/internal/lab/fakediscord"
	"github.com/askbus/askbus/internal/testkit/chattest"
)

func TestTwoReplicasPostOneDigest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.AskMarked("a1")
	due, clock := chattest.DigestDue()
	change := func(o *discord.Options) { o.Digest, o.Clock = due, clock }
	_, stop := w.start(change)
	_, stopOther := w.start(change)
	is := func(m *fakediscord.Message) bool { return strings.Contains(m.Shown(), "**askbus, ") }
	m := chattest.Once(t, "the digest", w.fake.Messages, is, stop, stopOther)
	if !strings.Contains(m.Shown(), "Questions asked: 1 (the week before: 0)") || strings.Contains(m.Shown(), "@everyone") || strings.Contains(m.Shown(), " **b**") {
		t.Errorf("%s", m.Shown())
	}
}
