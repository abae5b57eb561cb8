package email_test

import (
	"errors"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/email"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/lab/fakemail"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/emersion/go-smtp"
)

// world is e-mail on a bus.
type world struct {
	*surface
	*chattest.World
}

func newWorld(t *testing.T, change func(*surface)) *world {
	t.Helper()
	w := &world{home(t), chattest.New(t)}
	if change != nil {
		change(w.surface)
	}
	w.start()
	return w
}

// start runs a replica until the test ends.
func (w *world) start() {
	w.T.Helper()
	before := w.Len()
	w.Start(w.surface, responder.WallClock())
	natstest.Eventually(w.T, "a replica runs", func() bool { return w.Len() > before })
}

func database(id string) ask.Ask {
	return ask.Ask{ID: id, Questions: []ask.Question{{ID: "db", Text: "Which database for " + id + "?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}, {ID: "lite", Label: "SQLite"}}}}}
}

// mail waits for the newest mail to an address that holds.
func (w *world) mail(to, what string, holds func(m *fakemail.Mail) bool) fakemail.Mail {
	w.T.Helper()
	return *chattest.Newest(w.T, what+" to "+to, w.fake.Mails, func(m *fakemail.Mail) bool { return m.To == to && holds(m) })
}

// question waits for the mail that asks about some words.
func (w *world) question(to, words string) fakemail.Mail {
	w.T.Helper()
	return w.mail(to, "a question with "+words, func(m *fakemail.Mail) bool {
		return m.Header.Get("In-Reply-To") == "" && strings.Contains(anyLink.ReplaceAllString(m.Text, ""), words) // a signed link has any letters
	})
}

func text(body string) string { return html.UnescapeString(tags.ReplaceAllString(body, "")) }

func answer(option string) url.Values {
	return url.Values{"q0": {"=" + option}, "do": {"answer"}}
}

// Scanners open every link of a mail, and follow what they find; only the form answers.
func TestOnlyTheFormAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	k := w.Ask(database("a1"))
	m := w.question(tom, "a1")
	for _, link := range links(&m) {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions} {
			req, err := http.NewRequestWithContext(t.Context(), method, link, nil)
			if err != nil {
				t.Fatal(err)
			}
			do(t, req)
		}
	}
	if rec := w.Get(k.ID); rec.Outcome != nil {
		t.Fatalf("a scanner answered: %+v", rec.Outcome)
	}
	link := pageLink.FindString(m.Text)
	status, body := get(t, link+"?o=1")
	if status != http.StatusOK || !strings.Contains(body, `value="=lite" checked`) || !strings.Contains(text(body), "You are here as "+tom) || !strings.Contains(text(body), "Which database for a1?") {
		t.Errorf("status %d, %s", status, body)
	}
	status, body = post(t, link, answer("pg"))
	o := w.Wait(k.ID)
	if status != http.StatusOK || !strings.Contains(text(body), "PostgreSQL") || o.By.Principal != "chat:tom" || o.By.Proof != ask.ProofEmailLink || o.By.Responder != email.Type || o.Answers[0].Selected[0] != "pg" {
		t.Errorf("status %d, %+v by %+v", status, o.Answers, o.By)
	}
	if status, body = post(t, link, answer("lite")); status != http.StatusConflict || !strings.Contains(text(body), "PostgreSQL") {
		t.Errorf("the used link: status %d, %s", status, text(body))
	}
	end := w.mail(ann, "the outcome", func(m *fakemail.Mail) bool { return m.Header.Get("In-Reply-To") != "" })
	first := w.question(ann, "a1")
	if end.Header.Get("In-Reply-To") != "<"+first.ID()+">" || end.Header.Get("References") != "<"+first.ID()+">" || !strings.Contains(end.Text, "chose PostgreSQL") || strings.Count(end.HTML, `dir="auto"`) != 1 {
		t.Errorf("the outcome is %s", end.Raw)
	}
	if strings.Contains(end.Text, "\n\n\n") {
		t.Errorf("the outcome has empty paragraphs: %q", end.Text)
	}
}

// links returns every URL of a mail, in its text and its HTML.
func links(m *fakemail.Mail) (all []string) {
	for _, part := range strings.FieldsFunc(m.Text+" "+html.UnescapeString(m.HTML), func(r rune) bool { return strings.ContainsRune(" \n\r\"'<>", r) }) {
		if strings.HasPrefix(part, "http://") {
			all = append(all, part)
		}
	}
	return all
}

// What a link that is not good any more says, and that it answers nothing.
func TestALinkIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	k := w.Ask(database("a1"))
	m := w.question(tom, "a1")
	link := pageLink.FindString(m.Text)
	refused := func(why, link string, want int) {
		t.Helper()
		for _, status := range []int{first(get(t, link)), first(post(t, link, answer("pg")))} {
			if status != want {
				t.Errorf("%s: status %d, want %d", why, status, want)
			}
		}
	}
	refused("a changed link", link[:len(link)-2]+"AA", http.StatusNotFound)
	refused("half a link", link[:len(link)/2], http.StatusNotFound)
	revoked := state.Open(w.Bus.Connect(rights.Role{Name: rights.RoleOperator}), state.Operator(), state.Revoked)
	if _, err := revoked.Put(t.Context(), state.RevokedKey("", "mailto:"+tom), struct{}{}, time.Hour); err != nil {
		t.Fatal(err)
	}
	refused("of somebody who was signed out", link, http.StatusForbidden)
	if rec := w.Get(k.ID); rec.Outcome != nil {
		t.Errorf("answered by %+v", rec.Outcome)
	}
}

