package web_test

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/pkg/ask"
)

var hidden = regexp.MustCompile(`name="(answer_id|life|me)" value="([^"]*)"`)

// form returns what a browser would send from this page with these fields
// filled in.
func (r response) form(fields ...string) url.Values {
	form := url.Values{}
	for _, m := range hidden.FindAllStringSubmatch(r.body, -1) {
		form.Set(m[1], m[2])
	}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return form
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	yes, three := true, 3.0
	cases := []struct {
		name     string
		question ask.Question
		fields   []string
		want     ask.Answer
	}{
		{"one option", database(), []string{"select:db", "=lite"}, ask.Answer{Selected: []string{"lite"}}},
		{"Other, chosen", database(), []string{"select:db", "other", "other:db", " DuckDB "}, ask.Answer{Other: "DuckDB"}},
		{"Other, typed and not ticked", database(), []string{"other:db", "DuckDB"}, ask.Answer{Other: "DuckDB"}},
		{"words beside an option that is chosen do not count", database(), []string{"select:db", "=pg", "other:db", "x"}, ask.Answer{Selected: []string{"pg"}}},
		{"a note", database(), []string{"select:db", "=pg", "note:db", "keep backups\r\nfor 14 days"}, ask.Answer{Selected: []string{"pg"}, Notes: "keep backups\nfor 14 days"}},
		{"several options", several(), []string{"select:checks", "=unit", "select:checks", "=lint"}, ask.Answer{Selected: []string{"unit", "lint"}}},
		{"a text", text("t", "What?"), []string{"text:t", "so\r\nthat"}, ask.Answer{Text: "so\nthat"}},
		{"a number", ask.Question{ID: "n", Kind: ask.KindNumber, Text: "How many?"}, []string{"number:n", " 3,0 "}, ask.Answer{Number: &three}},
		{"yes", ask.Question{ID: "b", Kind: ask.KindBoolean, Text: "May I?"}, []string{"boolean:b", "true"}, ask.Answer{Boolean: &yes}},
		{"a date", ask.Question{ID: "d", Kind: ask.KindDate, Text: "When?"}, []string{"date:d", "2026-11-20"}, ask.Answer{Date: "2026-11-20"}},
		{"nothing, where that is allowed", ask.Question{ID: "d", Kind: ask.KindDate, Text: "When?", Optional: true}, []string{"date:d", ""}, ask.Answer{Skipped: true}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBus()
			k := b.ask(question("a", c.question), 0)
			u := serve(t, b).signedIn(t, mei)
			page := u.get("/")
			res := u.post("/ask/default/s1/a/answer", page.form(c.fields...))
			if res.status != http.StatusOK || !strings.HasPrefix(res.path, "/?done=") || !contains(res.body, "you") {
				t.Fatalf("%d at %s: %s", res.status, res.path, res.body)
			}
			o := b.outcome(k)
			if o == nil || o.Status != ask.StatusAnswered || o.AnswerID == "" || o.By.Principal != "os:mei" || len(o.By.Groups) != 1 {
				t.Fatalf("outcome: %+v", o)
			}
			c.want.QuestionID = c.question.ID
			if got := o.Answers[0]; !reflect.DeepEqual(got, c.want) {
				t.Errorf("answer: %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestOnlyTheFaultyQuestionIsMarked(t *testing.T) {
	t.Parallel()
	b := newBus()
	k := b.ask(four(), 0)
	u := serve(t, b).signedIn(t, mei)
	res := u.post("/ask/default/s1/four/answer", u.get("/").form(
		"select:db", "=pg", "number:n", "1,000", "boolean:pub", "true", "note:db", "a note I typed", "response", ""))
	if res.status != http.StatusUnprocessableEntity {
		t.Fatalf("status %d", res.status)
	}
	if n := strings.Count(res.body, `class="fault-words"`); n != 1 {
		t.Errorf("%d questions are marked, want 1", n)
	}
	for _, want := range []string{
		`value="=pg" checked`, `value="1,000"`, `value="true" checked`, "a note I typed",
		"is not a number; type one such as 3 or 2.5.", "one question needs another look",
	} {
		if !contains(res.body, want) {
			t.Errorf("the page lost %q", want)
		}
	}
	if b.outcome(k) != nil {
		t.Error("the ask ended")
	}
}

func TestTooLate(t *testing.T) {
	t.Parallel()
	ana := &ask.By{Principal: "slack:T01/U02", Name: "Ana", Responder: "slack"}
	for _, c := range []struct {
		name    string
		outcome ask.Outcome
		status  int
		words   []string
	}{
		{
			"somebody was faster",
			ask.Outcome{Status: ask.StatusAnswered, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"lite"}}}, By: ana},
			http.StatusConflict,
			[]string{"Ana", " chose ", "SQLite", "on Slack"},
		},
		{"it expired", ask.Outcome{Status: ask.StatusExpired}, http.StatusGone, []string{"Expired", ": nobody answered in time"}},
		{"it was taken back", ask.Outcome{Status: ask.StatusWithdrawn, Reason: "found it myself"}, http.StatusConflict, []string{"Withdrawn by the agent", "found it myself"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBus()
			k := b.ask(question("a", database()), 0)
			u := serve(t, b).signedIn(t, mei)
			form := u.get("/").form("other:db", "my own half-typed words")
			if _, err := b.end(k, c.outcome); err != nil {
				t.Fatal(err)
			}
			res := u.post("/ask/default/s1/a/answer", form)
			if res.status != c.status {
				t.Errorf("status %d, want %d", res.status, c.status)
			}
			for _, want := range append(c.words, "my own half-typed words", "disabled") {
				if !contains(res.body, want) {
					t.Errorf("the page does not say %q", want)
				}
			}
		})
	}
}

func TestDoubleSubmitIsHarmless(t *testing.T) {
	t.Parallel()
	b := newBus()
	b.ask(question("a", database()), 0)
	u := serve(t, b).signedIn(t, mei)
	form := u.get("/").form("select:db", "=pg")
	for range 2 {
		if res := u.post("/ask/default/s1/a/answer", form); res.status != http.StatusOK || !contains(res.body, "you") {
			t.Errorf("status %d", res.status)
		}
	}
}

func TestDecline(t *testing.T) {
	t.Parallel()
	b := newBus()
	k := b.ask(question("a", database()), 0)
	u := serve(t, b).signedIn(t, mei)
	res := u.post("/ask/default/s1/a/decline", u.get("/").form("reason", "not now"))
	if o := b.outcome(k); res.status != http.StatusOK || o == nil || o.Status != ask.StatusCancelled || o.Reason != "not now" {
		t.Errorf("%d, %+v", res.status, o)
	}
}

func TestAnOptionThatCancels(t *testing.T) {
	t.Parallel()
	b := newBus()
	k := b.ask(full(), 0)
	u := serve(t, b).signedIn(t, mei)
	res := u.post("/ask/default/payments-api/full/answer", u.get("/").form("select:db", "=stop"))
	if o := b.outcome(k); o == nil || o.CancelledBy == nil || !contains(res.body, "Neither, stop here") {
		t.Errorf("%d, %+v", res.status, o)
	}
}

func TestAudience(t *testing.T) {
	t.Parallel()
	b := newBus()
	a := question("theirs", database())
	a.Audience = []string{"group:platform"}
	k := b.ask(a, time.Hour)
	b.ask(question("mine", text("t", "And you?")), 0)
	in := serve(t, b)
	u := in.signedIn(t, tom)
	page := u.get("/ask/default/s1/theirs")
	if !contains(page.body, "Only group platform may decide this.") || contains(page.body, `class="send"`) {
		t.Errorf("the page: %s", page.body)
	}
	if res := u.post("/ask/default/s1/theirs/answer", page.form("select:db", "=pg")); res.status != http.StatusForbidden || b.outcome(k) != nil {
		t.Errorf("status %d", res.status)
	}
	if front := u.get("/"); !contains(front.body, `data-key="default/s1/mine" data-path`) {
		t.Error("the inbox does not put first what this person may decide")
	}
	if page := in.signedIn(t, mei).get("/"); !contains(page.body, `class="send"`) {
		t.Error("a member of the group could not answer")
	}
}

func TestTheAskerIsExcluded(t *testing.T) {
	t.Parallel()
	b := newBus()
	a := question("hers", database())
	a.ExcludeAsker, a.Asker = true, []string{mei.Principal}
	k := b.ask(a, time.Hour)
	in := serve(t, b)
	u := in.signedIn(t, mei)
	page := u.get("/ask/default/s1/hers")
	if !contains(page.body, "You asked this, so somebody else has to decide.") || contains(page.body, `class="send"`) {
		t.Errorf("the page: %s", page.body)
	}
	if res := u.post("/ask/default/s1/hers/answer", page.form("select:db", "=pg")); res.status != http.StatusForbidden || b.outcome(k) != nil {
		t.Errorf("status %d", res.status)
	}
	if page := in.signedIn(t, tom).get("/ask/default/s1/hers"); !contains(page.body, `class="send"`) {
		t.Error("another person could not answer")
	}
}

func TestAskedAgain(t *testing.T) {
	t.Parallel()
	b := newBus()
	b.ask(question("a", database()), 0)
	u := serve(t, b).signedIn(t, mei)
	form := u.get("/").form("select:db", "=pg")
	form.Set("life", "another")
	if res := u.post("/ask/default/s1/a/answer", form); res.status != http.StatusConflict || !contains(res.body, "asked this again") {
		t.Errorf("status %d", res.status)
	}
}

// TestAPageOfSomebodyElse checks that a page which was drawn for one person sends nothing in the name of another, who has signed
// in in that browser since, as at a shared machine.
func TestAPageOfSomebodyElse(t *testing.T) {
	t.Parallel()
	b := newBus()
	b.ask(question("a", database()), 0)
	in := serve(t, b, func(o *web.Options) { o.StandIns = &absence{} })
	form := in.signedIn(t, mei).get("/").form("select:db", "=pg")
	u := in.signedIn(t, tom)
	for _, verb := range []string{"answer", "decline", "take-back", "break-glass"} {
		if res := u.post("/ask/default/s1/a/"+verb, form); res.status != http.StatusConflict || !contains(res.body, "Somebody else has signed in") {
			t.Errorf("%s: status %d", verb, res.status)
		}
	}
	for path, fields := range map[string]url.Values{
		"/ask/default/s1/a/snooze":   {"for": {"1h"}},
		"/ask/default/s1/a/handover": {"to": {"os:ana"}},
		"/bulk":                      {"key": {"default/s1/a"}},
		"/away":                      {"to": {"os:ana"}},
	} {
		fields.Set("me", mei.Principal)
		if res := u.post(path, fields); res.status != http.StatusConflict || !contains(res.body, "Somebody else has signed in") {
			t.Errorf("%s: status %d", path, res.status)
		}
	}
	if res := u.get("/"); !contains(res.body, `id="wait-default/s1/a"`) {
		t.Error("the ask was moved in the name of who signed in later")
	}
	form.Set("held", "send")
	if res := u.post("/ask/default/s1/a/answer", form); res.status != http.StatusConflict || b.outcome(ask.Key{Tenant: "default", Session: "s1", ID: "a"}) != nil {
		t.Errorf("an answer that was held: status %d", res.status)
	}
}

func TestAnAnswerThatCannotBeStored(t *testing.T) {
	t.Parallel()
	b := newBus()
	b.ask(question("a", database()), 0)
	b.fail = errors.New("timeout")
	u := serve(t, b).signedIn(t, mei)
	page := u.get("/")
	form := page.form("other:db", "precious words")
	res := u.post("/ask/default/s1/a/answer", form)
	if res.status != http.StatusServiceUnavailable || !contains(res.body, "precious words") || !contains(res.body, form.Get("answer_id")) {
		t.Errorf("status %d: %s", res.status, res.body)
	}
}

func TestATooLargeFormIsRefused(t *testing.T) {
	t.Parallel()
	b := newBus()
	b.ask(question("a", text("t", "What?")), 0)
	u := serve(t, b).signedIn(t, mei)
	if res := u.post("/ask/default/s1/a/answer", url.Values{"text:t": {strings.Repeat("x", 1<<20)}}); res.status != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", res.status)
	}
}

