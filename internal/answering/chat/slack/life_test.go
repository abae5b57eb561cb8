package slack_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/slack"
	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/process/finding"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
)

// The form answers every kind of question; errors appear at their fields, and the form stays open
// with its input.
func TestFormOfEveryKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	w.start(true, nil)
	k := w.ask(ask.Ask{ID: "a1", Questions: []ask.Question{
		database()[0],
		{ID: "name", Kind: ask.KindText, Text: "Name?", Limits: ask.Limits{Pattern: "^[a-z]+$", Message: "Use small letters only."}},
		{ID: "n", Kind: ask.KindNumber, Text: "How many?", Limits: ask.Limits{Max: new(9.0)}},
		{ID: "ok", Kind: ask.KindBoolean, Text: "Ready?"},
		{ID: "day", Kind: ask.KindDate, Text: "When?"},
		{ID: "tags", Text: "Which tags?", Multiple: true, Optional: true, Options: []ask.Option{{ID: "x", Label: "X"}, {ID: "y", Label: "Y"}}},
	}})
	at := w.card("a1").Place
	acked(t, w.fake.Click("U0TOM", at, "Answer…"))
	fill := map[string]fakeslack.Input{
		"q0": {}, "1 of 6 · Which database?": {Options: []string{"PostgreSQL"}}, "2 of 6 · Name?": {Text: "LEDGER"}, "3 of 6 · How many?": {Text: "12"},
		"4 of 6 · Ready?": {Options: []string{"Yes"}}, "5 of 6 · When?": {Date: "2026-12-01"}, "6 of 6 · Which tags?": {Options: []string{"X", "Y"}},
	}
	acked(t, w.fake.Submit("U0TOM", fill))
	v, open := w.fake.Modal("U0TOM")
	if !open || !strings.Contains(v.Errors["q1"], "Use small letters only.") || v.Errors["q2"] == "" || v.Errors["q0"] != "" || w.outcome(k) != nil {
		t.Fatalf("after a wrong form: %v %v", open, v.Errors)
	}
	fill["2 of 6 · Name?"], fill["3 of 6 · How many?"] = fakeslack.Input{Text: "ledger"}, fakeslack.Input{Text: "3"}
	acked(t, w.fake.Submit("U0TOM", fill))
	o := w.outcome(k)
	if o == nil {
		v, _ := w.fake.Modal("U0TOM")
		t.Fatalf("it is not answered: %v", v.Errors)
	}
	if got := fmt.Sprint(o.Answers[0].Selected, o.Answers[1].Text, *o.Answers[2].Number, *o.Answers[3].Boolean, o.Answers[4].Date, o.Answers[5].Selected); got != "[pg]ledger3 true2026-12-01[x y]" {
		t.Errorf("the answers are %s", got)
	}
	if _, open := w.fake.Modal("U0TOM"); open {
		t.Error("the form stays open")
	}
	w.dead("a1")
}

func TestOtherWithANote(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	w.start(true, nil)
	k := w.ask(ask.Ask{ID: "a1", Context: strings.Repeat("It is long. ", 500)})
	natstest.Eventually(t, "the whole question comes, to which no link leads", func() bool {
		return slices.ContainsFunc(w.fake.Files(), func(f fakeslack.File) bool { return f.Name == "question.txt" && f.At == w.card("a1").Place })
	})
	acked(t, w.fake.Click("U0TOM", w.card("a1").Place, "Other…"))
	fill := map[string]fakeslack.Input{"Which database?": {Options: []string{"Other…"}}, "Note": {Text: "for now"}}
	acked(t, w.fake.Submit("U0TOM", fill))
	if v, open := w.fake.Modal("U0TOM"); !open || v.Errors["o0"] == "" || w.outcome(k) != nil {
		t.Fatalf("other without words: %v %v", open, v.Errors)
	}
	fill["Other"] = fakeslack.Input{Text: "DuckDB"}
	acked(t, w.fake.Submit("U0TOM", fill))
	if o := w.outcome(k); o == nil || o.Answers[0].Other != "DuckDB" || o.Answers[0].Notes != "for now" {
		t.Errorf("the outcome is %+v", o)
	}
	if text := w.dead("a1"); !strings.Contains(text, "DuckDB") || !strings.Contains(text, "for now") {
		t.Errorf("the card says %q", text)
	}
}

