package discord_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/discord"
	"github.com/askbus/askbus/internal/lab/fakediscord"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/askbus/askbus/pkg/responder/respondertest"
	"github.com/google/go-cmp/cmp"
)

// world is Discord on a bus.
type world struct {
	*chattest.World
	fake *fakediscord.Server
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{chattest.New(t), home(t)}
}

// start runs a replica; stop ends it. Change may change its options.
func (w *world) start(change ...func(*discord.Options)) (app *discord.App, stop func()) {
	w.T.Helper()
	o := options(w.fake)
	o.Link = respondertest.Link
	for _, f := range change {
		f(&o)
	}
	app, err := discord.New(w.Responder(discord.Type), o)
	if err != nil {
		w.T.Fatal(err)
	}
	stop = w.Run(app.Listen, func(ctx context.Context) error {
		return app.Serve(ctx, responder.ServeOptions{Clock: responder.WallClock()})
	})
	natstest.Eventually(w.T, "it is ready", func() bool { return app.Ready() == nil })
	return app, stop
}

func (w *world) ask(id string, a ask.Ask) {
	w.T.Helper()
	a.ID = id
	w.Ask(a)
}

// open waits for the message with these words that can be answered.
func (w *world) open(words string) fakediscord.Message {
	w.T.Helper()
	return *chattest.Newest(w.T, "an open message with "+words, w.fake.Messages, func(m *fakediscord.Message) bool {
		return m.Open() && strings.Contains(strings.ReplaceAll(m.Shown(), `\`, ""), words)
	})
}

func (w *world) click(user string, m fakediscord.Message, label string) fakediscord.Interaction {
	w.T.Helper()
	in, err := w.fake.Click(w.T.Context(), user, m, label)
	if err != nil {
		w.T.Fatalf("press %q: %v", label, err)
	}
	return in
}

func (w *world) submit(of fakediscord.Interaction, values map[string][]string) fakediscord.Interaction {
	w.T.Helper()
	in, err := w.fake.Submit(w.T.Context(), of, values)
	if err != nil {
		w.T.Fatal(err)
	}
	return in
}

func (w *world) closed(words string) {
	w.T.Helper()
	natstest.Eventually(w.T, "a closed message with "+words, func() bool {
		return slices.ContainsFunc(w.fake.Messages(), func(m fakediscord.Message) bool { return !m.Open() && strings.Contains(m.Shown(), words) })
	})
}

// Bots, guests and who is not asked are told so, and the ask stays open; a role of the routing file counts as a group.
func TestWhoMayAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.ask("a1", ask.Ask{Audience: []string{"group:platform"}, Questions: []ask.Question{{ID: "ok", Kind: ask.KindBoolean, Text: "Deploy?"}}})
	m := w.open("Deploy?")
	if !slices.Equal(m.Notified, []string{"&" + sre}) {
		t.Errorf("it notifies %q", m.Notified)
	}
	for user, words := range map[string]string{robot: "Only a person", guest: "Guests of this server", mei: "You may not answer"} {
		if in := w.click(user, m, "Yes"); !strings.Contains(in.Words(), words) {
			t.Errorf("%s is told %q", user, in.Words())
		}
	}
	w.click(ann, w.open("Deploy?"), "Yes")
	if o := w.Wait("a1"); o.By.Principal != "chat:ann" || !slices.Equal(o.By.Groups, []string{"platform"}) {
		t.Errorf("by %+v", o.By)
	}
}

// What an agent writes is made literal once, also on the message of an ended ask.
func TestTheHeadingOfAnOutcomeIsLiteralOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.ask("a1", ask.Ask{Title: "Drop <b> of my_table", Questions: []ask.Question{{ID: "ok", Kind: ask.KindBoolean, Text: "Deploy?"}}})
	w.click(ann, w.open("Deploy?"), "Yes")
	w.closed(`Drop \<b\> of my\_table`)
}

func texts(all []fakediscord.Component) (s string) {
	for i := range all {
		s += all[i].Content + "\n" + texts(all[i].Components)
	}
	return s
}

// Nothing that an agent writes notifies anybody or hides where a link goes.
func TestHostileText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	bad := "@everyone <@" + tom + "> <@&" + sre + "> [docs](https://evil.example/login) ```\n@here\n``` # big `code` https://plain.example/a_b"
	w.ask("a1", ask.Ask{Title: bad, Context: bad + "\n\n# Heading\n- one\n- two", Questions: []ask.Question{{ID: "q", Text: "Go? " + bad, Options: []ask.Option{{ID: "y", Label: bad, Description: bad, Preview: &ask.Preview{Body: "```\n@everyone\n```\n" + bad}}}}}})
	m := w.open("Go?")
	if len(m.Notified) > 0 {
		t.Errorf("it notifies %q", m.Notified)
	}
	texts := regexp.MustCompile("(?s)```.*?```").ReplaceAllString(texts(m.Components), "") // code is literal
	for _, part := range []string{"@everyone", "@here", " <@" + tom, "[docs](https://evil"} {
		if strings.Contains(texts, part) {
			t.Errorf("%q is in %s", part, texts)
		}
	}
	if !strings.Contains(m.Shown(), "[docs](<https://evil.example/login>) (evil.example)") {
		t.Errorf("a link has no host in %s", m.Shown())
	}
}

// A vote that needs a reason opens the form for it.
func TestAVoteWithItsReasonIsTakenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.ask("a1", ask.Ask{
		Questions: []ask.Question{{ID: "ok", Kind: ask.KindBoolean, Text: "Deploy?"}},
		Approval:  &ask.Approval{AnyOf: []ask.Alternative{{Need: 2, From: []string{"chat:tom", "group:platform"}, Reason: ask.ReasonRequired, ReasonPrompt: "the ticket", ReasonPattern: "^OPS-[0-9]+"}}, Deny: &ask.Denial{Need: 2}},
	})
	form := w.click(tom, w.open("0 of 2 approvals"), "Yes")
	refused := w.submit(form, map[string][]string{"note": {"because"}})
	if !strings.Contains(refused.Words(), "Not stored") {
		t.Fatalf("it tells %q", refused.Words())
	}
	if in := w.submit(w.click(tom, *refused.Told, "Answer…"), map[string][]string{"note": {"OPS-17"}}); !strings.Contains(in.Words(), "vote is stored") {
		t.Errorf("it tells %q", in.Words())
	}
	voted := w.open("1 of 2 approvals")
	if !strings.Contains(voted.Shown(), "Tom in Discord approved") {
		t.Errorf("it shows %q", voted.Shown())
	}
	if in := w.click(ann, voted, "Take the vote back"); !strings.Contains(in.Words(), "no vote to take back") {
		t.Errorf("Ann is told %q", in.Words())
	}
	if in := w.click(tom, voted, "Take the vote back"); !strings.Contains(in.Words(), "Your vote is taken back; the question stays open: 0 of 2 approvals") {
		t.Errorf("Tom is told %q", in.Words())
	}
	denied := w.submit(w.click(ann, w.open("0 of 2 approvals"), "Decline…"), map[string][]string{"why": {"too late today"}})
	if !strings.Contains(denied.Words(), "vote is stored") {
		t.Errorf("Ann is told %q", denied.Words())
	}
	w.open("too late today")
}

// Clicks work after a restart and late ones are told who was first, also in direct messages.
func TestDirectMessagesAndRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	direct := func(o *discord.Options) { o.Routes.Default = chat.Target{Person: tom} }
	_, stop := w.start(direct)
	w.ask("a1", ask.Ask{Questions: []ask.Question{{ID: "ok", Kind: ask.KindBoolean, Text: "Deploy?"}}})
	m := w.open("Deploy?")
	stop()
	w.start(direct)
	w.click(tom, m, "No")
	if o := w.Wait("a1"); o.By.Principal != "chat:tom" || *o.Answers[0].Boolean {
		t.Errorf("the outcome is %+v", o)
	}
	if in := w.click(tom, m, "Yes"); in.Words() == "" {
		t.Error("a late click is told nothing")
	}
	w.closed("Tom answered No")
}

// Signed requests over HTTP: any replica answers any, also the command that links an account; Discord accepts the address only if wrong signatures are refused.
func TestSignedInteractions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	signed := func(o *discord.Options) { o.PublicKey, o.Inbox = w.fake.PublicKey(), chattest.LinkInbox }
	first, _ := w.start(signed)
	second, _ := w.start(signed)
	one, two := httptest.NewServer(first.Handler()), httptest.NewServer(second.Handler())
	t.Cleanup(one.Close)
	t.Cleanup(two.Close)
	if err := w.fake.SetEndpoint(one.URL + discord.PathInteractions); err != nil {
		t.Fatal(err)
	}
	w.ask("a1", four())
	form := w.click(mei, w.open("Which database?"), "Answer…")
	if err := w.fake.SetEndpoint(two.URL + discord.PathInteractions); err != nil {
		t.Fatal(err)
	}
	w.submit(form, map[string][]string{"q0": {"1. PostgreSQL"}, "q1": {"2. Prod"}, "q2": {"x"}})
	if o := w.Wait("a1"); o.Answers[0].Selected[0] != "pg" || !o.Answers[3].Skipped {
		t.Errorf("the answers are %+v", o.Answers)
	}
	natstest.Eventually(t, "there is a command", func() bool { return w.fake.Calls("POST /applications/{app}/commands") > 0 })
	w.Linked(chattest.LinkCode(w.command(mei, "")), "discord:"+mei)
	if n, identified := w.fake.Sessions(); n+identified > 0 {
		t.Errorf("%d sessions of the gateway, %d identified", n, identified)
	}
}

// While the store is slow Discord is told to wait, and the person is told the result when there is one.
func TestSlowStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(func(o *discord.Options) { o.AckAfter = time.Nanosecond })
	w.ask("a1", ask.Ask{Questions: []ask.Question{{ID: "name", Kind: ask.KindText, Text: "Which name?"}}})
	w.ask("a2", ask.Ask{Audience: []string{"os:nobody"}, Questions: []ask.Question{{ID: "ok", Kind: ask.KindBoolean, Text: "Deploy?"}}})
	in := w.click(mei, w.open("Deploy?"), "Yes")
	late, err := w.fake.Replied(t.Context(), in.ID, waittest.Limit, func(in *fakediscord.Interaction) bool { return in.Told != nil })
	if err != nil || in.Type != 6 || !strings.Contains(late.Words(), "may not answer") {
		t.Errorf("type %d, told %q, %v", in.Type, late.Words(), err)
	}
	in = w.click(mei, w.open("Which name?"), "Answer…")
	late, err = w.fake.Replied(t.Context(), in.ID, waittest.Limit, func(in *fakediscord.Interaction) bool { return in.Told != nil })
	if err != nil || !strings.Contains(late.Words(), "could not be opened in time") {
		t.Errorf("told %q, %v", late.Words(), err)
	}
}

// A connection that is cut, or that Discord ends, is resumed without a new session, and what people did meanwhile
// arrives. Only a session that Discord calls invalid is a new one.
func TestResume(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app, _ := w.start()
	connected := func() bool { n, _ := w.fake.Sessions(); return n == 1 && app.Ready() == nil }
	for i, end := range []func(){w.fake.Reconnect, w.fake.Cut, w.fake.Invalidate} {
		id := "a" + string(rune('1'+i))
		w.ask(id, ask.Ask{Questions: []ask.Question{{ID: "ok", Kind: ask.KindBoolean, Text: "Deploy " + id + "?"}}})
		m := w.open("Deploy " + id)
		natstest.Eventually(t, "it is connected", connected)
		end()
		if i < 2 { // replayed after the resume
			go func() { _, _ = w.fake.Click(context.WithoutCancel(t.Context()), mei, m, "Yes") }()
		} else {
			natstest.Eventually(t, "it has a new session", func() bool { _, n := w.fake.Sessions(); return n == 2 && connected() })
			w.click(mei, m, "Yes")
		}
		w.Wait(id)
	}
	if _, n := w.fake.Sessions(); n != 2 {
		t.Errorf("it identified %d times", n)
	}
}

// A connection that is lost, and of which nobody is told, ends when a heartbeat is not acknowledged, and is resumed: what
// people did meanwhile arrives.
func TestALostConnectionIsResumed(t *testing.T) {
	t.Parallel()
	w := &world{chattest.New(t), homeOf(t, fakediscord.Options{AckWithin: waittest.Limit, Heartbeat: time.Second})}
	w.start()
	w.ask("a1", ask.Ask{Questions: []ask.Question{{ID: "ok", Kind: ask.KindBoolean, Text: "Deploy?"}}})
	m := w.open("Deploy?")
	w.fake.Lose()
	w.click(mei, m, "Yes")
	w.Wait("a1")
	if _, n := w.fake.Sessions(); n != 1 {
		t.Errorf("it identified %d times", n)
	}
}

// A message that was deleted is let go; a token that was revoked makes it not ready.
func TestDeletedAndRevoked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app, _ := w.start()
	w.ask("a1", ask.Ask{Questions: []ask.Question{{ID: "ok", Kind: ask.KindBoolean, Text: "Deploy?"}}})
	m := w.open("Deploy?")
	k := ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}
	natstest.Eventually(t, "it has a receipt", func() bool {
		rec, err := w.Other.Get(t.Context(), k)
		return err == nil && len(rec.Receipts) > 0 && rec.Receipts[0].State == ask.ReceiptPosted
	})
	w.fake.Delete(m.ID)
	if _, err := w.Other.Answer(t.Context(), k, ask.Reply{Answers: []ask.Answer{{QuestionID: "ok", Boolean: new(true)}}, By: ask.By{Principal: "os:mei"}}); err != nil {
		t.Fatal(err)
	}
	const edits = "PATCH /channels/{channel}/messages/{message}"
	natstest.Eventually(t, "it is edited", func() bool { return w.fake.Calls(edits) > 0 })
	w.ask("a2", ask.Ask{Questions: []ask.Question{{ID: "ok", Kind: ask.KindBoolean, Text: "Again?"}}})
	w.open("Again?")
	if n := w.fake.Calls(edits); n != 1 {
		t.Errorf("%d edits of a deleted message", n)
	}
	w.fake.Revoke()
	natstest.Eventually(t, "it is not ready", func() bool { return app.Ready() != nil })
}

// The limits that Discord's headers state hold for a burst of asks in one channel.
func TestBurstKeepsTheLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	began := time.Now()
	w.fake.SetClock(func() time.Time { return began.Add(50 * time.Since(began)) }) // its windows are short
	w.start()
	for i := range 30 {
		w.ask(fmt.Sprint("a", i), ask.Ask{Questions: []ask.Question{{ID: "ok", Kind: ask.KindBoolean, Text: "Deploy?"}}})
	}
	natstest.Eventually(t, "all are posted", func() bool { return len(w.fake.Messages()) == 30 })
	if n := w.fake.Calls("429"); n > 3 {
		t.Errorf("%d calls over the limits", n)
	}
}

// A code that is written in private names the person.
func TestPair(t *testing.T) {
	t.Parallel()
	f := home(t)
	app, err := discord.New(nil, options(f))
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan chat.Paired, 1)
	go func() {
		p, err := app.Pair(t.Context(), "ABCD-2345")
		if err != nil {
			t.Error(err)
		}
		got <- p
	}()
	natstest.Eventually(t, "it listens", func() bool { n, _ := f.Sessions(); return n == 1 })
	f.Write(robot, "ABCD-2345")
	f.Write(tom, "hello")
	f.Write(mei, "abcd2345")
	if diff := cmp.Diff(chat.Paired{Person: mei, Principal: "discord:" + mei, Name: "Mei"}, <-got); diff != "" {
		t.Error(diff)
	}
}

// The doctor names what is wrong and what to do.
func TestDoctor(t *testing.T) {
	t.Parallel()
	f := home(t)
	o := options(f)
	o.Routes.Groups["nowhere"] = "role/499999999999999999"
	o.Routes.Rules = []chat.Rule{{Match: chat.Match{Session: "s1"}, To: chat.Target{Channel: "399999999999999999"}}}
	check := func(o discord.Options, want ...string) {
		t.Helper()
		app, err := discord.New(nil, o)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, one := range app.Doctor(t.Context()) {
			got = append(got, string(one.State)+" "+one.What)
			if strings.Contains(one.Words, fakediscord.Token) {
				t.Errorf("%s has the token: %s", one.What, one.Words)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	rest := []string{"ok channel " + asks, "broken channel 399999999999999999", "broken group nowhere", "ok group platform"}
	check(o, append([]string{"ok token", "ok clicks"}, rest...)...)
	o.PublicKey = strings.Repeat("ab", 32)
	check(o, append([]string{"ok token", "broken clicks"}, rest...)...)
	f.Revoke()
	check(o, "broken token")
}

// A missing setting is named, with what to do.
func TestCheck(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]discord.Options{
		"ASKBUS_DISCORD_TOKEN":      {},
		"without “Bot”":             {Token: "Bot abc"},
		"ASKBUS_DISCORD_PUBLIC_KEY": {Token: "abc", PublicKey: "12"},
		"ASKBUS_DISCORD_CHANNEL":    {Token: "abc"},
	} {
		if _, err := discord.New(nil, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v; want %q", err, want)
		}
	}
	if _, err := discord.ParseRoutes([]byte("default: {channel: \"123456789012345678\"}\ngroups: {sre: \"123456789012345678\"}")); err == nil || !strings.Contains(err.Error(), "role/") {
		t.Errorf("the error is %v", err)
	}
}
