package slack_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/slack"
	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/process/finding"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

// These tests cover the facts about Slack that decide the design, one by one. Facts 7, 8 and 9
// (limits of posts, updates and forms) are in TestEverythingFits.

// Fact 1: a payload goes to any one of the connections, whichever replica holds it.
func TestFact01AnyReplicaHandlesAnyClick(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	w.start(false, nil)
	w.start(false, nil)
	natstest.Eventually(t, "four connections", func() bool { _, live := w.fake.Connections(); return live == 4 })
	for i := range 12 {
		id := fmt.Sprint("a", i)
		k := w.ask(ask.Ask{ID: id})
		acked(t, w.fake.Click("U0TOM", w.card(id).Place, "PostgreSQL"))
		if o := w.outcome(k); o == nil || o.By.Principal != "chat:tom" || o.By.Proof != "slack-socket" {
			t.Errorf("%s: the outcome is %+v", id, o)
		}
		if text := w.dead(id); !strings.Contains(text, "Tom chose PostgreSQL") {
			t.Errorf("%s says %q", id, text)
		}
	}
}

// Fact 2: Slack counts ghosts, which swallow clicks. A metric, a warning and the doctor report
// them, and we leave none.
func TestFact02Ghosts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true, AckWithin: 200 * time.Millisecond})
	w.fake.AddGhosts(6)
	r := w.start(false, nil)
	natstest.Eventually(t, "the hellos", func() bool {
		text := scrape(r.App)
		return strings.Contains(text, `askbus_slack_num_connections{tenant=""} 8`) && strings.Contains(text, `askbus_slack_connections_live{tenant=""} 2`)
	})
	if !r.log.has("dead ones swallow clicks") {
		t.Error("nobody is warned")
	}
	found := false
	for _, c := range r.Doctor(t.Context(), "") {
		found = found || c.What == "connections" && c.State == finding.Broken && strings.Contains(c.Words, "Clicks sent to dead ones are lost")
	}
	if !found {
		t.Error("doctor does not name the ghosts")
	}
	k := w.ask(ask.Ask{ID: "a1"})
	at := w.card("a1").Place
	for range 100 { // people click again
		if w.fake.Click("U0TOM", at, "PostgreSQL").Acked {
			break
		}
	}
	if w.outcome(k) == nil {
		t.Error("no click arrived")
	}
	w.fake.DropGhosts()
	r.stop()
	natstest.Eventually(t, "no connection is left", func() bool { all, _ := w.fake.Connections(); return all == 0 })
	if text := scrape(r.App); !strings.Contains(text, `askbus_slack_connections_ended_total{reason="`) {
		t.Error(text)
	}
	normal := 0
	for _, code := range w.fake.Closes() {
		if code == 1000 {
			normal++
		}
	}
	if normal < 2 {
		t.Errorf("close frames: %v", w.fake.Closes())
	}
}

// Fact 3: a click may be lost and is not repeated; an event may arrive four times and counts once.
func TestFact03LostClicksAndRepeatedEvents(t *testing.T) {
	t.Parallel()
	clock := fakeslack.NewHand(time.Now())
	w := newWorld(t, fakeslack.Options{NoLimits: true, Clock: clock})
	w.start(true, nil)
	k := w.ask(ask.Ask{ID: "a1"})
	at := w.card("a1").Place
	w.fake.LoseClicks(2)
	for range 2 {
		if w.fake.Click("U0TOM", at, "SQLite").Acked {
			t.Error("it was not lost")
		}
	}
	if m := w.card("a1"); !m.Live() || w.outcome(k) != nil {
		t.Fatal("a lost click changed something")
	}
	// An answer that is not understood causes one new prompt for all four deliveries.
	w.fake.RepeatEvents(3)
	w.fake.Write("U0TOM", "C0ASKS", at.TS, "answer: 7")
	for n := 1; n <= 4; n++ {
		natstest.Eventually(t, "a delivery", func() bool {
			clock.Advance(30 * time.Second)
			return w.fake.Count("events_api") >= n
		})
	}
	again := func() (n int) {
		for _, m := range w.fake.Messages("C0ASKS") {
			if payload, ok := m.Metadata["event_payload"].(map[string]any); ok && payload["draft"] != nil {
				n++
			}
		}
		return n
	}
	natstest.Eventually(t, "it is asked again", func() bool { return again() > 0 })
	w.fake.Write("U0TOM", "C0ASKS", at.TS, "answer: 2")
	if text := w.dead("a1"); !strings.Contains(text, "Tom chose SQLite") {
		t.Errorf("the card says %q", text)
	}
	if n := again(); n != 1 {
		t.Errorf("it was asked again %d times", n)
	}
	if o := w.outcome(k); o == nil || o.Answers[0].Selected[0] != "lite" {
		t.Errorf("the outcome is %+v", o)
	}
}

