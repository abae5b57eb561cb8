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
	m := w.mail(ann, "the digest", is)
	if !strings.Contains(m.Text, "Questions asked: 1 (the week before: 0)") || !strings.Contains(m.Text, "• <!channel> @everyone **b**") {
		t.Errorf("%s", m.Text)
	}
	for _, stop := range stops {
		stop()
	}
	n := 0
	for _, m := range w.fake.Mails() {
		if is(&m) {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d digests", n)
	}
}
