package teams_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/teams"
	"github.com/askbus/askbus/internal/lab/faketeams"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/askbus/askbus/pkg/responder/respondertest"
	"github.com/google/go-cmp/cmp"
)

// Several questions of every kind are one form; what is wrong with it is told to its sender, and the outcome replaces it.
func TestOneFormForSeveralQuestions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(responder.WallClock())
	w.Ask(ask.Ask{ID: "a1", Questions: []ask.Question{
		{ID: "db", Text: "Which database?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}, {ID: "lite", Label: "SQLite"}}},
		{ID: "env", Text: "Which environments?", Multiple: true, Options: []ask.Option{{ID: "dev", Label: "Dev"}, {ID: "prod", Label: "Prod"}, {ID: "qa", Label: "QA"}}},
		{ID: "ok", Kind: ask.KindBoolean, Text: "With a backup?"},
		{ID: "n", Kind: ask.KindNumber, Text: "How many?"},
		{ID: "on", Kind: ask.KindDate, Text: "When?", Optional: true},
		{ID: "name", Kind: ask.KindText, Text: "Which name?"},
	}})
	m := w.opened("Which name?")
	fields := map[string]string{"q0": "1", "q1": "0,2", "q2": "0", "q3": "many", "q5": "orders"}
	if told := w.press(mei, m, "Send", fields); !strings.Contains(told, "Type a number") {
		t.Errorf("an invalid form is told %q", told)
	}
	fields["q3"] = "2.5"
	if told := w.press(mei, m, "Send", fields); told != "" {
		t.Errorf("told %q", told)
	}
	o := w.Wait("a1")
	a := o.Answers
	if len(a) != 6 || a[0].Selected[0] != "lite" || strings.Join(a[1].Selected, " ") != "dev qa" || !*a[2].Boolean || *a[3].Number != 2.5 || !a[4].Skipped || a[5].Text != "orders" {
		t.Errorf("the answers are %+v", a)
	}
	if o.By == nil || o.By.Principal != "teams:"+faketeams.Tenant+"/"+mei.Object || o.By.Proof != ask.ProofTeams || o.By.Name != "Mei" {
		t.Errorf("by %+v", o.By)
	}
	ended := w.message("the outcome", func(m *faketeams.Message) bool { return !m.Open() && strings.Contains(m.Shown(), "Mei answered") })
	if told, shown, err := w.fake.Invoke(t.Context(), tom, &ended, ended.Data()); err != nil || told != "" || shown == nil {
		t.Errorf("a refresh of the outcome: %q, %v, %v", told, shown, err)
	}
}

// A channel's id is no conversation: each ask begins a thread, which its words belong to. Talk there decides nothing.
func TestThreadOfAChannel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tune = func(o *teams.Options) { o.Routes.Default.Channel = channel }
	w.start(responder.WallClock())
	w.Ask(chattest.Choice("a1", "Which database?"))
	w.Ask(chattest.Choice("a2", "Which other database?"))
	m := w.opened("Which database?")
	if !strings.HasPrefix(m.Conversation, channel+";messageid=") {
		t.Fatalf("it is in %s", m.Conversation)
	}
	say := func(words string, mentioned bool) {
		t.Helper()
		if err := w.fake.Write(t.Context(), mei, m.Conversation, words, mentioned); err != nil {
			t.Fatal(err)
		}
	}
	told := func(words string) {
		t.Helper()
		w.message("told "+words, func(m *faketeams.Message) bool { return strings.Contains(m.Text, words) })
	}
	say("id", true)
	told(mei.Object)
	say("I would take SQLite, I think", false)
	told("not taken as an answer")
	say("PostgreSQL", true)
	if o := w.Wait("a1"); o.Answers[0].Selected[0] != "pg" {
		t.Errorf("the outcome is %+v", o)
	}
	say("SQLite", true)
	told("No question is open in this thread")
	w.message("the other is open", func(m *faketeams.Message) bool { return m.Open() && strings.Contains(m.Shown(), "Which other") })
}

