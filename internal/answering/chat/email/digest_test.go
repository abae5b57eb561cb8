package email_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/lab/fakemail"
	"github.com/askbus/askbus/internal/testkit/chattest"
)

func TestTwoReplicasMailOneDigestOfTheWeek(t *testing.T) {
	t.Parallel()
	w := &world{home(t), chattest.New(t)}
	w.AskMarked("a1")
	due, clock := chattest.DigestDue()
	w.opts.Digest, w.opts.DigestPlace = due, ann
	stops := []func(){w.Start(w.surface, clock), w.Start(w.surface, clock)}
	is := func(m *fakemail.Mail) bool { return strings.HasPrefix(m.Header.Get("Subject"), "askbus, ") }
	m := chattest.Once(t, "the digest", w.fake.Mails, is, stops...)
	if m.To != ann || !strings.Contains(m.Text, "Questions asked: 1 (the week before: 0)") || !strings.Contains(m.Text, "• <!channel> @everyone **b**") {
		t.Errorf("to %s: %s", m.To, m.Text)
	}
}