func TestBoxesAndSelects(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	w.start(true, nil)
	var many []ask.Option
	for i := range 30 {
		many = append(many, ask.Option{ID: fmt.Sprint("o", i), Label: fmt.Sprint("Option ", i)})
	}
	k1 := w.ask(ask.Ask{ID: "a1", Questions: []ask.Question{{ID: "q", Text: "Which?", Multiple: true, MinItems: 2, Options: many[:3]}}})
	k2 := w.ask(ask.Ask{ID: "a2", Questions: []ask.Question{{ID: "q", Text: "Which?", Options: many}}})
	at := w.card("a1").Place
	acked(t, w.fake.Choose("U0TOM", at, "check", fakeslack.Input{Options: []string{"0"}}))
	acked(t, w.fake.Click("U0TOM", at, "Send"))
	w.told("U0TOM", "The question stays open")
	acked(t, w.fake.Choose("U0TOM", at, "check", fakeslack.Input{Options: []string{"0", "2"}}))
	acked(t, w.fake.Click("U0TOM", at, "Send"))
	if o := w.outcome(k1); o == nil || fmt.Sprint(o.Answers[0].Selected) != "[o0 o2]" {
		t.Errorf("the outcome is %+v", o)
	}
	acked(t, w.fake.Choose("U0TOM", w.card("a2").Place, "select", fakeslack.Input{Options: []string{"29"}}))
	if o := w.outcome(k2); o == nil || fmt.Sprint(o.Answers[0].Selected) != "[o29]" {
		t.Errorf("the outcome is %+v", o)
	}
}

func TestDeclineWithAReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	w.start(true, nil)
	k := w.ask(ask.Ask{ID: "a1"})
	acked(t, w.fake.Click("U0TOM", w.card("a1").Place, "Decline…"))
	acked(t, w.fake.Submit("U0TOM", map[string]fakeslack.Input{"Why? The agent is told.": {Text: "too early"}}))
	if o := w.outcome(k); o == nil || o.Status != ask.StatusCancelled || o.Reason != "too early" {
		t.Errorf("the outcome is %+v", o)
	}
	if text := w.dead("a1"); !strings.Contains(text, "Tom declined: too early") {
		t.Errorf("the card says %q", text)
	}
}

// quiet waits for the n-th ephemeral message to a user.
func (w *world) quiet(user string, n int) fakeslack.Message {
	w.t.Helper()
	var found []fakeslack.Message
	natstest.Eventually(w.t, fmt.Sprintf("%s gets quiet reply %d", user, n), func() bool {
		found = nil
		for _, m := range w.fake.Ephemerals() {
			if m.For == user {
				found = append(found, m)
			}
		}
		return len(found) >= n
	})
	return found[n-1]
}

// Addressed replies in a thread: valid answers are kept, others are prompted for again, on any replica.
func TestThreadReplies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	w.start(false, nil)
	w.start(false, nil)
	k := w.ask(ask.Ask{ID: "a1", Questions: []ask.Question{database()[0], {ID: "n", Kind: ask.KindNumber, Text: "How many?"}}})
	at := w.card("a1").Place
	w.fake.Write("U0ANN", "C0ASKS", "", "not in the thread")
	w.fake.Write("U0TOM", "C0ASKS", at.TS, "answer: db=postgres\nn=many")
	natstest.Eventually(t, "it is asked again", func() bool { return len(w.fake.Messages("C0ASKS")) == 2 })
	again := w.fake.Messages("C0ASKS")[1]
	if text := again.Shown(); again.Thread != at.TS || !strings.Contains(text, "How many?") || strings.Contains(text, "Which database?") || !strings.Contains(text, "“answer:”") {
		t.Errorf("it asks again: %q", text)
	}
	w.fake.Write("U0TOM", "C0ASKS", at.TS, "<@U0BOT> 3")
	w.dead("a1")
	if o := w.outcome(k); o == nil || o.Answers[0].Selected[0] != "pg" || *o.Answers[1].Number != 3 || o.By.Principal != "chat:tom" {
		t.Errorf("the outcome is %+v", o)
	}
	w.fake.Write("U0ANN", "C0ASKS", at.TS, "thanks!")
	w.fake.Write("U0ANN", "C0ASKS", at.TS, "answer: too late?")
	if m := w.quiet("U0ANN", 1); !strings.Contains(m.Text, "No question is open") {
		t.Errorf("Ann is told %q", m.Text)
	}
}

