package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
)

// as signs a person with this access in, as a provider would.
func (in inbox) as(t *testing.T, p auth.Person) user {
	t.Helper()
	u := in.signedIn(t, p.By)
	in.bus.people.mu.Lock()
	defer in.bus.people.mu.Unlock()
	cookie := u.client.Jar.Cookies(mustURL(t, in.URL))[0]
	id, _, _ := strings.Cut(cookie.Value, ".")
	in.bus.people.held[id] = auth.SignIn{Person: p}
	return u
}

// TestNobodySeesMoreThanTheyMay tries every way to reach an ask, as a person
// without access to it and as a reader.
func TestNobodySeesMoreThanTheyMay(t *testing.T) {
	t.Parallel()
	b := newBus()
	mine := b.ask(ask.Ask{ID: "mine", Tenant: "acme", Session: "deploy-1", Questions: []ask.Question{text("t", "An open question?")}}, 0)
	for _, hidden := range []ask.Ask{
		{ID: "tenant", Tenant: "other", Session: "deploy-1"},
		{ID: "session", Tenant: "acme", Session: "payroll"},
		{ID: "audience", Tenant: "acme", Session: "deploy-1", Audience: []string{"group:hr"}},
	} {
		hidden.Questions = []ask.Question{text("t", "A hidden question?")}
		b.ask(hidden, 0)
		past := hidden
		past.ID += "-past"
		k := b.ask(past, 0)
		if _, err := b.end(k, ask.Outcome{Status: ask.StatusAnswered, Response: "A hidden answer", By: &tom}); err != nil {
			t.Fatal(err)
		}
	}
	in := serve(t, b)
	access := ask.Access{{Tenants: []string{"acme"}, Sessions: []string{"deploy-*"}, Audiences: []string{"group:platform"}}}
	narrow := in.as(t, auth.Person{By: tom, Access: access})

	t.Run("pages", func(t *testing.T) {
		t.Parallel()
		hidden := []string{"other/deploy-1/tenant", "acme/payroll/session", "acme/deploy-1/audience"}
		pages := []string{"/"}
		for _, k := range hidden {
			for _, k := range []string{k, k + "-past"} {
				pages = append(pages, "/?done="+k)
				if res := narrow.get("/ask/" + k); res.status != http.StatusNotFound || contains(res.body, "A hidden") {
					t.Errorf("%s: %d %s", k, res.status, res.body)
				}
			}
			if res := narrow.get("/ask/" + k + "/notice"); res.status != http.StatusNotFound || contains(res.body, "A hidden") {
				t.Errorf("%s notice: %d %s", k, res.status, res.body)
			}
			for _, verb := range []string{"answer", "decline", "snooze", "handover", "attend", "pick"} {
				res := narrow.post("/ask/"+k+"/"+verb, url.Values{"text:t": {"yes"}, "answer_id": {"x"}, "for": {"1h"}, "to": {"os:tom"}, "state": {"looking"}, "life": {"l1"}})
				if parts := strings.Split(k, "/"); res.status != http.StatusNotFound || contains(res.body, "A hidden") || b.outcome(ask.Key{Tenant: parts[0], Session: parts[1], ID: parts[2]}) != nil {
					t.Errorf("%s %s: %d", verb, k, res.status)
				}
			}
		}
		narrow.post("/bulk", url.Values{"key": hidden, "reason": {"no"}})
		for _, k := range hidden {
			if parts := strings.Split(k, "/"); b.outcome(ask.Key{Tenant: parts[0], Session: parts[1], ID: parts[2]}) != nil {
				t.Errorf("%s was declined with others", k)
			}
		}
		for _, page := range []string{
			"/?show=all", "/?show=team", "/?session=payroll", "/bulk?show=all", "/history", "/history?q=hidden", "/history/other/deploy-1", "/history/acme/payroll",
			"/history/acme/deploy-1", "/history/export?format=json", "/history/export?format=csv",
		} {
			if res := narrow.get(page); contains(res.body, "A hidden") {
				t.Errorf("%s: %d %s", page, res.status, res.body)
			}
		}
		for _, page := range []string{"/?show=all", "/bulk?show=all", "/history", "/history/acme/payroll", "/history/export?format=json", "/history/export?format=csv"} {
			if res := in.signedIn(t, mei).get(page); !contains(res.body, "A hidden") {
				t.Errorf("a person with access to everything does not see it at %s", page)
			}
		}
		for _, page := range pages {
			if res := narrow.get(page); res.status != http.StatusOK || !contains(res.body, "An open question?") || contains(res.body, "A hidden") {
				t.Errorf("%s: %d %s", page, res.status, res.body)
			}
		}
	})
	t.Run("what ended and earlier answers", func(t *testing.T) {
		t.Parallel()
		b := newBus()
		in := serve(t, b)
		access := ask.Access{{Audiences: []string{"group:platform"}}}
		same := text("t", "The same question?")
		past := b.ask(ask.Ask{ID: "past", Audience: []string{"group:hr"}, Questions: []ask.Question{same}}, 0)
		if _, err := b.Answer(t.Context(), past, ask.Reply{AnswerID: "a", By: tom, Answers: []ask.Answer{{QuestionID: "t", Text: "A hidden answer"}}}); err != nil {
			t.Fatal(err)
		}
		now := b.ask(ask.Ask{ID: "now", Questions: []ask.Question{same}}, 0)
		all := in.signedIn(t, mei)
		for !contains(all.get("/ask/"+now.String()).body, "A hidden answer") { // each turn is a whole request
			if t.Context().Err() != nil {
				t.Fatal("a person with access to everything sees no earlier answer")
			}
		}
		if res := in.as(t, auth.Person{By: tom, Access: access}).get("/ask/" + now.String()); res.status != http.StatusOK || contains(res.body, "A hidden answer") {
			t.Errorf("%d %s", res.status, res.body)
		}
	})
	t.Run("a reader reads and decides nothing", func(t *testing.T) {
		t.Parallel()
		reader := in.as(t, auth.Person{By: tom, Access: ask.Access{{Tenants: []string{"acme"}, Sessions: []string{"deploy-1"}, ReadOnly: true}}})
		if res := reader.get("/ask/" + mine.String()); res.status != http.StatusOK || !contains(res.body, "You may read this, not decide it.") {
			t.Errorf("%d %s", res.status, res.body)
		}
		reader.post("/bulk", url.Values{"key": {mine.String()}})
		for _, verb := range []string{"answer", "decline", "pick"} {
			life := b.life(mine)
			if res := reader.post("/ask/"+mine.String()+"/"+verb, url.Values{"text:t": {"yes"}, "answer_id": {"x"}, "me": {tom.Principal}, "life": {life}}); res.status != http.StatusForbidden || b.outcome(mine) != nil {
				t.Errorf("%s: %d", verb, res.status)
			}
		}
	})
	t.Run("the stream follows only asks that the person may see", func(t *testing.T) {
		t.Parallel()
		bus := newBus()
		heard := make(chan board.Filter, 10)
		in := serveAsks(t, bus, bus)
		bus.mu.Lock()
		bus.heard = heard
		bus.mu.Unlock()
		u := in.as(t, auth.Person{By: tom, Access: access})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, in.URL+"/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := u.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if f := <-heard; f.Viewer.Sees(ask.Key{Tenant: "other", Session: "deploy-1"}, nil) || !f.Viewer.Sees(mine, nil) {
			t.Errorf("it follows %+v", f)
		}
	})
}