func first(status int, _ string) int { return status }

// A stronger proof than a mail is: there is no link that answers, and the inbox is.
func TestAStrongerProofNeedsTheInbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(s *surface) {
		s.opts.Link = func(k ask.Key) string { return "https://inbox.example/ask/" + k.String() }
	})
	a := database("a1")
	a.MinProof = ask.ProofOIDC
	w.Ask(a)
	m := w.question(tom, "a1")
	if pageLink.MatchString(m.Text) || pageLink.MatchString(m.HTML) || !strings.Contains(m.Text, "https://inbox.example/ask/acme/s1/a1") || !strings.Contains(m.Text, "needs a sign-in") {
		t.Errorf("the mail is %s", m.Text)
	}
}

// What an agent writes stays text, in headers too, and options are written in the direction of their question.
func TestHostileTextStaysText(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	a := database("a1")
	a.Title = "Hello\r\nBcc: everybody@example.com\r\n\r\n<script>alert(1)</script>"
	a.Agent.Name = "<b>askbus</b>\nX-Evil: 1"
	a.Context = "# Why\n\n<img src=http://evil.example/x.png> ![p](http://evil.example/y.png) [click](http://evil.example/z)"
	a.Questions[0].Text = "איזה מסד, a1?"
	a.Questions[0].Options[0].Preview = &ask.Preview{Body: "<style>*{display:none}</style>\n\x1b[31mred"}
	w.Ask(a)
	m := w.question(tom, "a1")
	if m.Header.Has("Bcc") || m.Header.Has("X-Evil") {
		t.Errorf("an agent writes headers: %s", m.Raw)
	}
	_, body := get(t, pageLink.FindString(m.Text))
	for what, page := range map[string]string{"the mail": m.HTML, "the page": body} {
		for _, bad := range []string{"<script", "<img", "<style>*", "href=\"http://evil", "\x1b"} {
			if strings.Contains(page, bad) {
				t.Errorf("%s has %s", what, bad)
			}
		}
	}
	if !strings.Contains(body, `<fieldset dir="rtl">`) || strings.Count(m.HTML, `border-radius:8px" dir="rtl">`) != 2 {
		t.Errorf("the options of a question from right to left are in another direction: %s %s", body, m.HTML)
	}
	if strings.Count(m.HTML, "text-align:") != 2 || !strings.Contains(m.HTML, "text-align:left;text-align:start") || !strings.Contains(m.HTML, `<p style="margin:16px 0 0" dir="rtl">`) {
		t.Errorf("a mail from right to left is at the left: %s", m.HTML) // but by a client that does not know start
	}
}

// Only addresses that the operator allows are written to; one that stops mails, or that the server refuses, holds up no other.
func TestWhoGetsAMail(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(s *surface) { s.opts.Routes.Default = chat.Target{Channel: team, Mention: []string{tom}} })
	w.fake.Refuse(team, 550)
	a := database("a1")
	a.Audience = []string{"mailto:evil@elsewhere.example", "chat:mei"}
	k := w.Ask(a)
	m := w.question(mei, "a1")
	w.question(tom, "a1")
	stop := stopLink.FindString(m.Text)
	if status, body := get(t, stop); status != http.StatusOK || !strings.Contains(text(body), mei) {
		t.Errorf("status %d, %s", status, text(body))
	}
	natstest.Eventually(t, "the receipt", func() bool {
		return len(w.Get(k.ID).Receipts) > 0 && w.Get(k.ID).Receipts[0].State == ask.ReceiptPosted
	})
	if n := len(w.Get(k.ID).Receipts[0].Places); n != 2 {
		t.Errorf("%d places", n)
	}
	if _, body := post(t, stop, url.Values{"List-Unsubscribe": {"One-Click"}}); !strings.Contains(text(body), "gets no mail") {
		t.Errorf("it says %s", text(body))
	}
	again := database("a2")
	again.Audience = a.Audience
	w.Ask(again)
	w.question(tom, "a2")
	for _, m := range w.fake.Mails() {
		if strings.Contains(m.To, "evil") || m.To == mei && strings.Contains(m.Text, "for a2?") {
			t.Errorf("a mail went to %s", m.To)
		}
	}
}