// A reply that answers none of several questions ends nothing: its writer is asked which one it meant.
func TestAReplyToNoneOfSeveralQuestionsEndsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	w.start(true, nil)
	k := w.ask(ask.Ask{ID: "a1", Questions: []ask.Question{
		{ID: "db", Header: "Storage", Text: "Which database?", Optional: true, NoOther: true, Options: database()[0].Options},
		{ID: "n", Kind: ask.KindNumber, Text: "How many?", Optional: true},
		{ID: "ok", Kind: ask.KindBoolean, Text: "Ready?", Optional: true},
		{ID: "day", Kind: ask.KindDate, Text: "When?", Optional: true},
	}})
	at := w.card("a1").Place
	w.fake.Write("U0TOM", "C0ASKS", at.TS, "1")
	talk := w.quiet("U0TOM", 1)
	if !strings.Contains(talk.Text, "not taken as an answer") {
		t.Errorf("Tom is told %q", talk.Text)
	}
	acked(t, w.fake.Click("U0TOM", talk.Place, "Send this as the answer"))
	which := w.quiet("U0TOM", 2)
	if got := strings.Join(fakeslack.Buttons(which.Elements()), "|"); got != "1. Storage|2. How many?|3. Ready?" || !strings.Contains(which.Text, "Which question") {
		t.Errorf("Tom is asked %q with %s", which.Text, got)
	}
	if m := w.card("a1"); w.outcome(k) != nil || !m.Live() {
		t.Fatal("a reply that answers nothing ended it")
	}
	acked(t, w.fake.Click("U0TOM", which.Place, "2. How many?"))
	w.dead("a1")
	if o := w.outcome(k); o == nil || o.Response != "" || *o.Answers[1].Number != 1 || !o.Answers[0].Skipped {
		t.Errorf("the outcome is %+v", o)
	}
}

// People talk in threads. Words are an answer if they are addressed, if they are exactly an option
// where they can mean nothing else, or if their writer says so with the button.
func TestTalkInAThreadDecidesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	w.start(true, nil)
	k := w.ask(ask.Ask{ID: "a1"})
	at := w.card("a1").Place
	w.fake.Write("U0TOM", "C0ASKS", at.TS, "hm, <@U0ANN> what do you think?")
	offer := w.quiet("U0TOM", 1)
	if text := offer.Shown(); offer.Thread != at.TS || !strings.Contains(text, "hm, @Ann what do you think?") {
		t.Errorf("Tom is told %q", text)
	}
	w.fake.Write("U0ANN", "C0ASKS", at.TS, "1") // Tom wrote since the card
	w.quiet("U0ANN", 1)
	if m := w.card("a1"); w.outcome(k) != nil || !m.Live() {
		t.Fatal("talk ended it")
	}
	if d := w.fake.Click("U0ANN", offer.Place, "Send this as the answer"); d.Acked {
		t.Error("Ann sees Tom's button")
	}
	acked(t, w.fake.Click("U0TOM", offer.Place, "Send this as the answer"))
	w.dead("a1")
	if o := w.outcome(k); o == nil || o.Answers[0].Other != "hm, @Ann what do you think?" || o.By.Principal != "chat:tom" {
		t.Errorf("the outcome is %+v", o)
	}
	natstest.Eventually(t, "the quiet reply is gone", func() bool { return w.quiet("U0TOM", 1).Deleted })

	k = w.ask(ask.Ask{ID: "a2"})
	at = w.card("a2").Place
	w.fake.Write("U0ANN", "C0ASKS", at.TS, "sqlite")
	w.dead("a2")
	if o := w.outcome(k); o == nil || o.Answers[0].Selected[0] != "lite" || o.By.Principal != "chat:ann" {
		t.Errorf("the outcome is %+v", o)
	}

	k = w.ask(ask.Ask{ID: "a3", Metadata: map[string]any{ask.MetadataPermission: "x"}, Questions: []ask.Question{{ID: "run", Text: "Run rm?", NoOther: true, Options: []ask.Option{{ID: "y", Label: "Go"}, {ID: "n", Label: "Stop"}}}}})
	at = w.card("a3").Place
	w.fake.Write("U0ANN", "C0ASKS", at.TS, "1")
	w.quiet("U0ANN", 2)
	if w.outcome(k) != nil {
		t.Fatal("a permission was given in passing")
	}
	w.fake.Write("U0ANN", "C0ASKS", at.TS, "answer: 2")
	w.dead("a3")
	if o := w.outcome(k); o == nil || o.Answers[0].Selected[0] != "n" {
		t.Errorf("the outcome is %+v", o)
	}
}

