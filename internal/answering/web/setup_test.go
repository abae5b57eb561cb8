package web_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/chromedp/chromedp"
)

// machine is what a setup finds.
type machine struct {
	bus       *bus
	connected bool
}

func (m *machine) Agents() []web.LocalAgent {
	return []web.LocalAgent{
		{Name: "codex", Title: "Codex", Command: "askbus mcp install codex --write", Connected: m.connected},
		{Name: "goose", Title: "Goose", Command: "askbus mcp install goose", ByHand: true},
	}
}

func (m *machine) Chats() []web.LocalChat {
	return []web.LocalChat{{Title: "Slack", Command: "askbus connect slack", Set: true}, {Title: "Telegram", Command: "askbus connect telegram"}}
}

func (m *machine) Connect(_ context.Context, name string) (string, error) {
	if name != "codex" {
		return "", errors.New("cannot write the file")
	}
	m.connected = true
	return "Written to ~/.codex/config.toml for Codex.", nil
}

func (m *machine) Try(_ context.Context, question string, options ...string) (ask.Key, error) {
	q := ask.Question{ID: "q", Text: question}
	for _, o := range options {
		q.Options = append(q.Options, ask.Option{ID: o, Label: o})
	}
	return m.bus.ask(ask.Ask{ID: "try", Session: "first-steps", Questions: []ask.Question{q}}, 0), nil
}

// me is the person of the machine.
var me = ask.By{Principal: "os:mei", Name: "Mei", Proof: ask.ProofOS}

func firstSteps(t *testing.T, who ask.By) (*bus, inbox) {
	t.Helper()
	b := newBus()
	return b, serve(t, b, func(o *web.Options) { o.Setup, o.Identity = &machine{bus: b}, who })
}

