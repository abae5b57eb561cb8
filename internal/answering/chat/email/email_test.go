package email_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/email"
	"github.com/askbus/askbus/internal/lab/fakemail"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/askbus/askbus/pkg/responder/respondertest"
	"github.com/emersion/go-smtp"
)

const (
	tom  = "tom@example.com"
	ann  = "ann@example.com"
	mei  = "mei@example.com"
	team = "team@example.com"
)

var key = []byte("a key of tests, which has 32 bytes at least")

// surface is e-mail for the conformance suite: a mail server, and the pages of whichever replica runs.
type surface struct {
	t     *testing.T
	fake  *fakemail.Server
	pages string
	opts  email.Options

	replies atomic.Int64
	chattest.Replicas[*email.App]
}

// people are those of the suite.
var people = map[string]string{"chat:tom": tom, "chat:ann": ann}

func home(t *testing.T) *surface {
	t.Helper()
	fake, err := fakemail.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	s := &surface{t: t, fake: fake}
	s.pages = s.Front(t, func(app *email.App) http.Handler { return app.Handler() })
	s.opts = email.Options{SMTP: fake.URL(), From: "askbus <ask@example.com>", URL: s.pages, Key: key}
	s.opts.Routes = chat.Routes{
		Default: chat.Target{Person: tom, Mention: []string{ann}},
		People:  map[string]string{"chat:tom": tom, "chat:ann": ann, "chat:mei": mei},
	}
	return s
}

func (s *surface) app() *email.App {
	app, _ := s.Newest()
	return app
}

func (s *surface) Type() string { return email.Type }

func (s *surface) Serve(ctx context.Context, r *responder.Responder, opts responder.ServeOptions) error {
	own := s.opts
	own.Clock, own.Logger = opts.Clock, natstest.Logger()
	app, err := email.New(r, own)
	if err != nil {
		return err
	}
	defer s.Add(app)()
	listening, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- app.Listen(listening) }()
	err = app.Serve(ctx, opts)
	stop()
	return errors.Join(err, <-done)
}

var (
	pageLink = regexp.MustCompile(`http://\S+/email/ask/[A-Za-z0-9_.-]+`)
	tags     = regexp.MustCompile(`<[^>]*>`)
)

// questions returns the mails that ask, for each post that of each person; an outcome is not one.
func (s *surface) questions() (all []fakemail.Mail) {
	for _, m := range s.fake.Mails() {
		if m.Header.Get("In-Reply-To") == "" {
			all = append(all, m)
		}
	}
	return all
}

func keyOf(m *fakemail.Mail) string {
	post, _, _ := strings.Cut(m.ID(), ".")
	return post
}

// page returns what a person reads on the page of a mail, and whether it takes an answer.
func (s *surface) page(m *fakemail.Mail) (text string, open bool) {
	link := pageLink.FindString(m.Text)
	if link == "" {
		return "", false
	}
	status, body := get(s.t, link)
	if status == http.StatusBadGateway { // no replica serves yet, so nothing says that it is closed
		return "", true
	}
	return html.UnescapeString(tags.ReplaceAllString(body, "")), strings.Contains(body, `value="answer"`)
}

// Posts returns the mails to one person; a post is open while the page of anybody who got it takes an answer.
func (s *surface) Posts() (posts []respondertest.Post) {
	seen, open := map[string]int{}, map[string]bool{} // by key: an ask is open while one of its pages is
	for _, m := range s.questions() {
		key := keyOf(&m)
		text, isOpen := s.page(&m)
		open[key] = open[key] || isOpen
		if m.To != tom {
			continue
		}
		posts = append(posts, respondertest.Post{Ref: fmt.Sprint(key, "#", seen[key]), Key: key, Text: strings.ReplaceAll(m.Text, "\r\n", "\n") + text})
		seen[key]++
	}
	for i := range posts {
		posts[i].Open = open[posts[i].Key]
	}
	return posts
}