// Whom Teams told one replica, another can write to, also after the first has stopped.
func TestAnotherReplicaWritesToThePerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := w.start(responder.WallClock())
	if err := w.fake.Install(t.Context(), tom); err != nil {
		t.Fatal(err)
	}
	stop() // waits for the work behind the delivery
	stop = w.start(responder.WallClock())
	a := chattest.Choice("a1", "Which database?")
	a.Audience = []string{"chat:tom"}
	w.Ask(a)
	m := w.opened("Which database?")
	if m.Conversation != "a:"+tom.Object {
		t.Fatalf("it is in %s", m.Conversation)
	}
	if told := w.press(tom, m, "⭐ PostgreSQL", nil); told != "" {
		t.Errorf("told %q", told)
	}
	if o := w.Wait("a1"); o.By.Principal != "chat:tom" {
		t.Errorf("by %+v", o.By)
	}
	gone := w.fake.Activity("installationUpdate", tom, "a:"+tom.Object)
	gone["action"] = "remove"
	if _, _, err := w.fake.Deliver(t.Context(), gone, w.fake.Sign(faketeams.Claims{})); err != nil {
		t.Fatal(err)
	}
	stop()
	w.start(responder.WallClock())
	a.ID, a.Questions[0].Text = "a2", "Which now?"
	w.Ask(a)
	if m := w.opened("Which now?"); m.Conversation != room {
		t.Errorf("after he removed the app it is in %s", m.Conversation)
	}
}

// Who may not answer is told so, and the ask stays open: a guest who is not listed, a bot, somebody from another
// directory, and whoever sends what was drawn for another conversation.
func TestWhoMayNotAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(responder.WallClock())
	w.Ask(chattest.Choice("a1", "Which database?"))
	m := w.opened("Which database?")
	if told := w.press(guest, m, "SQLite", nil); !strings.Contains(told, "Guests may not answer") {
		t.Errorf("a guest is told %q", told)
	}
	bot := faketeams.Person{Object: "", Name: "another bot"}
	if told := w.press(bot, m, "SQLite", nil); !strings.Contains(told, "Only a person") {
		t.Errorf("a bot is told %q", told)
	}
	elsewhere := *m
	elsewhere.Conversation = oncall
	for _, do := range []string{"choose", "refresh"} {
		told, shown, err := w.fake.Invoke(t.Context(), ann, &elsewhere, map[string]any{"askbus": m.Data()["askbus"], "do": do, "option": 1})
		if err != nil || !strings.Contains(told, "not asked here") || shown != nil {
			t.Errorf("%s of another conversation: %q, %v, %v", do, told, shown, err)
		}
	}
	if rec, err := w.Other.Get(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}); err != nil || rec.Outcome != nil {
		t.Errorf("it ended: %+v, %v", rec.Outcome, err)
	}
	listed := newWorld(t)
	listed.tune = func(o *teams.Options) { o.Guests = []string{strings.ToUpper(guest.Object)} }
	listed.start(responder.WallClock())
	listed.Ask(chattest.Choice("a1", "Which database?"))
	if told := listed.press(guest, listed.opened("Which database?"), "SQLite", nil); told != "" {
		t.Errorf("a listed guest is told %q", told)
	}
}

