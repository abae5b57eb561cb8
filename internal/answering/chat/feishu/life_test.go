package feishu_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/feishu"
	"github.com/askbus/askbus/internal/lab/fakefeishu"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/google/go-cmp/cmp"
)

var database = ask.Ask{ID: "a1", Questions: []ask.Question{{ID: "db", Text: "Which database?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL", Recommended: true}, {ID: "lite", Label: "SQLite"}}}}}

// Several questions are one form: a choice, several, words, a number, a date, yes or no, with notes. What is missing is
// said, and nothing is stored.
func TestSeveralQuestionsInOneForm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(&surface{})
	w.Ask(ask.Ask{ID: "a1", Questions: []ask.Question{
		{ID: "db", Text: "Which database?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}, {ID: "lite", Label: "SQLite"}}},
		{ID: "env", Text: "Which environments?", Multiple: true, Options: []ask.Option{{ID: "dev", Label: "Dev"}, {ID: "prod", Label: "Prod"}, {ID: "qa", Label: "QA"}}},
		{ID: "name", Kind: ask.KindText, Text: "Which name?"},
		{ID: "n", Kind: ask.KindNumber, Text: "How many?"},
		{ID: "day", Kind: ask.KindDate, Text: "When?"},
		{ID: "ok", Kind: ask.KindBoolean, Text: "Now?"},
	}})
	m := w.open("Which environments?")
	form := map[string]any{"q0": "1", "n0": "as before", "q1_0": true, "q1_2": true, "q2": "orders", "q3": "many", "q4": "2026-11-25 +0800", "q5": "0"}
	if told := w.click(mei, m, "Send", form); !strings.Contains(told, "4. Type a number") {
		t.Errorf("told %q", told)
	}
	form["q3"] = "2.5"
	if told := w.click(mei, m, "Send", form); told != "Stored" {
		t.Errorf("told %q", told)
	}
	o := w.Wait("a1")
	got := o.Answers
	if len(got) != 6 || got[0].Selected[0] != "lite" || got[0].Notes != "as before" || strings.Join(got[1].Selected, " ") != "dev qa" || got[2].Text != "orders" || *got[3].Number != 2.5 || got[4].Date != "2026-11-25" || !*got[5].Boolean {
		t.Errorf("the answers are %+v", got)
	}
	if o.By == nil || o.By.Principal != "feishu:tenant1/on_mei" || o.By.Proof != ask.ProofFeishu || o.By.Name != "Mei" {
		t.Errorf("by %+v", o.By)
	}
	w.message("the outcome", func(m *fakefeishu.Message) bool { return !m.Open() && strings.Contains(m.Shown(), "Mei answered") })
}

// Buttons work after a restart, and on a card that another replica posted; a late press is told who was first, and its
// card is corrected. An answer of one's own is a field.
func TestClickAfterRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := w.start(&surface{})
	w.Ask(database)
	m := w.open("Which database?")
	stop()
	w.start(&surface{})
	if told := w.click(mei, m, "Send this as the answer", map[string]any{"o0": "CockroachDB"}); told != "Stored" {
		t.Errorf("told %q", told)
	}
	if o := w.Wait("a1"); o.Answers[0].Other != "CockroachDB" {
		t.Errorf("the outcome is %+v", o)
	}
	r := w.fake.Click(t.Context(), m, fakefeishu.Click{User: tom, Label: "⭐ PostgreSQL"})
	if !strings.Contains(r.Told, "Mei") || r.Card == nil || r.Err != nil {
		t.Errorf("a late press gets %+v", r)
	}
}

// Cards are Chinese where the route does not say otherwise, and English in Lark.
func TestLanguage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(&surface{tune: func(o *feishu.Options) { o.Routes.Default.Language = "" }})
	w.Ask(database)
	m := w.open("Which database?")
	if text := m.Shown(); !strings.Contains(text, "推荐") || !strings.Contains(text, "拒绝") {
		t.Errorf("the card says %q", text)
	}
	w.click(mei, m, "拒绝", nil)
	w.message("the outcome", func(m *fakefeishu.Message) bool { return !m.Open() && strings.Contains(m.Shown(), "Mei") })
}