// TestAVoteIsDrawn checks that a vote that decides nothing shows the ask again,
// with the votes, their reasons and what is missing.
func TestAVoteIsDrawn(t *testing.T) {
	t.Parallel()
	b := newBus()
	a := question("a", ask.Question{ID: "go", Text: "Deploy?", Kind: ask.KindBoolean})
	a.Approval = &ask.Approval{AnyOf: []ask.Alternative{{Need: 2}}}
	b.ask(a, 0)
	cast := []ask.Vote{{AnswerID: "v1", By: mei, Choice: ask.ChoiceApprove, Reason: "OPS-<1>", At: time.Now()}}
	b.fail = &ask.Error{Code: ask.CodeVoted, Votes: cast}
	u := serve(t, b).signedIn(t, mei)
	page := u.get("/")
	if !contains(page.body, "0 of 2 approvals") {
		t.Errorf("before: %s", page.body)
	}
	form := page.form("boolean:go", "true")
	res := u.post("/ask/default/s1/a/answer", form)
	if res.status != http.StatusOK || !contains(res.body, "1 of 2 approvals: ") || !contains(res.body, "OPS-&lt;1&gt;") || !contains(res.body, "approved") || contains(res.body, form.Get("answer_id")) {
		t.Errorf("status %d: %s", res.status, res.body)
	}
	if !contains(res.body, "You have voted. Another answer changes your vote.") || !contains(res.body, "Change the vote") || contains(res.body, "first answer is final") {
		t.Errorf("what an answer does now: %s", res.body)
	}
	if none := u.post("/ask/default/s1/a/take-back", form); none.status != http.StatusConflict || !contains(none.body, "You have no vote to take back.") {
		t.Errorf("without a vote: %d: %s", none.status, none.body)
	}
	k := ask.Key{Tenant: ask.DefaultTenant, Session: "s1", ID: "a"}
	b.held[k].Votes = cast
	back := u.post("/ask/default/s1/a/take-back", form)
	if back.status != http.StatusOK || !contains(back.body, "took the vote back") || !contains(back.body, "0 of 2 approvals") || contains(back.body, "data-take-back") {
		t.Errorf("taken back: %d: %s", back.status, back.body)
	}
}

