package mattermost_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/chat/mattermost"
	"github.com/askbus/askbus/internal/lab/fakemattermost"
	"github.com/askbus/askbus/internal/testkit/chattest"
)

func TestTwoReplicasPostOneDigest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.AskMarked("a1")
	due, clock := chattest.DigestDue()
	w.tune = func(o *mattermost.Options) { o.Digest = due }
	stops := []func(){w.start(clock), w.start(clock)}
	is := func(p *fakemattermost.Post) bool {
		return strings.Contains(p.Shown(), "askbus, ") && strings.Contains(p.Shown(), "the week before")
	}
	p := chattest.Once(t, "the digest", w.fake.Posts, is, stops...)
	if !strings.Contains(p.Shown(), `Questions asked: 1 \(the week before: 0\)`) || strings.Contains(p.Shown(), " @everyone") || strings.Contains(p.Shown(), " **b**") {
		t.Errorf("%s", p.Shown())
	}
}