// Talk below a card decides nothing; words that begin with "answer:" or a mention of the bot do. A person of another
// organization may not answer, unless the routing file names them.
func TestTalkDoesNotDecide(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(&surface{tune: func(o *feishu.Options) { o.Routes.People["chat:listed"] = "on_listed" }})
	w.fake.AddUser(fakefeishu.User{Union: "on_listed", Open: "ou_listed", Name: "Listed", Tenant: "elsewhere"}, group)
	allow := ask.Ask{ID: "a1", Questions: []ask.Question{{ID: "ok", Text: "Deploy?", Options: []ask.Option{{ID: "allow", Label: "Allow"}, {ID: "deny", Label: "Deny"}}}}}
	w.Ask(allow)
	m := w.open("Deploy?")
	w.write(tom, group, "allow? I would deny", m.ID, false)
	w.told("not taken as an answer")
	if told := w.click(guest, m, "Allow", nil); !strings.Contains(told, "feishu:elsewhere/on_guest") {
		t.Errorf("a guest is told %q", told)
	}
	w.write(guest, group, "allow", m.ID, true)
	w.told("Only members of this organization")
	w.write(tom, group, "nonsense", "", true)
	w.told("Please reply to the message of the question")
	w.write(tom, group, "/id", "", true)
	w.told("The id of this chat is oc_asks, yours is on_tom.")
	w.write(tom, group, " ALLOW", m.ID, true)
	if o := w.Wait("a1"); o.Answers[0].Selected[0] != "allow" || o.By.Principal != "chat:tom" {
		t.Errorf("the outcome is %+v by %+v", o.Answers, o.By)
	}
	w.write(ann, group, "deny", m.ID, true)
	w.told("Tom")
	allow.ID, allow.Questions[0].Text = "a2", "Again?"
	w.Ask(allow)
	w.click("on_listed", w.open("Again?"), "Deny", nil)
	if o := w.Wait("a2"); o.By.Principal != "chat:listed" {
		t.Errorf("by %+v", o.By)
	}
}

// A destructive option asks again: its button in the client, a form with a tick.
func TestDestructiveOptions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(&surface{})
	options := []ask.Option{{ID: "drop", Label: "Drop it", Destructive: true}, {ID: "keep", Label: "Keep it"}}
	w.Ask(ask.Ask{ID: "a1", Questions: []ask.Question{{ID: "q", Text: "One?", NoOther: true, Options: options}}})
	w.Ask(ask.Ask{ID: "a2", Questions: []ask.Question{{ID: "q", Text: "Several?", Multiple: true, Options: options}}})
	for _, b := range func() []fakefeishu.Button { m := w.open("One?"); return m.Buttons() }() {
		if b.Confirm != (b.Label == "Drop it") {
			t.Errorf("the button %q asks again: %v", b.Label, b.Confirm)
		}
	}
	m := w.open("Several?")
	if told := w.click(tom, m, "Send", map[string]any{"q0_0": true}); !strings.Contains(told, "destructive") {
		t.Errorf("told %q", told)
	}
	w.click(tom, m, "Send", map[string]any{"q0_0": true, "sure": true})
	if o := w.Wait("a2"); o.Answers[0].Selected[0] != "drop" {
		t.Errorf("the outcome is %+v", o)
	}
}