func (s *surface) Click(_ context.Context, p respondertest.Post, c respondertest.Click) string {
	for _, m := range s.questions() {
		if m.To == people[c.By.Principal] && keyOf(&m) == p.Key {
			_, body := post(s.t, pageLink.FindString(m.Text), url.Values{"q0": {"=" + c.Option}, "do": {"answer"}})
			return html.UnescapeString(tags.ReplaceAllString(body, ""))
		}
	}
	return ""
}

// Write replies by mail, as the own mail server delivers it. Nobody else reads a mail, so that every reply is meant for
// askbus: there is no talk.
func (s *surface) Write(_ context.Context, p respondertest.Post, words string, by ask.By) string {
	answer, ok := chattest.Answer(words)
	for _, m := range s.questions() {
		if ok && m.To == people[by.Principal] && keyOf(&m) == p.Key {
			s.reply(m.To, &m, strconv.Itoa(int(s.replies.Add(1))), authentic, answer)
		}
	}
	return ""
}

// Delete does nothing: a mail that somebody deletes is gone for them only, and no server says so.
func (s *surface) Delete(respondertest.Post) {}

// Said returns mails: one notifies whom it is sent to.
func (s *surface) Said() (all []string) {
	for _, m := range s.fake.Mails() {
		all = append(all, strings.ReplaceAll(m.To+" "+m.Text, ann, "chat:ann"))
	}
	return all
}

// Files returns those of one person's mail.
func (s *surface) Files() (names []string, takes bool) {
	for _, m := range s.questions() {
		if m.To == tom {
			names = append(names, slices.Sorted(maps.Keys(m.Files))...)
		}
	}
	return names, true
}

func (s *surface) Revoke() { s.fake.SetPassword("another") }

func (s *surface) Intercept(f func(respondertest.Call) error) {
	if f == nil {
		s.fake.Intercept(nil)
		return
	}
	s.fake.Intercept(func(m *fakemail.Mail, done bool) error {
		op := respondertest.OpPost
		if m.Header.Get("In-Reply-To") != "" {
			op = respondertest.OpUpdate
		}
		err := f(respondertest.Call{Op: op, Key: keyOf(m), Done: done})
		if _, ok := errors.AsType[*responder.RetryError](err); ok {
			return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 7, 1}, Message: "greylisted"}
		}
		if err != nil {
			return &smtp.SMTPError{Code: 421, EnhancedCode: smtp.EnhancedCode{4, 3, 2}, Message: err.Error()}
		}
		return nil
	})
}

func get(t *testing.T, link string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
	if err != nil {
		t.Fatal(err)
	}
	return do(t, req)
}

func post(t *testing.T, link string, form url.Values) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, link, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return do(t, req)
}

func do(t *testing.T, req *http.Request) (status int, body string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(req.Context(), waittest.Limit)
	defer cancel()
	res, err := http.DefaultClient.Do(req.WithContext(ctx))
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return res.StatusCode, string(data)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	respondertest.Run(t, func(t *testing.T) respondertest.Surface {
		t.Helper()
		s := home(t)
		s.opts.Link = respondertest.Link
		s.opts.Routes.Groups = map[string]string{"platform": team} // Ann is in it
		s.opts.People = filepath.Join(t.TempDir(), "people.yaml")
		if err := os.WriteFile(s.opts.People, []byte("people: { "+ann+": { lists: ["+team+"] } }"), 0o600); err != nil {
			t.Fatal(err)
		}
		return s
	}, respondertest.Without{
		"a crash after posting posts nothing twice":   "mails cannot be searched: after two minutes the same mail is sent again, with the same Message-ID",
		"two replicas share, a third joins, one dies": "a mail that a replica was sending when it died follows after two minutes, which is longer than the suite waits",
		"votes are shown, moved and counted":          "a link is good for one vote: see TestALinkIsGoodForOneVote",
		"many votes are few edits":                    "a mail cannot be edited; its page shows the votes",
	})
}

func TestCasesOfAChat(t *testing.T) {
	t.Parallel()
	respondertest.RunChat(t, func(t *testing.T) respondertest.Chat {
		t.Helper()
		s := home(t)
		s.fake.SetPassword("secret")
		s.opts.SMTP, s.opts.Password, s.opts.Link = s.fake.URL(), "secret", respondertest.Link
		s.replying()
		return s
	})
}