// Only what the connector signs for this app and this address is taken, and only of this directory.
func TestWhoMaySend(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(responder.WallClock())
	deliver := func(authorization string, change func(map[string]any)) int {
		t.Helper()
		a := w.fake.Activity("message", mei, room)
		a["text"] = "hello"
		if change != nil {
			change(a)
		}
		status, _, err := w.fake.Deliver(t.Context(), a, authorization)
		if err != nil {
			t.Fatal(err)
		}
		return status
	}
	f := w.fake
	other := faketeams.Start()
	t.Cleanup(other.Close)
	now := time.Now()
	got := map[string]int{
		"signed":             deliver(f.Sign(faketeams.Claims{}), nil),
		"for api://botid-":   deliver(f.Sign(faketeams.Claims{Audience: "api://botid-" + faketeams.App}), nil),
		"for api://":         deliver(f.Sign(faketeams.Claims{Audience: "api://" + faketeams.App}), nil),
		"ended 4 min ago":    deliver(f.Sign(faketeams.Claims{Expires: now.Add(-4 * time.Minute)}), nil),
		"nothing":            deliver("", nil),
		"no token":           deliver("Bearer x.y.z", nil),
		"ended 6 min ago":    deliver(f.Sign(faketeams.Claims{Expires: now.Add(-6 * time.Minute)}), nil),
		"begins in 6 min":    deliver(f.Sign(faketeams.Claims{Expires: now.Add(2*time.Hour + 6*time.Minute)}), nil),
		"another app":        deliver(f.Sign(faketeams.Claims{Audience: faketeams.Tenant}), nil),
		"another issuer":     deliver(f.Sign(faketeams.Claims{Issuer: "https://sts.windows.net/" + faketeams.Tenant + "/"}), nil),
		"another serviceurl": deliver(f.Sign(faketeams.Claims{ServiceURL: "https://evil.example"}), nil),
		"another body":       deliver(f.Sign(faketeams.Claims{}), func(a map[string]any) { a["serviceUrl"] = "https://evil.example" }),
		"no serviceUrl":      deliver(f.Sign(faketeams.Claims{}), func(a map[string]any) { delete(a, "serviceUrl") }),
		"another channel":    deliver(f.Sign(faketeams.Claims{}), func(a map[string]any) { a["channelId"] = "webchat" }),
		"an unknown key":     deliver(f.Sign(faketeams.Claims{KeyID: "other"}), nil),
		"another signer":     deliver(other.Sign(faketeams.Claims{ServiceURL: f.URL()}), nil),
		"another directory":  deliver(f.Sign(faketeams.Claims{}), func(a map[string]any) { a["conversation"].(map[string]any)["tenantId"] = faketeams.App }),
		"no directory": deliver(f.Sign(faketeams.Claims{}), func(a map[string]any) {
			delete(a["conversation"].(map[string]any), "tenantId")
			delete(a, "channelData")
		}),
	}
	const ok, no, other403 = http.StatusAccepted, http.StatusUnauthorized, http.StatusForbidden
	want := map[string]int{
		"signed": ok, "for api://botid-": ok, "for api://": ok, "ended 4 min ago": ok, "nothing": no, "no token": no, "ended 6 min ago": no, "begins in 6 min": no,
		"another app": no, "another issuer": no, "another serviceurl": no, "another body": no, "no serviceUrl": no, "another channel": no, "an unknown key": no,
		"another signer": no, "another directory": other403, "no directory": other403,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// While the app is being connected it has no bus: before and after it pairs it takes nothing.
func TestWithoutABusItTakesNothing(t *testing.T) {
	t.Parallel()
	f := home(t)
	app, err := teams.New(nil, options(f))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(app.Handler())
	t.Cleanup(func() { srv.Close(); app.Drain() })
	f.Bot(srv.URL + teams.PathMessages)
	words := f.Activity("message", mei, room)
	words["text"] = "hello"
	press := f.Activity("message", mei, room)
	press["value"] = map[string]any{"do": "choose", "option": 0, "askbus": "acme/s1/a1#1"}
	for name, a := range map[string]map[string]any{"words": words, "a press": press, "an installation": f.Activity("installationUpdate", mei, room)} {
		if status, _, err := f.Deliver(t.Context(), a, f.Sign(faketeams.Claims{})); err != nil || status != http.StatusServiceUnavailable {
			t.Errorf("%s: status %d, %v", name, status, err)
		}
	}
}

// A press is acknowledged in time although its answer is not stored yet, and its person told later if it was not.
func TestSlowStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tune = func(o *teams.Options) { o.AckAfter = time.Nanosecond }
	w.start(responder.WallClock())
	w.Ask(chattest.Choice("a1", "Which database?"))
	m := w.opened("Which database?")
	if told := w.press(mei, m, "SQLite", nil); !strings.Contains(told, "on its way") {
		t.Errorf("told %q", told)
	}
	w.Wait("a1")
	w.press(tom, m, "SQLite", nil)
	w.message("Tom is told who was first", func(m *faketeams.Message) bool { return strings.Contains(m.Text, "Mei") && m.Conversation == room })
}

// Older clients send an action as a message.
func TestOlderClients(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(responder.WallClock())
	w.Ask(ask.Ask{ID: "a1", Questions: []ask.Question{{ID: "name", Kind: ask.KindText, Text: "Which name?"}}})
	m := w.opened("Which name?")
	if err := w.fake.Submit(t.Context(), mei, m, "Send", nil); err != nil {
		t.Fatal(err)
	}
	w.message("an empty form is told so", func(m *faketeams.Message) bool { return strings.Contains(m.Text, "needs an answer") })
	if err := w.fake.Submit(t.Context(), mei, m, "Send", map[string]string{"q0": "orders"}); err != nil {
		t.Fatal(err)
	}
	if o := w.Wait("a1"); o.Answers[0].Text != "orders" {
		t.Errorf("the outcome is %+v", o)
	}
}

// A destructive option is confirmed, a vote has its reason and can be taken back, and declining has one, too.
func TestWhatNeedsMoreThanAPress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(responder.WallClock())
	w.Ask(ask.Ask{ID: "a1", Questions: []ask.Question{{ID: "do", Text: "Drop it?", Options: []ask.Option{{ID: "drop", Label: "Drop", Destructive: true}, {ID: "keep", Label: "Keep"}}}}})
	m := w.opened("Drop it?")
	if told := w.press(mei, m, "Send", map[string]string{"q0": "0"}); !strings.Contains(told, "is destructive") {
		t.Errorf("told %q", told)
	}
	if told := w.press(mei, m, "Send", map[string]string{"q0": "0", "sure": "true"}); told != "" {
		t.Errorf("told %q", told)
	}
	if told := w.press(tom, m, "Send", map[string]string{"q0": "1"}); !strings.Contains(told, "Mei") {
		t.Errorf("who is late is told %q", told)
	}
	w.Ask(ask.Ask{
		ID: "a2", Questions: []ask.Question{{ID: "ok", Kind: ask.KindBoolean, Text: "Deploy?"}},
		Approval: &ask.Approval{AnyOf: []ask.Alternative{{Need: 2, From: []string{"chat:tom", "group:platform"}, Reason: ask.ReasonRequired, ReasonPrompt: "the ticket", ReasonPattern: "^OPS-[0-9]+"}}, Deny: &ask.Denial{Need: 2}},
	})
	if told := w.press(tom, w.opened("Deploy?"), "Vote", map[string]string{"q0": "0", "n0": "because"}); !strings.Contains(told, "Not stored") {
		t.Errorf("told %q", told)
	}
	if told := w.press(tom, w.opened("Deploy?"), "Vote", map[string]string{"q0": "0", "n0": "OPS-17"}); !strings.Contains(told, "1 of 2") {
		t.Errorf("told %q", told)
	}
	voted := w.opened("approved: OPS-17")
	if told := w.press(mei, voted, "Vote", map[string]string{"q0": "0", "n0": "OPS-18"}); !strings.Contains(told, "may not") {
		t.Errorf("Mei is told %q", told)
	}
	if told := w.press(tom, voted, "Take the vote back", nil); !strings.Contains(told, "0 of 2") {
		t.Errorf("told %q", told)
	}
	w.press(ann, w.opened("took the vote back"), "Decline", map[string]string{"reason": "not today"})
	w.message("the vote against it", func(m *faketeams.Message) bool { return strings.Contains(m.Shown(), "not today") })
}