// A vote that needs a reason is a form; it can be taken back.
func TestAVoteWithItsReasonIsTakenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(&surface{})
	w.Ask(ask.Ask{
		ID: "a1", Questions: []ask.Question{{ID: "ok", Kind: ask.KindBoolean, Text: "Deploy?"}},
		Approval: &ask.Approval{AnyOf: []ask.Alternative{{Need: 2, From: []string{"chat:tom", "group:platform"}, Reason: ask.ReasonRequired, ReasonPrompt: "the ticket", ReasonPattern: "^OPS-[0-9]+"}}, Deny: &ask.Denial{Need: 2}},
	})
	m := w.open("0 of 2 approvals")
	if told := w.click(tom, m, "Vote", map[string]any{"q0": "0", "n0": "because"}); !strings.Contains(told, "Not stored") {
		t.Errorf("Tom is told %q", told)
	}
	if told := w.click(tom, m, "Vote", map[string]any{"q0": "0", "n0": "OPS-17"}); !strings.Contains(told, "Your vote is stored") {
		t.Errorf("Tom is told %q", told)
	}
	voted := w.open("1 of 2 approvals")
	if !strings.Contains(voted.Shown(), "Tom in Feishu approved: OPS-17") {
		t.Errorf("it shows %q", voted.Shown())
	}
	if told := w.click(ann, voted, "Take the vote back", nil); !strings.Contains(told, "no vote to take back") {
		t.Errorf("Ann is told %q", told)
	}
	if told := w.click(tom, voted, "Take the vote back", nil); !strings.Contains(told, "taken back; the question stays open: 0 of 2") {
		t.Errorf("Tom is told %q", told)
	}
	w.open("took the vote back")
}

// While the store is slow a press is answered in time, and the person is told the result in a message. The same event
// again changes nothing.
func TestAnAnswerThatTakesLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(&surface{tune: func(o *feishu.Options) { o.AckAfter = 0 }})
	w.Ask(ask.Ask{ID: "a1", Audience: []string{"group:platform"}, Questions: database.Questions})
	m := w.open("Which database?")
	w.fake.AnswerWithin(3 * time.Second)
	release := w.fake.Hold("GET members")
	r := w.fake.Click(t.Context(), m, fakefeishu.Click{Event: "e1", User: tom, Label: "SQLite"})
	if r.Err != nil || !strings.Contains(r.Told, "on its way") {
		t.Errorf("the press gets %+v", r)
	}
	w.fake.AnswerWithin(waittest.Limit)
	release()
	told := w.message("the result", func(m *fakefeishu.Message) bool { return m.Kind == "text" })
	if told.Chat != "oc_p2ptom" || !strings.Contains(told.Text, "You may not answer") {
		t.Errorf("Tom is told %q in %s", told.Text, told.Chat)
	}
	if again := w.fake.Click(t.Context(), m, fakefeishu.Click{Event: "e1", User: tom, Label: "SQLite"}); again.Told != told.Text {
		t.Errorf("the event again gets %+v", again)
	}
	w.open("Which database?")
}

// Webhooks are encrypted and signed; nothing else is taken, whatever it lacks.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(&surface{webhook: true})
	w.Ask(database)
	m := w.open("Which database?")
	if got, err := w.fake.Challenge(t.Context(), "ch1"); err != nil || string(got) != `{"challenge":"ch1"}` {
		t.Errorf("the challenge gets %s, %v", got, err)
	}
	if told := w.click(tom, m, "SQLite", nil); told != "Stored" {
		t.Errorf("told %q", told)
	}
	w.Wait("a1")

	app, err := feishu.New(w.Responder("feishu"), func() feishu.Options {
		o := options(w.fake)
		o.EncryptKey, o.VerificationToken = fakefeishu.EncryptKey, fakefeishu.VerificationToken
		return o
	}())
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(app.Handler())
	t.Cleanup(web.Close)
	event := `{"schema":"2.0","header":{"event_id":"e1","event_type":"x","token":"` + fakefeishu.VerificationToken + `","app_id":"` + fakefeishu.AppID + `"},"event":{}}`
	for name, c := range map[string]struct {
		payload string
		at      time.Time
		good    bool
	}{
		"good":              {event, time.Now(), true},
		"unsigned":          {event, time.Time{}, false},
		"signed long ago":   {event, time.Now().Add(-9 * time.Hour), false},
		"another token":     {strings.Replace(event, fakefeishu.VerificationToken, "other", 1), time.Now(), false},
		"a false challenge": {`{"type":"url_verification","token":"other","challenge":"x"}`, time.Time{}, false},
		"no event":          {`[]`, time.Now(), false},
	} {
		if _, err := fakefeishu.Send(t.Context(), web.URL+feishu.PathEvents, []byte(c.payload), c.at); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, body := range []string{event, `{"encrypt":"AAAA"}`, `{"encrypt":"` + fakefeishu.Encrypt("another key", []byte(event)) + `"}`, ``} {
		res, err := web.Client().Post(web.URL+feishu.PathEvents, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != 401 {
			t.Errorf("%s gets status %d", body, res.StatusCode)
		}
	}
}

// Events in fragments, a broken connection and an expired token go unnoticed.
func TestTheLongConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(&surface{})
	w.fake.Fragment(100)
	w.Ask(database)
	m := w.open("Which database?")
	w.fake.Disconnect()
	natstest.Eventually(t, "it broke", func() bool { return w.fake.Calls("POST endpoint") > 1 && w.fake.Connections() == 1 })
	w.fake.Expire()
	if told := w.click(tom, m, "SQLite", nil); told != "Stored" {
		t.Errorf("told %q", told)
	}
	w.Wait("a1")
}