// Fact 4: Slack closes connections several times a day. Two overlap, so that one is always open.
func TestFact04RoutineDisconnects(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	r := w.start(false, nil)
	for i, reason := range []string{"warning", "refresh_requested", "warning"} {
		natstest.Eventually(t, "two connections", func() bool { _, live := w.fake.Connections(); return live >= 2 })
		before := w.fake.Opened()
		w.fake.Disconnect(1, reason)
		if _, live := w.fake.Connections(); live == 0 {
			t.Error("nobody hears")
		}
		id := fmt.Sprint("a", i)
		w.ask(ask.Ask{ID: id})
		acked(t, w.fake.Click("U0TOM", w.card(id).Place, "PostgreSQL"))
		natstest.Eventually(t, "a successor", func() bool { return w.fake.Opened() > before })
	}
	if err := r.Ready(); err != nil {
		t.Error(err)
	}
}

// Fact 4, when Slack cannot say so: connections that are lost are replaced as soon as a ping is not answered.
func TestFact04LostConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	r := w.start(false, func(o *slack.Options) { o.Ping = time.Second })
	natstest.Eventually(t, "two connections", func() bool { _, live := w.fake.Connections(); return live == 2 })
	w.fake.Lose()
	natstest.Eventually(t, "two others", func() bool {
		_, live := w.fake.Connections()
		return live == 2 && w.fake.Opened() >= 4 && r.Ready() == nil
	})
	w.ask(ask.Ask{ID: "a1"})
	acked(t, w.fake.Click("U0TOM", w.card("a1").Place, "PostgreSQL"))
}

// Fact 5: an acknowledgement must come within three seconds. We store first; if that takes long we
// acknowledge and report the result in the form.
func TestFact05LateStoreIsFollowedUp(t *testing.T) {
	t.Parallel()
	slow := make(chan struct{})
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	w.start(true, func(o *slack.Options) { o.AckAfter = 50 * time.Millisecond })
	k := w.ask(ask.Ask{ID: "a1", Questions: []ask.Question{{ID: "n", Kind: ask.KindText, Text: "Name?"}}})
	at := w.card("a1").Place
	w.fake.Intercept(func(method, _ string, done bool) (time.Duration, error) {
		if method == "users.info" && !done {
			<-slow
		}
		return 0, nil
	})
	acked(t, w.fake.Click("U0TOM", at, "Answer…"))
	natstest.Eventually(t, "the form", func() bool { _, ok := w.fake.Modal("U0TOM"); return ok })
	d := w.fake.Submit("U0TOM", map[string]fakeslack.Input{"Name?": {Text: "ledger"}})
	acked(t, d)
	if v, ok := w.fake.Modal("U0TOM"); !ok || !strings.Contains(v.Shown(), "on its way") || w.outcome(k) != nil {
		t.Errorf("after the late acknowledgement: %v %q", ok, v.Shown())
	}
	close(slow)
	natstest.Eventually(t, "the form says that it is stored", func() bool {
		v, _ := w.fake.Modal("U0TOM")
		return strings.Contains(v.Shown(), "Your answer is stored.")
	})
	if o := w.outcome(k); o == nil || o.Answers[0].Text != "ledger" {
		t.Errorf("the outcome is %+v", o)
	}
}

// Fact 6: methods have tiers, and channels allow one message per second. No call is refused for
// long, every card becomes current, and the clicked card goes first.
func TestFact06Tiers(t *testing.T) {
	t.Parallel()
	wall := fakeslack.Wall{Speed: 60}
	w := newWorld(t, fakeslack.Options{Clock: wall})
	w.start(true, func(o *slack.Options) { o.Clock = wall })
	const n = 70
	keys := make([]ask.Key, n)
	for i := range n {
		keys[i] = w.ask(ask.Ask{ID: fmt.Sprint("a", i)})
	}
	for i := range n {
		w.card(fmt.Sprint("a", i))
	}
	for i := range n - 1 {
		if _, err := w.other.Answer(t.Context(), keys[i], ask.Reply{Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"lite"}}}, By: ask.By{Principal: "os:mei", Name: "Mei"}}); err != nil {
			t.Fatal(err)
		}
	}
	acked(t, w.fake.Click("U0TOM", w.card(fmt.Sprint("a", n-1)).Place, "PostgreSQL"))
	w.dead(fmt.Sprint("a", n-1))
	for i := range n {
		w.dead(fmt.Sprint("a", i))
	}
	if refused := w.fake.Count("chat.update ratelimited") + w.fake.Count("chat.postMessage ratelimited"); refused > 5 {
		t.Errorf("%d calls were refused with 429", refused)
	}
}

