package email_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/lab/fakemail"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/pkg/ask"
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

// The daily digest of one person lists what waits for them, in their language and time zone, as text and as HTML.
func TestADailyDigestListsWhatWaits(t *testing.T) {
	t.Parallel()
	w := &world{home(t), chattest.New(t)}
	_, clock := chattest.DigestDue()
	shanghai := time.FixedZone("", 8*3600)
	w.opts.People = filepath.Join(t.TempDir(), "people.yaml")
	entry := "people: { " + tom + ": { digest: \"" + time.Now().In(shanghai).Add(time.Minute).Format("15:04") + "\", zone: Asia/Shanghai, language: zh } }"
	if err := os.WriteFile(w.opts.People, []byte(entry), 0o600); err != nil {
		t.Fatal(err)
	}
	w.AskMarked("a1")
	late := chattest.Choice("a2", "Which region?")
	late.Deadline, late.MinProof = time.Now().Add(48*time.Hour), ask.ProofOIDC // no mail answers it
	w.Ask(late)
	stop := w.Start(w.surface, clock)
	m := chattest.Once(t, "the digest", w.fake.Mails, func(m *fakemail.Mail) bool { return strings.HasPrefix(m.ID(), "askbus-digest") }, stop)
	for name, body := range map[string]string{"text": m.Text, "HTML": text(m.HTML)} {
		for _, part := range []string{"有 2 个提问等你回答", "Which database?", chattest.Marked, "自 ", "Which region?", late.Deadline.In(shanghai).Format("1月2日 15:04") + " 截止", "请勿转发"} {
			if !strings.Contains(body, part) {
				t.Errorf("the %s has no %q: %s", name, part, body)
			}
		}
		if strings.Contains(body, "UTC") {
			t.Errorf("the %s has times of another zone: %s", name, body)
		}
	}
	if len(pageLink.FindAllString(m.Text, -1)) != 1 || len(pageLink.FindAllString(m.HTML, -1)) != 1 || m.To != tom {
		t.Errorf("to %s: %s\n%s", m.To, m.Text, m.HTML)
	}
}