// TestDecidingAlone checks that break-glass is a form of its own, that needs its reason,
// its box and its role, and that nothing else does it.
func TestDecidingAlone(t *testing.T) {
	t.Parallel()
	b := newBus()
	a := question("a", ask.Question{ID: "go", Text: "Deploy?", Kind: ask.KindBoolean})
	a.Approval = &ask.Approval{AnyOf: []ask.Alternative{{Need: 2, From: []string{"group:sre"}}}}
	a.BreakGlass = []ask.BreakGlassRole{{Name: "commanders", From: []string{mei.Principal}, ReasonPrompt: "the incident", ReasonPattern: "^INC-"}}
	k := b.ask(a, 0)
	srv := serve(t, b)
	u, other := srv.signedIn(t, mei), srv.signedIn(t, tom)
	const path = "/ask/default/s1/a/break-glass"
	page := u.get("/ask/default/s1/a")
	if !contains(page.body, "Decide alone (break-glass)") || !contains(page.body, `action="`+path) || !contains(page.body, "The reason is required: the incident") {
		t.Errorf("the card: %s", page.body)
	}
	if page := other.get("/ask/default/s1/a"); contains(page.body, "break-glass") {
		t.Errorf("of somebody without the role: %s", page.body)
	}
	form := url.Values{"boolean:go": {"true"}, "why": {"INC-<7>"}, "sure": {"yes"}, "answer_id": {"x1"}}
	if res := other.post(path, form); res.status != http.StatusForbidden || !contains(res.body, "You have no break-glass role for this ask.") {
		t.Errorf("without the role: %d", res.status)
	}
	if res := u.post("/ask/default/s1/a/answer", form); res.status != http.StatusForbidden {
		t.Errorf("as an answer: %d", res.status)
	}
	for field, words := range map[string]string{"why": "The reason is required: the incident", "sure": "Tick that you decide this alone.", "boolean:go": "Choose what you decide."} {
		less := maps.Clone(form)
		less.Del(field)
		if res := u.post(path, less); res.status != http.StatusUnprocessableEntity || !contains(res.body, words) || field != "why" && !contains(res.body, "INC-&lt;7&gt;") {
			t.Errorf("without %s: %d: %s", field, res.status, res.body)
		}
	}
	less := maps.Clone(form)
	less.Del("sure")
	if res := u.post(path, less); strings.Count(res.body, `value="true" checked`) != 1 || !contains(res.body, `value="true" checked required`) {
		t.Errorf("what was chosen to decide alone is kept there, and is no draft of a vote: %s", res.body)
	}
	if b.held[k].Outcome != nil {
		t.Fatalf("sent %+v", b.held[k].Outcome)
	}
	if res := u.post(path, form); res.status >= http.StatusBadRequest {
		t.Fatalf("%d: %s", res.status, res.body)
	}
	if o := b.held[k].Outcome; o == nil || o.BreakGlass == nil || o.BreakGlass.Reason != "INC-<7>" || o.AnswerID != "x1" {
		t.Errorf("sent %+v", o)
	}
	if page := other.get("/ask/default/s1/a"); !contains(page.body, "decided alone (break-glass): INC-&lt;7&gt;") || contains(page.body, `class="votes"`) {
		t.Errorf("what others see, without a box for votes that nobody gave: %s", page.body)
	}
}