// Fact 10: an ephemeral message is for a late answer, never for a question.
func TestFact10EphemeralsAreOnlyForLateAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	w.start(true, nil)
	k := w.ask(ask.Ask{ID: "a1"})
	at := w.card("a1").Place
	w.fake.Intercept(func(method, _ string, done bool) (time.Duration, error) {
		if method == "chat.update" && !done {
			return 0, fmt.Errorf("not yet")
		}
		return 0, nil
	})
	if n := len(w.fake.Ephemerals()); n != 0 {
		t.Errorf("%d ephemerals", n)
	}
	if _, err := w.other.Answer(t.Context(), k, ask.Reply{Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"lite"}}}, By: ask.By{Principal: "os:mei", Name: "Mei"}}); err != nil {
		t.Fatal(err)
	}
	acked(t, w.fake.Click("U0TOM", at, "PostgreSQL"))
	w.told("U0TOM", "Mei")
	w.fake.Intercept(nil)
	w.dead("a1")
}

// Fact 11: a card in a thread notifies nobody by itself. So each card is a message of its own, linked
// to the one before it of its session, and an ask for one person is a direct message.
func TestFact11EachCardIsAMessageOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	r := w.start(true, nil)
	w.ask(ask.Ask{ID: "a1"})
	first := w.posted("a1")
	w.ask(ask.Ask{ID: "a2", Audience: []string{"group:platform", "chat:tom"}})
	second := w.posted("a2")
	w.ask(ask.Ask{ID: "a3", Audience: []string{"chat:ann"}})
	third := w.posted("a3")
	if first.Thread != "" || second.Thread != "" || strings.Contains(first.Shown(), "session <") {
		t.Errorf("threads: %q %q; the first says %q", first.Thread, second.Thread, first.Shown())
	}
	link := func(m fakeslack.Message) string {
		return "session <https://home.slack.com/archives/C0ASKS/p" + strings.ReplaceAll(m.TS, ".", "") + "|s1>"
	}
	if text := second.Shown(); !strings.Contains(text, "<!subteam^S0PLATFORM> <@U0TOM>") || !strings.Contains(text, link(first)) {
		t.Errorf("nobody is mentioned, or its session is not linked: %q", text)
	}
	if !strings.HasPrefix(third.Channel, "D") {
		t.Errorf("what is for Ann is in %s", third.Channel)
	}
	for _, m := range w.fake.Messages("") {
		if m.Unfurl {
			t.Error("a card unfurls")
		}
	}
	r.stop()
	w.start(true, nil) // another replica knows the session's cards from their receipts
	w.ask(ask.Ask{ID: "a4"})
	if text := w.posted("a4"); !strings.Contains(text.Shown(), link(second)) {
		t.Errorf("the other replica's card says %q", text.Shown())
	}
}

// With threads a session's later cards are in the thread of its first one, and mention who may answer
// or are shown in the channel as well.
func TestThreadsMentionOrBroadcast(t *testing.T) {
	t.Parallel()
	for _, threads := range []string{"mention", "broadcast"} {
		t.Run(threads, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, fakeslack.Options{NoLimits: true})
			with := func(o *slack.Options) { o.Routes.Default.Threads = threads }
			r := w.start(true, with)
			w.ask(ask.Ask{ID: "a1"})
			first := w.posted("a1")
			for _, c := range []struct {
				a         ask.Ask
				broadcast bool
			}{
				{ask.Ask{ID: "a2", Audience: []string{"group:platform"}}, threads == "broadcast"},
				{ask.Ask{ID: "a3"}, true}, // there is nobody to mention
				{ask.Ask{ID: "a4", Audience: []string{"group:platform"}, Priority: ask.PriorityUrgent}, true},
			} {
				w.ask(c.a)
				m := w.posted(c.a.ID)
				if m.Thread != first.TS || m.Broadcast != c.broadcast || len(c.a.Audience) > 0 != strings.Contains(m.Shown(), "<!subteam^S0PLATFORM>") {
					t.Errorf("%s is in the thread %q, broadcast %v: %q", c.a.ID, m.Thread, m.Broadcast, m.Shown())
				}
			}
			r.stop()
			w.start(true, with) // another replica finds the thread by the receipts
			w.ask(ask.Ask{ID: "a5"})
			if m := w.posted("a5"); m.Thread != first.TS {
				t.Errorf("the other replica posts to the thread %q", m.Thread)
			}
		})
	}
}