// Many asks and outcomes in one conversation stay within what Microsoft documents; calls that fail for a moment are
// repeated.
func TestLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	clock := new(respondertest.Clock)
	w.fake.Limit(clock.Now)
	w.start(clock)
	for _, status := range []int{http.StatusPreconditionFailed, http.StatusBadGateway, http.StatusGatewayTimeout} {
		w.fake.Fail(status, 1)
		id := fmt.Sprint("b", status)
		w.Ask(chattest.Choice(id, "Which "+id+"?"))
		w.opened("Which " + id + "?")
	}
	for i := range 25 {
		w.Ask(chattest.Choice(fmt.Sprint("a", i), fmt.Sprint("Which number ", i, "?")))
	}
	for i := range 25 {
		m := w.opened(fmt.Sprint("Which number ", i, "?"))
		if _, err := w.Agent.Withdraw(t.Context(), fmt.Sprint("a", i), ""); err != nil {
			t.Fatal(err)
		}
		w.message("the outcome", func(now *faketeams.Message) bool { return now.ID == m.ID && !now.Open() })
	}
	if n := w.fake.Throttled(); n > 0 {
		t.Errorf("%d calls exceeded the limits", n)
	}
}

// A question too large for a message is a short card with a link; what is deleted is not posted again.
func TestTooLargeAndDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tune = func(o *teams.Options) { o.Link = respondertest.Link }
	w.start(responder.WallClock())
	a := chattest.Choice("a1", "Which database?")
	for i := range 98 {
		a.Questions[0].Options = append(a.Questions[0].Options, ask.Option{ID: fmt.Sprint("o", i), Label: fmt.Sprint(i, strings.Repeat("很长", 60)), Description: strings.Repeat("描述", 300)})
	}
	w.Ask(a)
	m := w.opened("Not everything fits here")
	if !strings.Contains(m.Shown(), respondertest.Link(ask.Key{Tenant: "acme", Session: "s1", ID: "a1"})) {
		t.Errorf("no link in %s", m.Shown())
	}
	w.fake.Delete(m.Conversation, m.ID)
	if _, err := w.Agent.Withdraw(t.Context(), "a1", ""); err != nil {
		t.Fatal(err)
	}
	w.Ask(chattest.Choice("a2", "Which next?"))
	w.opened("Which next?")
	if n := len(w.fake.Messages()); n != 1 {
		t.Errorf("%d messages", n)
	}
}

