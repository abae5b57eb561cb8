package web_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/chromedp/chromedp"
)

// pastAsks adds n ended asks of three sessions to the bus.
func pastAsks(t *testing.T, b *bus, n int) {
	t.Helper()
	for i := range n {
		a := question(fmt.Sprintf("p%03d", i), database())
		a.Title = fmt.Sprintf("Storage of service %03d", i)
		a.Session = fmt.Sprintf("payments-%d", i%3)
		k := b.ask(a, time.Duration(n-i)*time.Minute)
		o := ask.Outcome{
			Status: ask.StatusAnswered, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}},
			By: &ask.By{Principal: "slack:T01/U02", Name: "Ana", Responder: "slack"},
		}
		switch i % 5 {
		case 3:
			o = ask.Outcome{Status: ask.StatusCancelled, Reason: "=not mine", By: &ask.By{Principal: "os:mei", Name: "Mei", Responder: "web"}}
		case 4:
			o = ask.Outcome{Status: ask.StatusWithdrawn}
		}
		if _, err := b.end(k, o); err != nil {
			t.Fatal(err)
		}
	}
}

// The check of "askbus doctor" is nobody's decision: people's lists leave it out.
// What only looks like it stays.
func TestTestAsksAreInNobodysHistory(t *testing.T) {
	t.Parallel()
	b := newBus()
	for id, by := range map[string]ask.By{
		"doctor": {Principal: "nats:UOPERATOR", Responder: "operator"},
		"agents": {Principal: "nats:UAGENT", Responder: "cli"},
		"slacks": {Principal: "slack:T01/U02", Name: "Ana", Responder: "operator"},
	} {
		a := question(id, database())
		a.Title, a.Audience = "Check by "+id, []string{by.Principal}
		if _, err := b.end(b.ask(a, time.Minute), ask.Outcome{Status: ask.StatusAnswered, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}, By: &by}); err != nil {
			t.Fatal(err)
		}
	}
	u := serve(t, b).signedIn(t, mei)
	for _, path := range []string{"/history", "/"} {
		body := u.get(path).body
		if contains(body, "UOPERATOR") || contains(body, "Check by doctor") || !contains(body, "UAGENT") || !contains(body, "Ana") {
			t.Errorf("%s: %s", path, body)
		}
	}
}

func TestHistoryIsPagedAndSearched(t *testing.T) {
	t.Parallel()
	b := newBus()
	pastAsks(t, b, 120)
	u := serve(t, b).signedIn(t, mei)
	if b.lists != 0 {
		t.Errorf("%d reads before the history was opened", b.lists)
	}
	first := u.get("/history")
	if n := strings.Count(first.body, `class="past `); n != 50 || !contains(first.body, "1–50 of 120") || !contains(first.body, `>Ana chose PostgreSQL</p>`) {
		t.Errorf("%d rows: %s", n, first.body)
	}
	if last := u.get("/history?from=100"); strings.Count(last.body, `class="past `) != 20 || !contains(last.body, "101–120 of 120") {
		t.Error("the last page is wrong")
	}
	if far := u.get("/history?from=99999"); strings.Count(far.body, `class="past `) != 20 {
		t.Error("past the end there is no last page")
	}
	for path, want := range map[string]int{
		"/history?q=service+007": 1, "/history?q=ANA+payments-1": 24, "/history?status=withdrawn": 24, "/history?q=nothing+of+that": 0, "/history?status=rubbish&from=-5": 50,
	} {
		if n := strings.Count(u.get(path).body, `class="past `); n != want {
			t.Errorf("%s: %d rows", path, n)
		}
	}
	if b.lists > 1 {
		t.Errorf("%d reads for a few pages", b.lists)
	}
	if day := u.get("/history?q=service+003").body; !contains(day, ">Mei declined: =not mine</p>") || !contains(day, ">on the web ") {
		t.Errorf("one's own: %s", day)
	}
	fresh := b.ask(question("fresh", database()), 0)
	_, _ = b.end(fresh, ask.Outcome{Status: ask.StatusExpired})
	if !contains(u.get("/history").body, "/ask/default/s1/fresh") {
		t.Error("what has just ended is not there")
	}
}

func TestASessionIsAConversation(t *testing.T) {
	t.Parallel()
	b := newBus()
	pastAsks(t, b, 160)
	u := serve(t, b).signedIn(t, mei)
	page := u.get("/history/default/payments-0").body
	if n := strings.Count(page, `class="exchange"`); n != 50 || strings.Index(page, "service 000") > strings.Index(page, "service 003") || !contains(page, "What came after") || !contains(page, "=not mine") {
		t.Errorf("%d asks: %s", n, page)
	}
	if rest := u.get("/history/default/payments-0?cursor=50").body; strings.Count(rest, `class="exchange"`) != 4 || contains(rest, "What came after") {
		t.Error("the second page is wrong")
	}
	if none := u.get("/history/default/other"); none.status != 200 || !contains(none.body, "Nothing of this session") {
		t.Errorf("an unknown session: %d", none.status)
	}
	if bad := u.get("/history/default/" + url.PathEscape("a b")); bad.status != 404 {
		t.Errorf("an invalid session name: %d", bad.status)
	}
}