// Fact 12: members of the channel may click; the audience may answer. A group that cannot be read
// has no members.
func TestFact12AudienceNotMembership(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	w.start(true, nil)
	k := w.ask(ask.Ask{ID: "a1", Audience: []string{"group:platform"}})
	at := w.card("a1").Place
	w.fake.Intercept(func(method, _ string, done bool) (time.Duration, error) {
		if method == "usergroups.users.list" && !done {
			return 0, fmt.Errorf("down")
		}
		return 0, nil
	})
	acked(t, w.fake.Click("U0ANN", at, "PostgreSQL"))
	w.told("U0ANN", "The question stays open")
	w.fake.Intercept(nil)
	acked(t, w.fake.Click("U0TOM", at, "PostgreSQL"))
	w.told("U0TOM", "You may not answer this one")
	if m := w.card("a1"); w.outcome(k) != nil || !m.Live() {
		t.Fatal("a refused click ended it")
	}
	acked(t, w.fake.Click("U0ANN", at, "PostgreSQL"))
	if o := w.outcome(k); o == nil || o.By.Name != "Ann" {
		t.Errorf("the outcome is %+v", o)
	}
}

// What only one person sees is in the language of their Slack.
func TestAPersonIsToldInTheirLanguage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	w.fake.AddUser(fakeslack.User{ID: "U0TOM", Name: "Tom", Lang: "zh-CN"})
	w.start(true, nil)
	w.ask(ask.Ask{ID: "a1", Audience: []string{"group:platform"}})
	acked(t, w.fake.Click("U0TOM", w.card("a1").Place, "PostgreSQL"))
	w.told("U0TOM", "提问仍然开放")
}

func TestTheAskerIsExcluded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	w.start(true, nil)
	k := w.ask(ask.Ask{ID: "a1", ExcludeAsker: true, Asker: []string{"os:ann", "chat:ann"}})
	at := w.card("a1").Place
	acked(t, w.fake.Click("U0ANN", at, "PostgreSQL"))
	w.told("U0ANN", "You asked this, so somebody else has to decide")
	if w.outcome(k) != nil {
		t.Fatal("the asker's click ended it")
	}
	acked(t, w.fake.Click("U0TOM", at, "PostgreSQL"))
	if o := w.outcome(k); o == nil || o.By.Principal != "chat:tom" {
		t.Errorf("the outcome is %+v", o)
	}
}

// Fact 13: in a grid the click's team differs from the post's; external users of a shared channel
// are refused unless they are listed.
func TestFact13GridAndStrangers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true, Enterprise: "E0GRID"})
	w.fake.AddUser(fakeslack.User{ID: "U0FAR", Name: "Far", Team: "T0FAR"})
	w.start(true, func(o *slack.Options) { o.Strangers = []string{"T0PARTNER"}; o.Routes.People = nil })
	w.fake.ClickFrom("T0OTHER")
	k := w.ask(ask.Ask{ID: "a1", Audience: []string{"slack:E0GRID/U0TOM"}})
	acked(t, w.fake.Click("U0TOM", w.card("a1").Place, "PostgreSQL"))
	if o := w.outcome(k); o == nil || o.By.Principal != "slack:E0GRID/U0TOM" {
		t.Errorf("the outcome is %+v", o)
	}

	plain := newWorld(t, fakeslack.Options{NoLimits: true})
	plain.fake.AddUser(fakeslack.User{ID: "U0FAR", Name: "Far", Team: "T0FAR"})
	plain.fake.AddUser(fakeslack.User{ID: "U0PAR", Name: "Par", Team: "T0PARTNER"})
	plain.fake.AddChannel(fakeslack.Channel{ID: "C0ASKS", Name: "asks", Members: []string{"U0FAR", "U0PAR", fakeslack.BotUser}})
	refused := make(chan chat.Refusal, 10)
	plain.start(true, func(o *slack.Options) {
		o.Strangers = []string{"T0PARTNER"}
		o.Refused = func(f chat.Refusal) { refused <- f }
	})
	k = plain.ask(ask.Ask{ID: "a1"})
	at := plain.card("a1").Place
	acked(t, plain.fake.Click("U0FAR", at, "PostgreSQL"))
	plain.told("U0FAR", "Slack Connect")
	if plain.outcome(k) != nil {
		t.Fatal("a stranger answered")
	}
	if f := <-refused; f.What != "answer" || f.Code != ask.CodeForbidden || f.By.Principal != "slack:T0FAR/U0FAR" || f.Ask != k || !strings.Contains(f.Why, "T0FAR") {
		t.Errorf("reported is %+v", f)
	}
	acked(t, plain.fake.Click("U0PAR", at, "PostgreSQL"))
	if o := plain.outcome(k); o == nil || o.By.Principal != "slack:T0PARTNER/U0PAR" {
		t.Errorf("the outcome is %+v", o)
	}
}