// A server that refuses an attachment gets the mail without it: the person is asked, and their address stays good.
func TestARefusedFileIsLeftOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.fake.Intercept(func(m *fakemail.Mail, _ bool) error {
		if len(m.Files) > 0 {
			return &smtp.SMTPError{Code: 552, EnhancedCode: smtp.EnhancedCode{5, 7, 0}, Message: "This message was blocked because its content presents a potential security issue"}
		}
		return nil
	})
	f, err := w.Agent.Upload(t.Context(), "run.txt", []byte("rm -rf /"))
	if err != nil {
		t.Fatal(err)
	}
	a := database("a1")
	a.Files = []ask.File{f}
	w.Ask(a)
	if m := w.question(tom, "a1"); len(m.Files) != 0 || !strings.Contains(m.Text, "Not attached, but on the page: run.txt") {
		t.Errorf("files %v, text %s", m.Files, m.Text)
	}
	w.question(ann, "a1")
	if n := len(w.Receipt("a1", email.Type, 0).Places); n != 2 {
		t.Errorf("%d places", n)
	}
}

var anyLink = regexp.MustCompile(`http://\S+`)

var stopLink = regexp.MustCompile(`http://\S+/email/stop/[A-Za-z0-9_.-]+`)

// An ask that is decided within the delay is not mailed, and nothing is noted of it. The mail about one that got a vote
// within the delay says so, and is as soon as others.
func TestADecidedAskIsNotMailed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(s *surface) { s.opts.Delay = 2 * time.Second })
	pg := ask.Reply{By: ask.By{Principal: "os:mei", Name: "Mei", Proof: "local"}, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}}
	k := w.Ask(database("a1"))
	if _, err := w.Other.Answer(t.Context(), k, pg); err != nil {
		t.Fatal(err)
	}
	voted := database("v1")
	voted.Questions[0].NoOther = true
	voted.Approval = &ask.Approval{AnyOf: []ask.Alternative{{Need: 2}}, ApproveOptions: []string{"pg"}}
	if _, err := w.Other.Answer(t.Context(), w.Ask(voted), pg); !errors.Is(err, ask.ErrVoted) {
		t.Fatal(err)
	}
	w.Ask(database("a2"))
	w.question(tom, "a2")
	if m := w.question(tom, "v1"); !strings.Contains(m.Text, "1 of 2 approvals") {
		t.Errorf("it says %s", m.Text)
	}
	if rec := w.Get("a1"); len(rec.Receipts) > 0 {
		t.Errorf("its receipts are %+v", rec.Receipts)
	}
	for _, m := range w.fake.Mails() {
		if strings.Contains(m.Text, "for a1") {
			t.Errorf("mailed: %s", m.Text)
		}
	}
}

func TestCredentialsThatAreRevokedMakeItNotReady(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(s *surface) {
		s.fake.SetPassword("secret")
		s.opts.SMTP, s.opts.Password = s.fake.URL(), "secret"
	})
	natstest.Eventually(t, "it is ready", func() bool { return w.app().Ready() == nil })
	w.Ask(database("a1"))
	w.question(tom, "a1")
	w.fake.SetPassword("another")
	w.Ask(database("a2"))
	natstest.Eventually(t, "it is not ready", func() bool { return w.app().Ready() != nil })
	w.fake.SetPassword("secret")
	w.question(tom, "a2")
	natstest.Eventually(t, "it is ready again", func() bool { return w.app().Ready() == nil })
}

// One vote by a link; the link is then used.
func TestALinkIsGoodForOneVote(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	a := database("a1")
	a.Questions[0].NoOther = true
	a.Approval = &ask.Approval{AnyOf: []ask.Alternative{{Need: 2}}, ApproveOptions: []string{"pg"}}
	k := w.Ask(a)
	m := w.question(tom, "a1")
	link := pageLink.FindString(m.Text)
	if status, body := post(t, link, answer("pg")); status != http.StatusOK || !strings.Contains(text(body), "this link is used") {
		t.Errorf("status %d, %s", status, text(body))
	}
	if status, _ := post(t, link, answer("lite")); status != http.StatusForbidden {
		t.Errorf("a used link: status %d", status)
	}
	if rec := w.Get(k.ID); len(rec.Votes) != 1 || rec.Votes[0].By.Proof != ask.ProofEmailLink {
		t.Errorf("%+v", rec.Votes)
	}
}
