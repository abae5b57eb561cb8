package feishu_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/chat/feishu"
	"github.com/askbus/askbus/internal/lab/fakefeishu"
	"github.com/askbus/askbus/internal/testkit/chattest"
)

func TestTwoReplicasPostOneDigest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.AskMarked("a1")
	due, clock := chattest.DigestDue()
	s := &surface{fake: w.fake, tune: func(o *feishu.Options) { o.Digest, o.Routes.Default.Language = due, "en" }}
	stops := []func(){w.Start(s, clock), w.Start(s, clock)}
	is := func(p *fakefeishu.Message) bool {
		return strings.Contains(p.Shown(), "askbus, ") && strings.Contains(p.Shown(), "the week before")
	}
	p := chattest.Once(t, "the digest", w.fake.Messages, is, stops...)
	if !strings.Contains(p.Shown(), "Questions asked: 1 (the week before: 0)") || strings.Contains(p.Shown(), "<!") {
		t.Errorf("%s", p.Shown())
	}
}