// TestTheInboxIsNotOfferedWhatIsTalkedAboutInSlack: who writes in an ask's thread, or opens its form, is at it.
func TestTheInboxIsNotOfferedWhatIsTalkedAboutInSlack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	w.start(true, nil)
	inbox := board.New(w.other, board.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	running.Go(func() { _ = inbox.Run(ctx) })
	k := w.ask(ask.Ask{ID: "a1"})
	at := w.card("a1").Place
	natstest.Eventually(t, "the inbox has the ask", func() bool { return inbox.Status().Pending == 1 })
	w.fake.Write("U0TOM", "C0ASKS", at.TS, "hm, let me see")
	natstest.Eventually(t, "the inbox sees Tom", func() bool { return len(inbox.Attending(k)) == 1 })
	if a := inbox.Attending(k)[0]; a.Principal != "chat:tom" || a.Name != "Tom" || a.Answering || a.Responder != slack.Type {
		t.Errorf("it sees %+v", a)
	}
	mei := board.Viewer{By: ask.By{Principal: "os:mei", Name: "Mei", Proof: "local"}}
	if h, ok := inbox.Take(t.Context(), mei, board.Filter{Viewer: mei, Mine: true}, board.Turn{}); ok {
		t.Errorf("Mei is offered %v", h.Key)
	}

	first := k
	k = w.ask(ask.Ask{ID: "a2", Audience: []string{"os:mei"}})
	at = w.card("a2").Place
	natstest.Eventually(t, "the inbox has the second ask", func() bool { return inbox.Status().Pending == 2 })
	w.fake.Write("U0TOM", "C0ASKS", at.TS, "I would not")
	w.quiet("U0TOM", 2)
	if h, ok := inbox.Take(t.Context(), mei, board.Filter{Viewer: mei, Mine: true}, board.Turn{After: first}); !ok || h.Key != k {
		t.Errorf("somebody who may not decide keeps %v from Mei, %t", h.Key, ok)
	}
}

// With two open asks in a thread each can be chosen for what was written.
func TestTwoOpenAsksInAThread(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	w.start(true, func(o *slack.Options) { o.Routes.Default.Threads = "mention" })
	k1 := w.ask(ask.Ask{ID: "a1", Title: "Storage"})
	at := w.posted("a1").Place
	k2 := w.ask(ask.Ask{ID: "a2", Title: "Cache"})
	if m := w.posted("a2"); m.Thread != at.TS {
		t.Fatalf("a2 is in the thread %q", m.Thread)
	}
	w.fake.Write("U0ANN", "C0ASKS", at.TS, "answer: 1")
	offer := w.quiet("U0ANN", 1)
	if got := strings.Join(fakeslack.Buttons(offer.Elements()), "|"); got != "Answer: Cache|Answer: Storage" || !strings.Contains(offer.Text, "several questions are open") {
		t.Errorf("Ann is told %q with %s", offer.Text, got)
	}
	acked(t, w.fake.Click("U0ANN", offer.Place, "Answer: Cache"))
	w.dead("a2")
	if o := w.outcome(k2); o == nil || o.Answers[0].Selected[0] != "pg" || w.outcome(k1) != nil {
		t.Errorf("the outcomes are %+v and %+v", o, w.outcome(k1))
	}
}

