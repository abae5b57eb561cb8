package mattermost_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/mattermost"
	"github.com/askbus/askbus/internal/lab/fakemattermost"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/google/go-cmp/cmp"
)

// Several questions come one after the other in one post: a choice, toggled ones, and words in a dialog. A restart loses
// none of the answers.
func TestSeveralQuestionsInOnePost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := w.start(responder.WallClock())
	w.Ask(ask.Ask{ID: "a1", Questions: []ask.Question{
		{ID: "db", Text: "Which database?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}, {ID: "lite", Label: "SQLite"}}},
		{ID: "env", Text: "Which environments?", Multiple: true, Options: []ask.Option{{ID: "dev", Label: "Dev"}, {ID: "prod", Label: "Prod"}, {ID: "qa", Label: "QA"}}},
		{ID: "n", Kind: ask.KindNumber, Text: "How many?"},
	}})
	w.click(mei, w.opened("Which database?"), "SQLite")
	w.click(mei, w.opened("Which environments?"), "☐ Dev")
	w.click(mei, w.opened("☑ Dev"), "☐ QA")
	stop()
	w.start(responder.WallClock())
	w.click(mei, w.opened("☑ QA"), "Send")
	w.click(mei, w.opened("How many?"), "Answer…")
	if wrong := w.say(mei, "many"); wrong != `"many" is not a number; type one such as 3 or 2.5.` {
		t.Errorf("invalid words are told %q", wrong)
	}
	if wrong := w.say(mei, "3"); wrong != "" {
		t.Errorf("told %q", wrong)
	}
	o := w.Wait("a1")
	if len(o.Answers) != 3 || o.Answers[0].Selected[0] != "lite" || strings.Join(o.Answers[1].Selected, " ") != "dev qa" || *o.Answers[2].Number != 3 {
		t.Errorf("the answers are %+v", o.Answers)
	}
	if o.By == nil || !strings.HasPrefix(o.By.Principal, "mattermost:127.0.0.1:") || !strings.HasSuffix(o.By.Principal, "/"+mei) || o.By.Proof != ask.ProofMattermost || o.By.Name != "Mei" {
		t.Errorf("by %+v", o.By)
	}
	w.post("the outcome", func(p *fakemattermost.Post) bool {
		return len(p.Actions()) == 0 && strings.Contains(p.Shown(), "Mei answered")
	})
}

// Calls are not signed: one counts only with a code that this app made, for this post and button, and in a dialog for this
// person; and only for a person who is in the channel.
func TestForgedCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(responder.WallClock())
	w.Ask(chattest.Choice("a1", "Which database?"))
	w.Ask(chattest.Choice("a2", "Which other database?"))
	w.Ask(ask.Ask{ID: "a3", Questions: []ask.Question{{ID: "name", Kind: ask.KindText, Text: "Which name?"}}})
	p, other := w.opened("Which database?"), w.opened("Which other database?")
	b := p.Actions()[0].Integration
	refused := func(what, user string, at *fakemattermost.Post, change map[string]any) {
		t.Helper()
		content := maps.Clone(b.Context)
		maps.Copy(content, change)
		if told, err := w.fake.Call(t.Context(), user, at, b.URL, content); err == nil || !strings.Contains(err.Error(), "401") {
			t.Errorf("%s: told %q, %v", what, told, err)
		}
	}
	refused("no code", mei, p, map[string]any{"code": ""})
	refused("another button", mei, p, map[string]any{"data": "1:0:1"})
	refused("another ask", mei, p, map[string]any{"ask": other.Actions()[0].Integration.Context["ask"]})
	refused("a later end", mei, p, map[string]any{"expires": time.Now().Add(1e6 * time.Second).Unix()})
	refused("a draft", mei, p, map[string]any{"draft": "e30"})
	refused("another post", mei, other, nil)
	refused("nobody", "", p, nil)
	if told, err := w.fake.Call(t.Context(), "strangerstrangerstrangerst", p, b.URL, b.Context); err != nil || !strings.Contains(told, "could not be reached") {
		t.Errorf("somebody who does not exist: %q, %v", told, err)
	}
	w.fake.Add(fakemattermost.User{ID: "outsideroutsideroutsiderou", Username: "out"})
	if told, err := w.fake.Call(t.Context(), "outsideroutsideroutsiderou", p, b.URL, b.Context); err != nil || !strings.Contains(told, "Only a person") {
		t.Errorf("somebody who is not in the channel: %q, %v", told, err)
	}
	w.click(mei, w.opened("Which name?"), "Answer…")
	d := w.fake.Dialogs()[0]
	if strings.Contains(d.State, p.Actions()[0].Integration.Context["code"].(string)) {
		t.Error("a dialog shows the code of a button")
	}
	if wrong, err := w.fake.Submit(t.Context(), tom, d, "mine"); err == nil {
		t.Errorf("another person sends the dialog: %q", wrong)
	}
	var state map[string]any
	_ = json.Unmarshal([]byte(d.State), &state)
	if _, err := w.fake.Call(t.Context(), mei, p, b.URL, state); err == nil {
		t.Error("the code of a dialog is taken for a button's")
	}
	for _, id := range []string{"a1", "a2", "a3"} {
		if rec, err := w.Other.Get(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: id}); err != nil || rec.Outcome != nil {
			t.Errorf("%s ended: %+v, %v", id, rec.Outcome, err)
		}
	}
}