// A user is of the workspace that Slack says, also where an action names only
// that of the channel: a stranger in a shared channel is no member of ours.
func TestAStrangersActionNamesOurWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	w.fake.AddUser(fakeslack.User{ID: "U0FAR", Name: "Far", Team: "T0FAR"})
	w.fake.AddChannel(fakeslack.Channel{ID: "C0ASKS", Name: "asks", Members: []string{"U0FAR", "U0TOM", fakeslack.BotUser}})
	refused := make(chan chat.Refusal, 10)
	r := w.start(true, func(o *slack.Options) { o.Refused = func(f chat.Refusal) { refused <- f } })
	k := w.ask(ask.Ask{ID: "a1"})
	click := func(user string) {
		var payload map[string]any
		if err := json.Unmarshal([]byte(w.fake.ClickPayload(user, w.card("a1").Place, "PostgreSQL")), &payload); err != nil {
			t.Fatal(err)
		}
		delete(payload["user"].(map[string]any), "team_id")
		bare, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		body := "payload=" + url.QueryEscape(string(bare))
		req := httptest.NewRequest(http.MethodPost, "/slack/interactions", strings.NewReader(body))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w.fake.Sign(req.Header, []byte(body), time.Now())
		r.Handler().ServeHTTP(httptest.NewRecorder(), req)
	}
	click("U0FAR")
	if f := <-refused; f.Code != ask.CodeForbidden || !strings.Contains(f.Why, "T0FAR") || w.outcome(k) != nil {
		t.Errorf("a stranger's click: %+v, outcome %+v", f, w.outcome(k))
	}
	click("U0TOM")
	if w.outcome(k) == nil {
		t.Error("a member's click does not count")
	}
}

// A payload that names no user is refused over every transport: it would be an answer of nobody.
func TestAPayloadWithoutAUserIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	refused := make(chan chat.Refusal, 10)
	r := w.start(true, func(o *slack.Options) { o.Refused = func(f chat.Refusal) { refused <- f } })
	k := w.ask(ask.Ask{ID: "a1"})
	at := w.card("a1")
	send := func(path, kind, body string) int {
		req := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		req.Header.Set("Content-Type", kind)
		w.fake.Sign(req.Header, []byte(body), time.Now())
		res := httptest.NewRecorder()
		r.Handler().ServeHTTP(res, req)
		return res.Code
	}
	const form = "application/x-www-form-urlencoded"
	for _, id := range []string{"", " ", "\t"} {
		var payload map[string]any
		if err := json.Unmarshal([]byte(w.fake.ClickPayload("U0TOM", at.Place, "PostgreSQL")), &payload); err != nil {
			t.Fatal(err)
		}
		payload["user"].(map[string]any)["id"] = id
		bare, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		if got := send(slack.PathInteractions, form, "payload="+url.QueryEscape(string(bare))); got != http.StatusBadRequest {
			t.Errorf("a click of user %q: %d", id, got)
		}
		if f := <-refused; f.Code != ask.CodeInvalid || !strings.Contains(f.Why, "user.id") || f.By.Principal != "" {
			t.Errorf("reported is %+v", f)
		}
		if got := send(slack.PathCommands, form, "command=%2Faskbus&team_id=T0HOME&user_id="+url.QueryEscape(id)); got != http.StatusBadRequest {
			t.Errorf("a command of user %q: %d", id, got)
		}
		said, err := json.Marshal(map[string]any{"type": "event_callback", "event": map[string]any{
			"type": "message", "user": id, "team": "T0HOME", "channel": "C0ASKS", "ts": "99.000001", "thread_ts": at.TS, "text": "answer: 1",
		}})
		if err != nil {
			t.Fatal(err)
		}
		if got := send(slack.PathEvents, "application/json", string(said)); got != http.StatusOK { // Slack's own messages have none
			t.Errorf("an event of user %q: %d", id, got)
		}
	}
	if w.outcome(k) != nil {
		t.Error("nobody answered it")
	}
}

