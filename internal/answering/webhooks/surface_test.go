package webhooks_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/webhooks"
	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// shown is the data of a message with an ask.
type shown struct {
	AskID     string  `json:"ask_id"`
	Link      string  `json:"link"`
	AnswerURL string  `json:"answer_url"`
	Ask       ask.Ask `json:"ask"`
}

func (c *call) asked(t *testing.T) (s shown) {
	t.Helper()
	if err := json.Unmarshal(c.Data, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAProgramGetsAnAskAndAnswersIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	w.replica("surfaces:\n" + w.entry("n8n"))
	w.ask("a1", "")
	c := w.next()
	s := c.asked(t)
	if c.Type != "dev.askbus.ask.requested.v1" || s.AskID != "a1" || s.Ask.Questions[0].Options[0].ID != "pg" || s.Link != "https://bus.example.com/ask/acme/s1/a1" || !strings.HasPrefix(s.AnswerURL, "https://bus.example.com/webhooks/answer/") {
		t.Fatalf("got %s", c.body)
	}
	get := httptest.NewRecorder()
	w.apps[0].Handler().ServeHTTP(get, httptest.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimPrefix(s.AnswerURL, "https://bus.example.com"), nil))
	if get.Code != 405 {
		t.Errorf("a GET: %d", get.Code)
	}
	const body = `{"answers":[{"question_id":"db","selected":["lite"]}]}`
	for name, bad := range map[string][2]string{
		"another option": {s.AnswerURL, `{"answers":[{"question_id":"db","selected":["oracle"]}]}`},
		"another field":  {s.AnswerURL, `{"by":"The CEO","answers":[]}`},
		"both":           {s.AnswerURL, `{"decline":true,"response":"no"}`},
		"no JSON":        {s.AnswerURL, `db=lite`},
		"forged":         {s.AnswerURL[:len(s.AnswerURL)-4] + "AAAA", body},
		"of nothing":     {"https://bus.example.com/webhooks/answer/x", body},
		"too long":       {s.AnswerURL + strings.Repeat("A", 2000), body},
	} {
		if code, text := w.post(w.apps[0], bad[0], bad[1]); code != 400 && code != 404 {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
	code, text := w.post(w.apps[0], s.AnswerURL, body)
	if code != 200 || !strings.Contains(text, `"principal":"webhook:n8n"`) || !strings.Contains(text, `"proof":"webhook"`) {
		t.Fatalf("%d %s", code, text)
	}
	if again, same := w.post(w.apps[0], s.AnswerURL, body); again != 200 || same != text {
		t.Errorf("the same answer again: %d %s", again, same)
	}
	if late, text := w.post(w.apps[0], s.AnswerURL, `{"decline":true}`); late != 409 || !strings.Contains(text, "webhook:n8n") {
		t.Errorf("another answer: %d %s", late, text)
	}
	if o := w.next(); o.Type != "dev.askbus.ask.resolved.v1" || o.outcome(t).Answers[0].Selected[0] != "lite" || o.id == c.id {
		t.Errorf("then %s", o.body)
	}
	natstest.Eventually(t, "the ask says where it was shown", func() bool {
		rec, err := w.bus.Dialog("web").Get(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: "a1"})
		return err == nil && len(rec.Receipts) == 1 && rec.Receipts[0].Type == "webhook" && rec.Receipts[0].Places[0].Where == "webhook n8n"
	})
}

func TestAProgramDeclines(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	w.replica("surfaces:\n" + w.entry("n8n"))
	w.ask("a1", "")
	c := w.next()
	if code, text := w.post(w.apps[0], c.asked(t).AnswerURL, `{"decline":true,"reason":"not tonight"}`); code != 200 || !strings.Contains(text, "not tonight") {
		t.Errorf("%d %s", code, text)
	}
}

// Asks that demand to know who decides, and permissions, neither reach a program nor are answered by one.
func TestAProgramGetsNoAskThatNeedsAPerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	w.replica("surfaces:\n" + w.entry("n8n"))
	for id, change := range map[string]func(*ask.Ask){
		"audience": func(a *ask.Ask) { a.Audience = []string{"group:dba"} },
		"proof":    func(a *ask.Ask) { a.MinProof = ask.ProofOS },
		"excluded": func(a *ask.Ask) { a.ExcludeAsker, a.Asker = true, []string{"os:mei"} },
		"votes": func(a *ask.Ask) {
			a.Questions[0].NoOther = true
			a.Approval = &ask.Approval{AnyOf: []ask.Alternative{{Need: 2, From: []string{"group:dba"}}}, ApproveOptions: []string{"pg"}}
		},
		"permission": func(a *ask.Ask) { a.Metadata = map[string]any{ask.MetadataPermission: "x"} },
	} {
		a := database(id)
		change(&a)
		w.put(a)
	}
	w.ask("open", "") // the work for one partition is in order, and all are of one session
	c := w.next()
	s := c.asked(t)
	if s.AskID != "open" {
		t.Fatalf("got %s", c.body)
	}
	// The id is asked again as something that needs a person: the address is not for it.
	if _, err := w.asks.Withdraw(t.Context(), "open", ""); err != nil {
		t.Fatal(err)
	}
	if code, text := w.post(w.apps[0], s.AnswerURL, `{"answers":[{"question_id":"db","selected":["pg"]}]}`); code != 409 {
		t.Errorf("after the end: %d %s", code, text)
	}
	w.next() // its outcome
	if len(w.got) > 0 {
		t.Errorf("also got %s", (<-w.got).body)
	}
}

func TestALargeAskIsALink(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	w.replica("surfaces:\n" + w.entry("n8n"))
	a := database("big")
	a.Context = strings.Repeat("x", 30_000)
	w.put(a)
	c := w.next()
	if want := `{"ask_id":"big","tenant":"acme","session":"s1","link":"https://bus.example.com/ask/acme/s1/big"}`; string(c.Data) != want {
		t.Errorf("got %.300s", c.Data)
	}
}

// The credential of webhooks can name nobody else, and has no proof that an audience or a minimum takes.
func TestAProgramIsNobodyInParticular(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	role := rights.Role{Name: rights.RoleResponder, Type: webhooks.Type}
	cred, err := w.bus.Asserting(role, role.Assertions())
	if err != nil {
		t.Fatal(err)
	}
	nc, err := connection.Connect(cred, natstest.Logger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	r, err := responder.New(nc, webhooks.Type, responder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := database("dba")
	a.MinProof = ask.ProofHostDialog
	k, free := w.put(a), w.ask("free", "")
	answers := []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}
	for name, by := range map[string]ask.By{
		"a person": {Principal: "oidc:mei", Proof: "oidc"}, "another proof": {Principal: "webhook:n8n", Proof: "oidc"}, "a group": {Principal: "webhook:n8n", Proof: "webhook", Groups: []string{"dba"}},
	} {
		if _, err := r.Answer(t.Context(), free, ask.Reply{By: by, Answers: answers}); !errors.Is(err, ask.ErrForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := r.Answer(t.Context(), k, ask.Reply{By: ask.By{Principal: "webhook:n8n", Proof: "webhook"}, Answers: answers}); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("the weakest minimum: %v", err)
	}
	if _, err := r.Answer(t.Context(), free, ask.Reply{By: ask.By{Principal: "webhook:n8n", Proof: "webhook"}, Answers: answers}); err != nil {
		t.Error(err)
	}
}
