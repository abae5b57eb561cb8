package email_test

import (
	"net/http"
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

// A person's mails say times in their zone, also of the end; to whose zone nobody said, they name it.
func TestMailsSayTimesInTheReadersZone(t *testing.T) {
	t.Parallel()
	shanghai := time.FixedZone("", 8*3600)
	w := newWorld(t, func(s *surface) {
		s.opts.People = filepath.Join(t.TempDir(), "people.yaml")
		if err := os.WriteFile(s.opts.People, []byte("people: { "+tom+": { zone: Asia/Shanghai } }"), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	a := database("a1")
	a.Deadline = time.Now().Add(48 * time.Hour)
	k := w.Ask(a)
	m, other := w.question(tom, "a1"), w.question(ann, "a1")
	for name, body := range map[string]string{"text": m.Text, "HTML": text(m.HTML)} {
		if !strings.Contains(body, "until "+a.Deadline.In(shanghai).Format("2 Jan 15:04")) || strings.Contains(body, "UTC") {
			t.Errorf("the %s has times of another zone: %s", name, body)
		}
	}
	if want := "until " + a.Deadline.Local().Format("2 Jan 15:04") + " UTC"; !strings.Contains(other.Text, want) {
		t.Errorf("a mail to somebody of an unknown zone has no %q: %s", want, other.Text)
	}
	if status, body := post(t, pageLink.FindString(m.Text), answer("pg")); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	ended := w.Wait(k.ID).At.In(shanghai).Format("15:04")
	m = w.mail(tom, "the outcome", func(m *fakemail.Mail) bool { return m.Header.Get("In-Reply-To") != "" })
	if !strings.Contains(m.Text, ended) || strings.Contains(m.Text, "UTC") {
		t.Errorf("the mail about the end at %s: %s", ended, m.Text)
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
	if len(pageLink.FindAllString(m.Text, -1)) != 1 || len(pageLink.FindAllString(m.HTML, -1)) != 1 || !strings.Contains(m.HTML, ` dir="auto">`) || m.To != tom {
		t.Errorf("to %s: %s\n%s", m.To, m.Text, m.HTML)
	}
}