// Fact 14: Slack's methods for agents are optional. A card's life needs none of them, and no
// history.
func TestFact14NoAgentMethodsAreNeeded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true, Scopes: []string{"chat:write", "chat:write.public"}})
	w.start(true, nil)
	w.ask(ask.Ask{ID: "a1"})
	acked(t, w.fake.Click("U0TOM", w.card("a1").Place, "PostgreSQL"))
	if text := w.dead("a1"); !strings.Contains(text, "PostgreSQL") {
		t.Errorf("the card says %q", text)
	}
	for _, c := range w.fake.Calls() {
		if c.Error == "unknown_method" || strings.HasPrefix(c.Method, "conversations.") {
			t.Errorf("it called %s: %s", c.Method, c.Error)
		}
	}
}

// Fact 15: the signature covers the raw body and is valid for five minutes; it does not cover the
// query.
func TestFact15Signature(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	refused := make(chan chat.Refusal, 10)
	r := w.start(true, func(o *slack.Options) { o.Refused = func(f chat.Refusal) { refused <- f } })
	k := w.ask(ask.Ask{ID: "a1"})
	m := w.card("a1")
	forged := w.fake.ClickPayload("U0TOM", m.Place, "PostgreSQL")
	form := "payload=" + url.QueryEscape(forged)
	send := func(target, body string, at time.Time, change func(http.Header)) int {
		req := httptest.NewRequest(http.MethodPost, target, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w.fake.Sign(req.Header, []byte(body), at)
		if change != nil {
			change(req.Header)
		}
		res := httptest.NewRecorder()
		r.Handler().ServeHTTP(res, req)
		return res.Code
	}
	now := time.Now()
	for _, c := range []struct {
		name   string
		target string
		body   string
		at     time.Time
		change func(http.Header)
		want   int
	}{
		{"a payload in the query, the body signed", slack.PathInteractions + "?" + form, "x=1", now, nil, 400},
		{"a payload in the query, an empty body signed", slack.PathInteractions + "?" + form, "", now, nil, 400},
		{"a signed body without a payload", slack.PathInteractions, "x=1", now, nil, 400},
		{"six minutes old", slack.PathInteractions, form, now.Add(-6 * time.Minute), nil, 401},
		{"six minutes ahead", slack.PathInteractions, form, now.Add(6 * time.Minute), nil, 401},
		{"no signature", slack.PathInteractions, form, now, func(h http.Header) { h.Del("X-Slack-Signature") }, 401},
		{"another signature", slack.PathInteractions, form, now, func(h http.Header) { h.Set("X-Slack-Signature", "v0="+strings.Repeat("0", 64)) }, 401},
		{"a body changed after signing", slack.PathInteractions, form, now, func(h http.Header) { w.fake.Sign(h, []byte(form+"&x=1"), now) }, 401},
		{"another time than was signed", slack.PathInteractions, form, now, func(h http.Header) { h.Set("X-Slack-Request-Timestamp", fmt.Sprint(now.Unix()+1)) }, 401},
		{"too large", slack.PathInteractions, form + strings.Repeat("x", 1<<20), now, nil, 413},
		{"as JSON", slack.PathInteractions, form, now, func(h http.Header) { h.Set("Content-Type", "application/json") }, 400},
	} {
		if got := send(c.target, c.body, c.at, c.change); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
		var told chat.Refusal
		select {
		case told = <-refused: // before the response
		default:
		}
		if isTold := told.What == "POST "+slack.PathInteractions && told.Code == ask.CodeUnauthorized && told.Why != "" && told.Address == "192.0.2.1" && told.By.Principal == ""; isTold != (c.want == 401) {
			t.Errorf("%s: reported is %+v", c.name, told)
		}
	}
	if w.outcome(k) != nil {
		t.Fatal("a refused request answered")
	}
	if got := send(slack.PathInteractions, form, now, nil); got != 200 {
		t.Errorf("signed: %d", got)
	}
	if w.outcome(k) == nil {
		t.Error("the signed click did not count")
	}
	if got := send(slack.PathInteractions, form, now, nil); got != 200 { // replayed: the same answer
		t.Errorf("replayed: %d", got)
	}
}