// Who clicks without being in the channel is told in a direct message.
func TestWhoIsNotInTheChannelIsToldDirectly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	w.fake.AddUser(fakeslack.User{ID: "U0OUT", Name: "Out"})
	w.start(true, nil)
	w.ask(ask.Ask{ID: "a1", Audience: []string{"group:platform"}})
	acked(t, w.fake.Click("U0OUT", w.card("a1").Place, "PostgreSQL"))
	natstest.Eventually(t, "a direct message", func() bool {
		for _, m := range w.fake.Messages("") {
			if strings.HasPrefix(m.Channel, "D") && strings.Contains(m.Text, "You may not answer this one") {
				return true
			}
		}
		return false
	})
}

func TestHomeAndCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	w.start(true, nil)
	w.ask(ask.Ask{ID: "a1", Title: "Storage"})
	w.ask(ask.Ask{ID: "a2", Title: "Secret", Audience: []string{"group:platform"}})
	w.card("a1")
	w.fake.OpenHome("U0TOM")
	natstest.Eventually(t, "the Home tab", func() bool { _, ok := w.fake.Home("U0TOM"); return ok })
	if v, _ := w.fake.Home("U0TOM"); !strings.Contains(v.Shown(), "One question waits for you.") || !strings.Contains(v.Shown(), "Storage") || strings.Contains(v.Shown(), "Secret") {
		t.Errorf("Tom's Home says %q", v.Shown())
	}
	acked(t, w.fake.ClickView("U0TOM", "Answer…", true))
	acked(t, w.fake.Submit("U0TOM", map[string]fakeslack.Input{"Which database?": {Options: []string{"SQLite"}}}))
	if text := w.dead("a1"); !strings.Contains(text, "Tom chose SQLite") {
		t.Errorf("the card says %q", text)
	}
	d := w.fake.Command("U0ANN", "C0ASKS", "/askbus", "")
	if !d.Acked || !strings.Contains(string(d.Body), "Secret") || !strings.Contains(string(d.Body), "ephemeral") {
		t.Errorf("the command says %s", d.Body)
	}
}

// Archived channels, deleted messages, deactivated people and revoked tokens lose no ask, and leave
// no useless buttons.
func TestArchivedChannelsDeletedMessagesAndRevokedTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	w.fake.AddChannel(fakeslack.Channel{ID: "C0OLD", Name: "old", Archived: true})
	w.fake.AddUser(fakeslack.User{ID: "U0GONE", Name: "Gone", Deleted: true})
	w.start(true, func(o *slack.Options) {
		o.Routes.Rules = []chat.Rule{{Match: chat.Match{Agent: "old"}, To: chat.Target{Channel: "C0OLD"}}, {Match: chat.Match{Agent: "gone"}, To: chat.Target{Person: "U0GONE"}}}
	})
	w.ask(ask.Ask{ID: "a1", Agent: ask.Agent{ID: "old"}})
	w.ask(ask.Ask{ID: "a2", Agent: ask.Agent{ID: "gone"}})
	if a, b := w.card("a1"), w.card("a2"); a.Channel != "C0ASKS" || b.Channel != "C0ASKS" {
		t.Errorf("the default did not take them: %s %s", a.Channel, b.Channel)
	}
	// A deleted message and an archived channel end without an error.
	k := w.ask(ask.Ask{ID: "a3"})
	w.fake.Remove(w.card("a3").Place)
	w.answer(k)
	k = w.ask(ask.Ask{ID: "a4"})
	at := w.card("a4").Place
	w.answer(k)
	w.dead("a4")
	// A revoked token loses nothing, and the cards are current again once it is valid.
	k = w.ask(ask.Ask{ID: "a5"})
	w.card("a5")
	w.fake.Revoke("token_revoked")
	w.answer(k)
	natstest.Eventually(t, "it is tried", func() bool { return w.fake.Count("chat.update token_revoked") > 0 })
	w.fake.Revoke("")
	w.dead("a5")
	if d := w.fake.Click("U0TOM", at, "PostgreSQL"); d.Acked {
		t.Error("a dead card was clicked")
	}
}