// A recalled card ends in no loop, and the ask can still be answered elsewhere.
func TestARecalledCard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(&surface{})
	w.Ask(database)
	m := w.open("Which database?")
	before := w.fake.Calls("PATCH messages")
	w.fake.Recall(m.ID)
	if _, err := w.Other.Answer(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}, ask.Reply{Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}, By: ask.By{Principal: "os:mei", Name: "Mei", Proof: ask.ProofOS}}); err != nil {
		t.Fatal(err)
	}
	w.Ask(ask.Ask{ID: "a2", Questions: []ask.Question{{ID: "q", Kind: ask.KindText, Text: "Still there?"}}})
	w.open("Still there?")
	natstest.Eventually(t, "it was tried once", func() bool { return w.fake.Calls("PATCH messages") == before+2 })
}

// Large asks become short cards with a link, or a file if there is none; Feishu's limits are never met.
func TestLargeAsks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(&surface{tune: func(o *feishu.Options) {
		o.Link = func(k ask.Key) string {
			if k.ID == "a3" {
				return ""
			}
			return "https://inbox.example/ask/" + k.ID
		}
	}})
	many := ask.Question{ID: "q", Text: "Which of many?"}
	for i := range 60 {
		many.Options = append(many.Options, ask.Option{ID: fmt.Sprint("o", i), Label: fmt.Sprint("Option ", i), Description: strings.Repeat("描述", 100), Preview: &ask.Preview{Body: strings.Repeat("<at id=all></at>`*[]", 100)}})
	}
	w.Ask(ask.Ask{ID: "a1", Context: "# Head <at id=all></at>\n\n```sh\nrm -rf <at id=all></at>\n```\nand `code` **bold** [here](https://evil.example)", Questions: []ask.Question{{ID: "q", Text: "Fits?", Options: database.Questions[0].Options}}})
	w.Ask(ask.Ask{ID: "a2", Context: strings.Repeat("上下文\n", 5000), Questions: []ask.Question{many}})
	small := w.open("Fits?")
	if text := small.Shown(); strings.Contains(text, "](https") || !strings.Contains(text, "here (evil.example)") || strings.Contains(fmt.Sprint(small.Card), "<at id=all>") {
		t.Errorf("the card says %v", small.Card)
	}
	large := w.open("Which of many?")
	if text := large.Shown(); !strings.Contains(text, "https://inbox.example/ask/a2") || !strings.Contains(text, "Not everything fits here") {
		t.Errorf("the card says %q", text)
	}
	w.Ask(ask.Ask{ID: "a3", Context: strings.Repeat("上下文\n", 5000), Questions: database.Questions})
	w.message("the whole question", func(m *fakefeishu.Message) bool { return m.File == "question.txt" })
}

// Refused credentials make the surface not ready, and no error has the secret.
func TestRevokedSecret(t *testing.T) {
	t.Parallel()
	f := home(t)
	app, err := feishu.New(nil, options(f))
	if err != nil {
		t.Fatal(err)
	}
	if name, err := app.Connect(t.Context()); err != nil || name != "askbus" {
		t.Fatalf("%s, %v", name, err)
	}
	f.Revoke()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := app.Connect(ctx); err == nil || strings.Contains(err.Error(), fakefeishu.AppSecret) {
		t.Errorf("the error is %v; want one without the secret", err)
	}
	if err := app.Ready(); err == nil || !strings.Contains(err.Error(), "refuses") {
		t.Errorf("ready: %v", err)
	}
}