// A wrong secret makes the surface not ready; the doctor names what is wrong and what to do, without the secret.
func TestRevokedAndDoctor(t *testing.T) {
	t.Parallel()
	f := home(t)
	o := options(f)
	o.Routes.Rules = []chat.Rule{{Match: chat.Match{Session: "s1"}, To: chat.Target{Channel: "19:nowhere@thread.tacv2"}}}
	app, err := teams.New(nil, o)
	if err != nil {
		t.Fatal(err)
	}
	check := func(want ...string) {
		t.Helper()
		var got []string
		for _, one := range app.Doctor(t.Context()) {
			got = append(got, string(one.State)+" "+one.What)
			if strings.Contains(one.Words, faketeams.Secret) {
				t.Errorf("%s has the secret: %s", one.What, one.Words)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	if app.Ready() == nil {
		t.Error("it is ready before it has a token")
	}
	check("ok secret", "ok keys", "ok channel "+room, "broken channel 19:nowhere@thread.tacv2", "ok group platform", "missing endpoint")
	if err := app.Ready(); err != nil {
		t.Error(err)
	}
	f.Revoke()
	app, err = teams.New(nil, o)
	if err != nil {
		t.Fatal(err)
	}
	check("broken secret")
	if app.Ready() == nil {
		t.Error("it is ready with a refused secret")
	}
}
