package teams_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/chat/teams"
	"github.com/askbus/askbus/internal/lab/faketeams"
	"github.com/askbus/askbus/internal/testkit/chattest"
)

func TestTwoReplicasPostOneDigest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.AskMarked("a1")
	due, clock := chattest.DigestDue()
	w.tune = func(o *teams.Options) { o.Digest = due }
	stops := []func(){w.start(clock), w.start(clock)}
	is := func(p *faketeams.Message) bool {
		return strings.Contains(p.Shown(), "askbus, ") && strings.Contains(p.Shown(), "the week before")
	}
	p := chattest.Once(t, "the digest", w.fake.Messages, is, stops...)
	if !strings.Contains(p.Shown(), "Questions asked: 1 (the week before: 0)") || strings.Contains(p.Shown(), "<at>") {
		t.Errorf("%s", p.Shown())
	}
}