// Guests and bots may not answer, unless a guest is listed; who is late is told who was first, and the post is corrected.
func TestWhoMayAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fake.Add(fakemattermost.User{ID: "otherbototherbototherbotot", Username: "bot", Bot: true}, room)
	w.start(responder.WallClock())
	w.Ask(chattest.Choice("a1", "Which database?"))
	p := w.opened("Which database?")
	if told := w.click(guest, p, "SQLite"); !strings.Contains(told, "Guests may not answer") {
		t.Errorf("a guest is told %q", told)
	}
	if told := w.click("otherbototherbototherbotot", p, "SQLite"); !strings.Contains(told, "Only a person") {
		t.Errorf("a bot is told %q", told)
	}
	if told := w.click(mei, p, "SQLite"); told != "" {
		t.Errorf("told %q", told)
	}
	if told := w.click(tom, p, "⭐ PostgreSQL"); !strings.Contains(told, "Mei") {
		t.Errorf("who is late is told %q", told)
	}
	listed := newWorld(t)
	listed.tune = func(o *mattermost.Options) { o.Guests = []string{guest} }
	listed.start(responder.WallClock())
	listed.Ask(chattest.Choice("a1", "Which database?"))
	if told := listed.click(guest, listed.opened("Which database?"), "SQLite"); told != "" {
		t.Errorf("a listed guest is told %q", told)
	}
}

// A vote that needs a reason asks for it in a dialog, which closes when the vote is stored; a destructive option is
// confirmed by another button.
func TestVotesAndDestructiveOptions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(responder.WallClock())
	w.Ask(ask.Ask{
		ID: "a1", Questions: []ask.Question{{ID: "ok", Kind: ask.KindBoolean, Text: "Deploy?"}},
		Approval: &ask.Approval{AnyOf: []ask.Alternative{{Need: 2, From: []string{"chat:tom", "group:platform"}, Reason: ask.ReasonRequired, ReasonPrompt: "the ticket", ReasonPattern: "^OPS-[0-9]+"}}, Deny: &ask.Denial{Need: 2}},
	})
	w.click(tom, w.opened("Deploy"), "Yes")
	if wrong := w.say(tom, "because"); !strings.Contains(wrong, "Not stored") {
		t.Errorf("told %q", wrong)
	}
	if wrong := w.say(tom, "OPS-17"); wrong != "" {
		t.Errorf("told %q", wrong)
	}
	w.post("Tom is told", func(p *fakemattermost.Post) bool { return strings.Contains(p.Message, "vote is stored") })
	if told := w.click(mei, w.opened("1 of 2 approvals"), "No"); !strings.Contains(told, "may not") {
		t.Errorf("Mei is told %q", told)
	}
	w.Ask(ask.Ask{ID: "a2", Questions: []ask.Question{{ID: "do", Text: "Drop it?", Options: []ask.Option{{ID: "drop", Label: "Drop", Destructive: true}, {ID: "keep", Label: "Keep"}}}}})
	w.click(mei, w.opened("Drop it"), "Drop")
	w.click(mei, w.opened("[Yes: Drop]"), "Yes: Drop")
	if o := w.Wait("a2"); o.Answers[0].Selected[0] != "drop" {
		t.Errorf("the outcome is %+v", o)
	}
}