// The doctor names what is wrong and what to do.
func TestDoctor(t *testing.T) {
	t.Parallel()
	f := home(t)
	o := options(f)
	o.Routes.Groups = map[string]string{"platform": platform, "nowhere": "oc_nowhere"}
	o.Routes.Rules = []chat.Rule{{Match: chat.Match{Session: "s1"}, To: chat.Target{Channel: "oc_gone"}}}
	app, err := feishu.New(nil, o)
	if err != nil {
		t.Fatal(err)
	}
	check := func(want ...string) {
		t.Helper()
		var got []string
		for _, one := range app.Doctor(t.Context()) {
			got = append(got, string(one.State)+" "+one.What)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	check("ok app", "ok events", "ok chat oc_asks", "broken chat oc_gone", "broken group nowhere", "ok group platform")
	f.Revoke()
	check("broken app")
}

// Each wrong setting is named, with what to do.
func TestSettings(t *testing.T) {
	t.Parallel()
	good := feishu.Options{AppID: "cli_a", AppSecret: "s", Options: chat.Options{Routes: routes()}}
	for name, change := range map[string]func(*feishu.Options){
		"ASKBUS_FEISHU_APP_ID":             func(o *feishu.Options) { o.AppID = "" },
		"must look like cli_":              func(o *feishu.Options) { o.AppID = "123" },
		"ASKBUS_FEISHU_APP_SECRET":         func(o *feishu.Options) { o.AppSecret = "" },
		"ASKBUS_FEISHU_DOMAIN":             func(o *feishu.Options) { o.Domain = "http://feishu.example" },
		"ASKBUS_FEISHU_VERIFICATION_TOKEN": func(o *feishu.Options) { o.EncryptKey = "k" },
		"ASKBUS_FEISHU_CHAT":               func(o *feishu.Options) { o.Routes.Default.Channel = "" },
	} {
		o := good
		change(&o)
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
}

// A private message with the code pairs its writer; other words, other chats and people of other organizations do not, and
// neither do clicks on cards and replies to them, for which no bus is there yet.
func TestPairing(t *testing.T) {
	t.Parallel()
	f := home(t)
	app, err := feishu.New(nil, options(f))
	if err != nil {
		t.Fatal(err)
	}
	found := make(chan chat.Paired, 1)
	go func() {
		who, err := app.Pair(t.Context(), "ABCD-2345")
		if err != nil {
			t.Errorf("Pair: %v", err)
		}
		found <- who
	}()
	natstest.Eventually(t, "it is connected", func() bool { return f.Connections() == 1 })
	if _, err := f.Deliver(t.Context(), "card.action.trigger", "", map[string]any{
		"operator": map[string]any{"tenant_key": "tenant1", "union_id": tom}, "context": map[string]any{"open_message_id": "om_1", "open_chat_id": group},
		"action": map[string]any{"tag": "button", "value": map[string]any{"name": "pick_0_0123456789abcdef01234567"}},
	}); err != nil {
		t.Fatal(err)
	}
	if err := f.Write(t.Context(), tom, group, "answer: 1", "om_1", true); err != nil {
		t.Fatal(err)
	}
	for _, m := range []struct{ user, in, words string }{{tom, group, "ABCD-2345"}, {guest, "oc_p2pguest", "ABCD-2345"}, {tom, "oc_p2ptom", "hello"}, {mei, "oc_p2pmei", " abcd 2345 "}} {
		if err := f.Write(t.Context(), m.user, m.in, m.words, "", false); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(chat.Paired{Place: "oc_p2pmei", Person: mei, Principal: "feishu:tenant1/on_mei", Name: "Mei"}, <-found); diff != "" {
		t.Error(diff)
	}
	all := f.Messages()
	if last := all[len(all)-1]; last.Chat != "oc_p2pmei" || last.From != "" || !strings.Contains(last.Text, "Connected.") {
		t.Errorf("the last message is %+v", last)
	}
}