func TestHistoryIsExported(t *testing.T) {
	t.Parallel()
	b := newBus()
	pastAsks(t, b, 7)
	u := serve(t, b).signedIn(t, mei)
	res := u.get("/history/export?format=csv")
	rows, err := csv.NewReader(strings.NewReader(res.body)).ReadAll()
	if err != nil || len(rows) != 8 || rows[0][0] != "tenant" || rows[1][9] != "PostgreSQL" || rows[1][11] != "Ana" || rows[4][13] != "'=not mine" {
		t.Errorf("%v %v", rows, err)
	}
	if d := res.header.Get("Content-Disposition"); d != `attachment; filename="askbus-history.csv"` {
		t.Error(d)
	}
	var records []ask.Record
	if err := json.Unmarshal([]byte(u.get("/history/export?format=json&q=service+006").body), &records); err != nil || len(records) != 1 || records[0].Outcome == nil {
		t.Errorf("%v %v", records, err)
	}
	if none := u.get("/history/export?format=json&q=none"); strings.TrimSpace(none.body) != "[]" {
		t.Errorf("nothing: %q", none.body)
	}
	if bad := u.get("/history/export?format=xml"); bad.status != 400 {
		t.Errorf("xml: %d", bad.status)
	}
	if res := serve(t, b).stranger(t).get("/history/export?format=json"); res.status != 401 {
		t.Errorf("a stranger: %d", res.status)
	}
}

func TestSeveralAreDeclinedTogether(t *testing.T) {
	t.Parallel()
	b := newBus()
	for i := range 5 {
		a := question(fmt.Sprint("a", i), database())
		a.Agent.Name = []string{"builder", "reviewer"}[i%2]
		b.ask(a, time.Minute)
	}
	theirs := question("theirs", database())
	theirs.Audience = []string{"os:tom"}
	b.ask(theirs, 0)
	u := serve(t, b).signedIn(t, mei)
	page := u.get("/bulk?agent=builder&show=all")
	if n := strings.Count(page.body, `name="key"`); n != 3 || contains(page.body, "theirs") {
		t.Errorf("%d are offered: %s", n, page.body)
	}
	_, _ = b.end(ask.Key{Tenant: "default", Session: "s1", ID: "a4"}, ask.Outcome{Status: ask.StatusExpired})
	res := u.post("/bulk?agent=builder", url.Values{"key": {"default/s1/a0", "default/s1/a2", "default/s1/a4"}, "reason": {"not today"}})
	if !contains(res.body, "2 asks are declined.") || !contains(res.body, "1 had ended already.") {
		t.Errorf("%d %s", res.status, res.body)
	}
	if o := b.outcome(ask.Key{Tenant: "default", Session: "s1", ID: "a2"}); o == nil || o.Status != ask.StatusCancelled || o.Reason != "not today" || o.By.Principal != "os:mei" {
		t.Errorf("%+v", o)
	}
	if o := b.outcome(ask.Key{Tenant: "default", Session: "s1", ID: "a1"}); o != nil {
		t.Errorf("one that was not chosen: %+v", o)
	}
	if away := u.post("/bulk", url.Values{"key": {"default/s1/a1"}, "do": {"dismiss"}}); !contains(away.body, "1 is dismissed for you") || contains(away.body, `value="default/s1/a1"`) {
		t.Errorf("dismissed: %d %s", away.status, away.body)
	}
	if !contains(u.get("/?show=snoozed").body, "wait-default/s1/a1") || b.outcome(ask.Key{Tenant: "default", Session: "s1", ID: "a1"}) != nil {
		t.Error("the snoozed ask is not under Snoozed, or has ended")
	}
	if none := u.post("/bulk", url.Values{}); none.status != 422 {
		t.Errorf("nothing chosen: %d", none.status)
	}
}

func TestBrowserHistoryWithoutScripts(t *testing.T) {
	t.Parallel()
	b := newBus()
	pastAsks(t, b, 60)
	tab := serve(t, b).open(t, mei, noScripts)
	tab.do(chromedp.Click(chromedp.CSS(`a[href="/history"]`)), chromedp.WaitVisible(chromedp.CSS(".past")))
	tab.do(chromedp.SendKeys(chromedp.CSS(".seek input"), "service 007"), chromedp.Click(chromedp.CSS(".seek button")), chromedp.WaitVisible(chromedp.CSS(".past:only-child")))
	tab.do(chromedp.Click(chromedp.CSS(".past .meta a")), chromedp.WaitVisible(chromedp.CSS(".exchange")))
}