func TestAHeldAnswerIsCheckedThenSent(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k := bus.ask(question("first", database()), time.Minute)
	bus.ask(question("second", database()), 0)
	u := serve(t, bus).signedIn(t, mei)
	path := "/ask/" + k.String() + "/answer"
	if res := u.post(path, url.Values{"held": {"check"}}); res.status != http.StatusUnprocessableEntity {
		t.Errorf("an empty answer: %d", res.status)
	}
	res := u.post(path, url.Values{"held": {"check"}, "select:db": {"=pg"}})
	if !strings.HasSuffix(res.path, "/second") || bus.outcome(k) != nil {
		t.Errorf("checked: %s, %+v", res.path, bus.outcome(k))
	}
	if there := bus.Attending(k); len(there) != 1 || !there[0].Answering {
		t.Errorf("others are not told that it is being answered: %+v", there)
	}
	if res := u.post(path, url.Values{"held": {"send"}, "select:db": {"=pg"}}); res.status != http.StatusOK || !contains(res.body, `class="done"`) || bus.outcome(k) == nil {
		t.Errorf("sent: %d %s", res.status, res.body)
	}
}

// A refusal that only the bus can make is said in the reader's language.
func TestARefusalIsInTheReadersLanguage(t *testing.T) {
	t.Parallel()
	b := newBus()
	b.ask(question("db", database()), 0)
	u := serve(t, b).signedIn(t, mei)
	form := u.get("/ask/default/s1/db").form("select:db", "=pg")
	b.fail = ask.Refusal(ask.CodeForbidden, ask.FaultNotInAudience, "os:mei", []string{"group:sre", "os:tom"})
	for tag, want := range map[string]string{
		"en": "You may not answer this one: os:mei may not decide this ask: its audience is group:sre, os:tom. The question stays open.",
		"zh": "os:mei 不能决定这个提问：能决定的是 group:sre, os:tom",
	} {
		if res := u.do(http.MethodPost, "/ask/default/s1/db/answer", form, "Accept-Language", tag); res.status != http.StatusForbidden || !contains(res.body, want) {
			t.Errorf("%s: %d %s", tag, res.status, res.body)
		}
	}
	choice := url.Values{"me": {mei.Principal}, "life": {"l1"}, "option": {"pg"}, "answer_id": {"a"}}
	if res := u.do(http.MethodPost, "/ask/default/s1/db/pick", choice, "Accept-Language", "zh"); !contains(res.body, "能决定的是 group:sre") {
		t.Errorf("the notification says %s", res.body)
	}
}
