package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

func TestAnEndedAskWithATitleShowsItsQuestion(t *testing.T) {
	t.Parallel()
	b := newBus()
	u := serve(t, b).signedIn(t, mei)
	for id, ends := range map[string]ask.Outcome{
		"answered":  {Status: ask.StatusAnswered, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}},
		"withdrawn": {Status: ask.StatusWithdrawn},
	} {
		a := question(id, database())
		a.Title = "Ledger storage"
		_, _ = b.end(b.ask(a, 0), ends)
		if page := u.get("/ask/default/s1/" + id).body; !contains(page, "Which database should the ledger use?</h2>") || !contains(page, "Ledger storage</h1>") {
			t.Errorf("%s: the question is not there: %s", id, page)
		}
	}
	several := four()
	_, _ = b.end(b.ask(several, 0), ask.Outcome{Status: ask.StatusExpired})
	if page := u.get("/ask/default/s1/four").body; !contains(page, "How many replicas?</h2>") {
		t.Error("the questions of an ask without an answer are not there")
	}
}

func TestRecommendedIsOneMark(t *testing.T) {
	t.Parallel()
	b := newBus()
	b.ask(question("a", ask.Question{ID: "q", Text: "Which?", Options: []ask.Option{{ID: "jwt", Label: "JWT (Recommended)", Recommended: true}, {ID: "s", Label: "Sessions"}}}), 0)
	u := serve(t, b).signedIn(t, mei)
	page := u.get("/")
	if n := strings.Count(strings.ToLower(page.body), "recommended"); n != 1 || !contains(page.body, `>JWT</bdi></span> <span class="mark">recommended</span>`) {
		t.Errorf("it is said %d times", n)
	}
	if done := u.post("/ask/default/s1/a/answer", page.form("select:q", "=jwt")); !contains(u.get("/ask/default/s1/a").body, "chose <strong dir=\"auto\">JWT</strong>") {
		t.Errorf("the outcome repeats the mark: %d", done.status)
	}
}

func TestPlacesAreWords(t *testing.T) {
	t.Parallel()
	b := newBus()
	k := b.ask(question("a", database()), 0)
	b.shownOn(k, ask.Receipt{Type: "gateway", State: ask.ReceiptPosted})
	u := serve(t, b).signedIn(t, mei)
	if page := u.get("/").body; !contains(page, "Also shown over HTTP") || contains(page, "gateway") {
		t.Error("a receipt of the gateway is not in words")
	}
	_, _ = b.end(k, ask.Outcome{Status: ask.StatusAnswered, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}, By: &ask.By{Principal: "app:tom", Name: "Tom", Responder: "gateway"}})
	if page := u.get("/ask/default/s1/a").body; !contains(page, " over HTTP</span>") || contains(page, "on gateway") {
		t.Error("an outcome of the gateway is not in words")
	}
}

func TestHighIsNotUrgent(t *testing.T) {
	t.Parallel()
	b := newBus()
	for id, p := range map[string]ask.Priority{"u": ask.PriorityUrgent, "h": ask.PriorityHigh, "l": ask.PriorityLow, "n": ask.PriorityNormal} {
		a := question(id, database())
		a.Priority = p
		b.ask(a, 0)
	}
	u := serve(t, b).signedIn(t, mei)
	list := u.get("/ask/default/s1/n").body
	if strings.Count(list, `<strong class="urgent">urgent</strong>`) != 1 || strings.Count(list, `<strong class="high">high priority</strong>`) != 1 {
		t.Error("the list mixes up priorities")
	}
	if page := u.get("/ask/default/s1/h").body; strings.Count(page, "high priority") != 2 {
		t.Error("the card does not say that it is of high priority")
	}
}

func TestADeadlineNobodyDeclaredIsNotShown(t *testing.T) {
	t.Parallel()
	b := newBus()
	a := question("a", database())
	a.Deadline = time.Now().Add(ask.MaxTimeout - 6*time.Hour)
	b.ask(a, 6*time.Hour)
	declared := question("b", database())
	declared.Deadline = time.Now().Add(10*24*time.Hour + time.Minute)
	b.ask(declared, 0)
	u := serve(t, b).signedIn(t, mei)
	if page := u.get("/ask/default/s1/a").body; contains(page, "ends <time") || contains(page, "Nothing is decided") {
		t.Error("the card counts down to a deadline that nobody declared")
	}
	if page := u.get("/ask/default/s1/b").body; !contains(page, "in 10 days") {
		t.Error("a declared deadline is not shown")
	}
}