// A press is acknowledged in time although its answer is not stored yet. Calls that the server limits are repeated.
func TestSlowStoreAndLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tune = func(o *mattermost.Options) { o.AckAfter = time.Nanosecond }
	w.start(responder.WallClock())
	w.fake.Limit(2)
	w.Ask(chattest.Choice("a1", "Which database?"))
	p := w.opened("Which database?")
	if told := w.click(mei, p, "SQLite"); !strings.Contains(told, "on its way") {
		t.Errorf("told %q", told)
	}
	w.Wait("a1")
	w.click(tom, p, "SQLite")
	w.post("Tom is told alone who was first", func(p *fakemattermost.Post) bool {
		return strings.Contains(p.Message, "Mei") && p.Channel == "d"+tom[:25]
	})
}

// What an agent writes is text: no mention, no link, no Markdown; a route mentions. What does not fit comes as a file.
func TestTextStaysText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tune = func(o *mattermost.Options) { o.Routes.Default.Mention = []string{ann} }
	w.start(responder.WallClock())
	const hostile = "@all [click](https://evil.example) **bold** `code` ~town-square www.evil.example"
	w.Ask(ask.Ask{ID: "a1", Title: hostile, Context: hostile + "\n\n```\nrm -rf `````\n```", Questions: []ask.Question{{ID: "q", Text: hostile, Options: []ask.Option{{ID: "a", Label: "Fine", Description: hostile}}}}})
	p := w.opened("Fine")
	text := p.Props.Attachments[0].Text
	for _, bad := range []string{"@all", "](http", "https://evil", "www.evil", " **bold**", " ~town"} {
		if strings.Contains(text, bad) {
			t.Errorf("it has %q: %s", bad, text)
		}
	}
	if p.Message != "@ann " {
		t.Errorf("it mentions %q", p.Message)
	}
	w.fake.Delete(p.ID)
	if _, err := w.Agent.Withdraw(t.Context(), "a1", ""); err != nil {
		t.Fatal(err)
	}
	w.Ask(chattest.Choice("a2", "Which next?"))
	w.opened("Which next?")
	if n := len(w.fake.Posts()); n != 1 {
		t.Errorf("%d posts: a deleted one came back", n)
	}
	long := chattest.Choice("a3", "Which last?")
	long.Context = strings.Repeat("It is long. ", 500)
	w.Ask(long)
	natstest.Eventually(t, "the whole question comes, to which no link leads", func() bool {
		return slices.ContainsFunc(w.fake.Files(), func(f fakemattermost.File) bool {
			return f.Name == "question.txt" && strings.Contains(string(f.Data), strings.TrimSpace(long.Context))
		})
	})
}

// A revoked token makes the surface not ready; the doctor names what is wrong and what to do.
func TestRevokedAndDoctor(t *testing.T) {
	t.Parallel()
	s := newSurface(t)
	s.tune = func(o *mattermost.Options) {
		o.Routes.Groups["nobody"] = "nowherenowherenowherenowhe"
		o.Routes.Rules = []chat.Rule{{Match: chat.Match{Session: "s1"}, To: chat.Target{Channel: "elsewhereelsewhereelsewher"}}}
	}
	app, err := mattermost.New(nil, s.options())
	if err != nil {
		t.Fatal(err)
	}
	check := func(want ...string) {
		t.Helper()
		var got []string
		for _, one := range app.Doctor(t.Context()) {
			got = append(got, string(one.State)+" "+one.What)
			if strings.Contains(one.Words, fakemattermost.Token) {
				t.Errorf("%s has the token: %s", one.What, one.Words)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	if app.Ready() == nil {
		t.Error("it is ready before it has connected")
	}
	check("ok token", "ok channel "+room, "broken channel elsewhereelsewhereelsewher", "broken group nobody", "ok group platform", "ok link", "missing callback")
	if err := app.Ready(); err != nil {
		t.Error(err)
	}
	s.fake.Revoke()
	check("broken token")
	if app.Ready() == nil {
		t.Error("it is ready with a revoked token")
	}
}