func TestTheFirstStepsShowEachSuccess(t *testing.T) {
	t.Parallel()
	b, in := firstSteps(t, me)
	u := in.signedIn(t, me)
	if page := u.get("/").body; !contains(page, `href="/setup"`) {
		t.Error("the empty inbox does not lead to the first steps")
	}
	page := u.get("/setup").body
	for _, want := range []string{"Codex", "askbus mcp install codex --write", "Goose", "has its settings", "has no token yet", "up --tls --http-addr 0.0.0.0:8420"} {
		if !contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Count(page, `action="/setup/connect#connect"`) != 1 || contains(page, "data-done") {
		t.Error("only Codex has a button, and nothing is done yet")
	}
	if res := u.post("/setup/connect", url.Values{"name": {"goose"}}); res.status != http.StatusBadGateway || !contains(res.body, "Not done: cannot write the file.") {
		t.Errorf("a failure: %d", res.status)
	}
	if res := u.post("/setup/connect", url.Values{"name": {"codex"}}); res.status != http.StatusOK || !contains(res.body, "Written to ~/.codex/config.toml") || !contains(res.body, `id="connect" data-done`) {
		t.Errorf("connected: %d %s", res.status, res.body)
	}
	asked := u.post("/setup/try", nil)
	if !contains(asked.body, `href="/ask/default/first-steps/try"`) {
		t.Errorf("the test question: %d %s", asked.status, asked.body)
	}
	_, _ = b.end(ask.Key{Tenant: "default", Session: "first-steps", ID: "try"}, ask.Outcome{Status: ask.StatusAnswered, By: &me, Answers: []ask.Answer{{QuestionID: "q", Selected: []string{"Yes, here"}}}})
	if page := u.get(asked.path).body; !contains(page, `id="try" data-done`) || !contains(page, "Yes, here") {
		t.Errorf("the answer is not shown: %s", page)
	}
	if res := u.post("/setup/nothing", nil); res.status != http.StatusNotFound {
		t.Errorf("no such step: %d", res.status)
	}
}

func TestTheFirstStepsAreForThePersonOfTheMachine(t *testing.T) {
	t.Parallel()
	_, in := firstSteps(t, me)
	refused := func(name string, u user, headers ...string) {
		t.Helper()
		for _, res := range []response{u.do(http.MethodGet, "/setup", nil, headers...), u.do(http.MethodPost, "/setup/connect", url.Values{"name": {"codex"}}, headers...), u.do(http.MethodPost, "/setup/try", url.Values{}, headers...)} {
			if res.status != http.StatusNotFound && res.status != http.StatusUnauthorized && res.status != http.StatusForbidden || contains(res.body, "Codex") {
				t.Errorf("%s: %d %s", name, res.status, res.body)
			}
		}
	}
	refused("a stranger", in.stranger(t))
	refused("somebody else", in.signedIn(t, tom))
	refused("through a proxy or tunnel", in.signedIn(t, me), "X-Forwarded-For", "203.0.113.7")
	u := in.signedIn(t, me)
	if res := u.do(http.MethodPost, "/setup/connect", url.Values{"name": {"codex"}}, "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"); res.status != http.StatusForbidden {
		t.Errorf("another page presses the button: %d", res.status)
	}
	b := newBus()
	if res := serve(t, b, func(o *web.Options) { o.Identity = me }).signedIn(t, me).get("/setup"); res.status != http.StatusNotFound {
		t.Errorf("an inbox that sets nothing up: %d", res.status)
	}
}

func TestAPhoneGetsAQRCodeAndTheFingerprint(t *testing.T) {
	t.Parallel()
	b := newBus()
	in := serve(t, b, func(o *web.Options) {
		o.Setup, o.Identity, o.Fingerprint, o.Hosts = &machine{bus: b}, me, "AB:CD", []string{"127.0.0.1"}
		o.BaseURL = "https://192.0.2.7:8420"
	})
	u := in.signedIn(t, me)
	if page := u.get("/setup").body; contains(page, "data:image/png") {
		t.Error("a sign-in link is shown before anybody asked for it")
	}
	if page := u.post("/setup/phone", nil).body; !contains(page, `src="data:image/png;base64,`) || !contains(page, "AB:CD") {
		t.Errorf("no code, or no fingerprint: %s", page)
	}
}

func TestWaitingTimesCountWhatThePersonMaySee(t *testing.T) {
	t.Parallel()
	b := newBus()
	u := serve(t, b).signedIn(t, mei)
	if page := u.get("/waiting").body; !contains(page, "Waiting times") || contains(page, "<table>") {
		t.Errorf("nothing was asked: %s", page)
	}
	a := question("a", database())
	a.Agent.Name = "builder"
	_, _ = b.end(b.ask(a, time.Minute), ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, By: &tom, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}})
	waits := question("b", database())
	waits.Agent.Name, waits.Audience = "planner", []string{"group:sre"}
	b.ask(waits, 30*time.Minute)
	u.get("/history") // reads the past
	page := u.get("/waiting").body
	for _, want := range []string{"<bdi>builder</bdi>", "<bdi>planner</bdi>", "<bdi>sre</bdi>", "<bdi>everybody</bdi>", "<bdi>Tom</bdi>", "the longest for 30 min", "<dd>1</dd>"} {
		if !contains(page, want) {
			t.Errorf("the page lacks %q: %s", want, page)
		}
	}
	if page := u.get("/waiting?period=week").body; !contains(page, `href="/waiting?period=week" aria-current="page"`) {
		t.Error("the week is not chosen")
	}
}

func TestBrowserTheFirstStepsRing(t *testing.T) {
	t.Parallel()
	_, in := firstSteps(t, mei)
	b := in.notified(t)
	b.looks(true)
	b.do(chromedp.Navigate(in.URL + "/setup"))
	b.wait(`!!document.querySelector('.setup')`)
	b.click("[data-ring]")
	b.wait(`document.querySelector('#ring-words').textContent.startsWith('Shown by this page.') && 'done' in document.querySelector('#ring').dataset`)
	clean(t, b)
}