func (w *world) answer(k ask.Key) {
	w.t.Helper()
	if _, err := w.other.Answer(w.t.Context(), k, ask.Reply{Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"lite"}}}, By: ask.By{Principal: "os:mei", Name: "Mei"}}); err != nil {
		w.t.Fatal(err)
	}
}

// A click on a card whose ask ended long ago or was asked again stores nothing, says so, and
// removes the buttons.
func TestOutdatedCards(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	w.start(true, nil)
	at := w.fake.PostAsApp("C0ASKS", `[{"type":"actions","elements":[{"type":"button","action_id":"choose:0","value":"acme/s1/never/life/0/pg","text":{"type":"plain_text","text":"PG"}}]}]`)
	acked(t, w.fake.Click("U0TOM", at, "PG"))
	w.told("U0TOM", "ended long ago")
	k := w.ask(ask.Ask{ID: "a1"})
	other := w.fake.PostAsApp("C0ASKS", `[{"type":"actions","elements":[{"type":"button","action_id":"choose:0","value":"acme/s1/a1/otherlife/0/pg","text":{"type":"plain_text","text":"PG"}}]}]`)
	acked(t, w.fake.Click("U0TOM", other, "PG"))
	w.told("U0TOM", "asked again")
	if w.outcome(k) != nil {
		t.Error("it was answered")
	}
	natstest.Eventually(t, "both are closed", func() bool { a, _ := w.fake.Message(at); b, _ := w.fake.Message(other); return !a.Live() && !b.Live() })
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	f := home(t, fakeslack.Options{Scopes: []string{"chat:write", "channels:read"}, NoLimits: true})
	f.AddChannel(fakeslack.Channel{ID: "C0OLD", Name: "old", Archived: true})
	o := f.Settings()
	app, err := slack.New(nil, slack.Options{BotToken: o.BotToken, AppToken: o.AppToken, APIURL: f.URL(), Options: chat.Options{Routes: chat.Routes{
		Default: chat.Target{Channel: "C0OLD"}, Rules: []chat.Rule{{To: chat.Target{Channel: "C0NONE"}}, {To: chat.Target{Channel: "C0ASKS"}}}, Groups: map[string]string{"platform": "S0PLATFORM"},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for _, c := range app.Doctor(t.Context(), "../../../../deploy/slack-manifest.yaml") {
		fmt.Fprintf(&said, "%s %s: %s\n", c.State, c.What, c.Words)
	}
	for _, want := range []string{
		"ok token: valid for workspace T0HOME", "broken channel C0OLD: #old is archived", "broken channel C0NONE: no channel has this id", "ok channel C0ASKS: #asks",
		"broken scope usergroups:read", "missing scope channels:history: replies in threads", "missing connections: Socket Mode works, but no process", "ok manifest: ",
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("doctor does not say %q:\n%s", want, said.String())
		}
	}
	f.Revoke("account_inactive")
	if checks := app.Doctor(t.Context(), ""); checks[0].State != finding.Broken || !strings.Contains(checks[0].Words, "install the app again") {
		t.Errorf("with a revoked token: %+v", checks)
	}
}

// Two thousand deliveries leak neither goroutines nor memory.
func TestDeliveriesDoNotLeak(t *testing.T) {
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	w.start(true, nil)
	w.ask(ask.Ask{ID: "a1"})
	at := w.card("a1").Place
	w.bus.LeavesNothing(t, func(i int) error {
		user := "U0TOM"
		if i%2 == 0 {
			user = "U0ANN"
		}
		if i%3 == 0 {
			w.fake.Command(user, "C0ASKS", "/askbus", "")
			return nil
		}
		if d := w.fake.Choose(user, at, "open", fakeslack.Input{}); !d.Acked && d.Lost != "there is no such button" {
			return fmt.Errorf("%+v", d)
		}
		return nil
	})
}
