package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/asking/gateway"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/coder/websocket"
)

// wireClient is a WebSocket client.
type wireClient struct {
	t    *testing.T
	conn *websocket.Conn
}

type frame struct {
	Type string
	Data struct {
		ID, SessionID, AgentID, Question, By, Detail, Code string
		Status                                             any // of an outcome, or of a problem
		Options                                            []struct{ Label, Description string }
		Queued                                             int
		Questions                                          []struct {
			Question string
			Options  []struct{ Label string }
		}
		Answers map[string]any
		Errors  []struct{ Pointer string }
	}
}

func (d *fixture) dial(secret, query string) *wireClient {
	d.t.Helper()
	conn, res, err := d.connect(secret, query)
	if err != nil {
		d.t.Fatalf("%v: %v", err, res)
	}
	d.t.Cleanup(func() { _ = conn.CloseNow() })
	return &wireClient{d.t, conn}
}

func (d *fixture) connect(secret, query string) (*websocket.Conn, *http.Response, error) {
	ctx, cancel := context.WithTimeout(d.t.Context(), waittest.Limit)
	defer cancel()
	return websocket.Dial(ctx, "ws"+strings.TrimPrefix(d.url, "http")+"/t/"+secret+"/ws"+query, nil)
}

func (w *wireClient) send(body string) {
	w.t.Helper()
	if err := w.conn.Write(w.t.Context(), websocket.MessageText, []byte(body)); err != nil {
		w.t.Fatal(err)
	}
}

// next returns the next frame, which must have this type.
func (w *wireClient) next(typ string) frame {
	w.t.Helper()
	f := w.read()
	if f.Type != typ {
		w.t.Fatalf("want %s, got %+v", typ, f)
	}
	return f
}

// read returns the next frame.
func (w *wireClient) read() (f frame) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), waittest.Limit)
	defer cancel()
	_, body, err := w.conn.Read(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := json.Unmarshal(body, &f); err != nil { //nolint:musttag // read without case
		w.t.Fatalf("%v: %s", err, body)
	}
	return f
}

// quiet checks that no frame came before a pong.
func (w *wireClient) quiet() {
	w.t.Helper()
	w.send(`{"type":"ping"}`)
	w.next("pong")
}

// told checks that no frame came before a pong, except one that reports how an ask ended, as for a
// late answer.
func (w *wireClient) told(closed string) {
	w.t.Helper()
	w.send(`{"type":"ping"}`)
	for range 2 {
		ctx, cancel := context.WithTimeout(w.t.Context(), waittest.Limit)
		_, body, err := w.conn.Read(ctx)
		cancel()
		switch {
		case err != nil:
			w.t.Fatal(err)
		case strings.Contains(string(body), `"type":"pong"`):
			return
		case !strings.Contains(string(body), closed):
			w.t.Fatalf("want pong, got %s", body)
		}
	}
	w.t.Fatal("no pong")
}

func one(id, text string) string {
	return `{"id":"` + id + `","agent":{"id":"builder"},"questions":[{"text":"` + text + `","options":[{"label":"A","description":"the first"},{"label":"B"}]}]}`
}

func TestScreensRace(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent, screen, resp := d.agent("s1"), d.screen("s1"), d.responder()
	d.do(agent, "POST", "/v1/asks", one("before", "Which first?")).want(t, 201)
	panel, pair := d.dial(screen, "?sessionId=s1&by=Mei"), d.dial(resp, "?dialect=event-pair")
	for range 2 { // what waited before, and what comes now
		f := panel.next("interaction_request")
		if f.Data.SessionID != "s1" || len(f.Data.Options) != 2 || f.Data.Options[0].Description != "the first" {
			t.Errorf("interact is shown %+v", f)
		}
		g := pair.next("ask:question:request")
		if g.Data.ID != f.Data.ID || g.Data.AgentID != "builder" {
			t.Errorf("the event pair is shown %+v", g)
		}
		if f.Data.ID == "before" {
			panel.send(`{"type":"interaction_response","data":{"id":"before","result":"B"}}`)
			if c := panel.next("interaction_closed"); c.Data.Status != "answered" || c.Data.By != "Mei over HTTP" {
				t.Errorf("closed: %+v", c)
			}
			if c := pair.next("ask:question:closed"); c.Data.ID != "before" || c.Data.By != "Mei" {
				t.Errorf("closed: %+v", c)
			}
			d.do(agent, "POST", "/v1/asks", one("now", "Which now?")).want(t, 201)
			continue
		}
		// A third surface and both screens answer at once: one of them wins, and all get the
		// outcome.
		third := make(chan error, 1)
		go func() {
			_, err := d.people.Answer(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: "now"}, ask.Reply{Answers: []ask.Answer{{QuestionID: "q1", Selected: []string{"o1"}}}, By: mei})
			third <- err
		}()
		panel.send(`{"type":"interaction_response","data":{"id":"now","result":["A"]}}`)
		pair.send(`{"type":"ask:question:response","data":{"agentId":"builder","answers":{"question-0":"B"}}}`)
		err := <-third
		a, b := panel.next("interaction_closed"), pair.next("ask:question:closed")
		if a.Data.Status != "answered" || b.Data.Status != "answered" || !strings.HasPrefix(a.Data.By, b.Data.By) {
			t.Errorf("%v, %+v, %+v", err, a, b)
		}
	}
	d.do(agent, "GET", "/v1/asks/s1/before", "").want(t, 200, `"selected":["o2"]`)
	panel.told("interaction_closed")
	pair.told("ask:question:closed")
}

// An answer after the end of the ask gets the outcome, even if it does not name the ask.
func TestALateAnswerGetsTheOutcome(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent := d.agent("s1")
	panel, all, pair := d.dial(d.screen("s1"), ""), d.dial(d.responder(), ""), d.dial(d.responder(), "?dialect=event-pair")
	d.do(agent, "POST", "/v1/asks", one("now", "Which now?")).want(t, 201)
	panel.next("interaction_request")
	all.next("interaction_request")
	pair.next("ask:question:request")
	key := ask.Key{Tenant: "acme", Session: "s1", ID: "now"}
	if _, err := d.people.Answer(t.Context(), key, ask.Reply{Answers: []ask.Answer{{QuestionID: "q1", Selected: []string{"o1"}}}, By: mei}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // how it ended, and the same for a late answer
		for _, w := range []*wireClient{panel, all} {
			if c := w.next("interaction_closed"); c.Data.ID != "now" || c.Data.SessionID != "s1" || c.Data.Status != "answered" || !strings.HasPrefix(c.Data.By, mei.Name) {
				t.Errorf("%+v", c)
			}
			w.send(`{"type":"interaction_response","data":{"id":"now","result":"B"}}`)
		}
		if c := pair.next("ask:question:closed"); c.Data.ID != "now" || c.Data.SessionID != "s1" || c.Data.Status != "answered" || c.Data.By != mei.Name {
			t.Errorf("%+v", c)
		}
		pair.send(`{"type":"ask:question:response","data":{"agentId":"builder","answers":{"question-0":"B"}}}`)
	}
}

func TestScreensGetEvents(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent, screen := d.agent("s1", "s2"), d.screen("s1")
	w := d.dial(screen, "")
	w.quiet()
	d.do(agent, "POST", "/v1/asks?session=s2", one("elsewhere", "Why?")).want(t, 201)
	d.do(agent, "POST", "/v1/asks?session=s1", `{"id":"two","questions":[{"id":"x","text":"How many?","kind":"number"},{"id":"y","text":"Which?","options":[{"label":"A"},{"label":"B"}],"allow_other":false}]}`).want(t, 201)
	if a, b := w.next("interaction_request"), w.next("interaction_request"); a.Data.ID != "two.1" || b.Data.ID != "two.2" {
		t.Fatalf("%+v, %+v", a, b)
	}
	w.send(`{"type":"interaction_response","data":{"id":"two.2","result":"B"}}`)
	w.send(`{"type":"interaction_response","data":{"id":"two.1","result":"many"}}`)
	if e := w.next("error"); e.Data.ID != "two.1" || e.Data.Code != "invalid" {
		t.Errorf("a wrong answer: %+v", e)
	}
	if again := w.next("interaction_request"); again.Data.ID != "two.1" {
		t.Errorf("asked again: %+v", again)
	}
	w.send(`{"type":"interaction_response","data":{"id":"two.1","result":"3"}}`)
	w.next("interaction_closed")
	w.next("interaction_closed")
	d.do(agent, "GET", "/v1/asks/s1/two", "").want(t, 200, `"number":3`, `"selected":["o2"]`)

	for name, c := range map[string]struct{ send, says string }{
		"no JSON":             {`{`, "this is not a frame"},
		"another type":        {`{"type":"hallo"}`, "interaction_response"},
		"no id":               {`{"type":"interaction_response","data":{"result":"x"}}`, "with id and result"},
		"another session":     {`{"type":"interaction_response","data":{"id":"elsewhere","sessionId":"s2","result":"A"}}`, ""},
		"a wrong result":      {`{"type":"interaction_response","data":{"id":7}}`, ""},
		"a screen that asks":  {`{"type":"ask:question:request","data":{}}`, "answers for session s1"},
		"a hello in no shape": {`{"type":"hello","data":{"dialect":"d9"}}`, "event-pair, typed, interact"},
	} {
		w.send(c.send)
		if e := w.next("error"); !strings.Contains(e.Data.Detail, c.says) {
			t.Errorf("%s: %+v", name, e)
		}
	}
	w.send(`{"type":"interaction_response","data":{"id":"two","result":"late"}}`)
	w.next("interaction_closed")
	w.next("interaction_closed")
}

func TestResume(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent, screen := d.agent("s1"), d.screen("s1")
	for _, id := range []string{"ended", "open"} {
		d.do(agent, "POST", "/v1/asks", one(id, "Which?")).want(t, 201)
	}
	first := d.dial(screen, "")
	first.next("interaction_request")
	first.next("interaction_request")
	_ = first.conn.CloseNow()
	d.do(agent, "DELETE", "/v1/asks/s1/ended", "").want(t, 200)
	second := d.dial(screen, "?open=ended,open")
	if f := second.next("interaction_request"); f.Data.ID != "open" {
		t.Errorf("shown again: %+v", f)
	}
	if f := second.next("interaction_closed"); f.Data.ID != "ended" || f.Data.Status != "withdrawn" {
		t.Errorf("closed meanwhile: %+v", f)
	}
	second.send(`{"type":"hello","data":{"dialect":"d1","open":["ended"]}}`)
	if f := second.next("ask:question:request"); f.Data.ID != "open" {
		t.Errorf("in another dialect: %+v", f)
	}
	if f := second.next("ask:question:closed"); f.Data.ID != "ended" {
		t.Errorf("closed, in another dialect: %+v", f)
	}
	second.quiet()
}

func TestOneAskIsOpenForAnAgentInD1(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent, resp := d.agent("s1"), d.responder()
	for _, id := range []string{"a", "b", "c"} {
		d.do(agent, "POST", "/v1/asks", one(id, "Which?")).want(t, 201)
	}
	w := d.dial(resp, "?dialect=event-pair")
	if f := w.next("ask:question:request"); f.Data.ID != "a" {
		t.Fatalf("%+v", f)
	}
	w.quiet()
	d.do(agent, "DELETE", "/v1/asks/s1/b", "").want(t, 200)
	w.send(`{"type":"ask:question:response","data":{"agentId":"builder","answers":{"question-0":"A"}}}`)
	w.next("ask:question:closed")
	if f := w.next("ask:question:request"); f.Data.ID != "c" {
		t.Errorf("%+v", f)
	}
	w.send(`{"type":"ask:question:response","data":{"agentId":"builder","status":"cancelled","reason":"no","answers":{}}}`)
	if f := w.next("ask:question:closed"); f.Data.Status != "cancelled" {
		t.Errorf("%+v", f)
	}
}

func TestAScreenMayCloseACardUndecided(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent, resp := d.agent("s1"), d.responder()
	for _, id := range []string{"a", "b"} {
		d.do(agent, "POST", "/v1/asks", one(id, "Which?")).want(t, 201)
	}
	w := d.dial(resp, "?dialect=event-pair")
	w.next("ask:question:request")
	w.send(`{"type":"ask:question:response","data":{"agentId":"builder","status":"aborted","answers":{}}}`)
	if f := w.next("ask:question:pending"); f.Data.ID != "a" || f.Data.Status != "pending" {
		t.Errorf("%+v", f)
	}
	if f := w.next("ask:question:request"); f.Data.ID != "b" {
		t.Errorf("the next is not shown: %+v", f)
	}
	w.send(`{"type":"ask:question:response","data":{"agentId":"builder","id":"a","answers":{"question-0":"A"}}}`)
	if f := w.next("ask:question:closed"); f.Data.ID != "a" || f.Data.Status != "answered" {
		t.Errorf("answered later: %+v", f)
	}
	d.do(agent, "POST", "/v1/asks/s1/b/answer?dialect=by-id", `{"status":"aborted","answers":[]}`).want(t, 403)
	d.do(resp, "POST", "/v1/asks/s1/b/answer?dialect=by-id", `{"status":"aborted","answers":[]}`).want(t, 200, `"state":"pending"`)
	other := d.dial(resp, "")
	f := other.next("interaction_request")
	other.send(`{"type":"interaction_response","data":{"id":"` + f.Data.ID + `","status":"aborted"}}`)
	if f := other.next("interaction_pending"); f.Data.ID != "b" {
		t.Errorf("%+v", f)
	}
}

func TestAnAskThatAScreenCannotShowGetsALink(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	d.do(d.agent("s1"), "POST", "/v1/asks", `{"id":"big","questions":[{"text":"Which?","options":[{"label":"A"},{"label":"B"},{"label":"C"},{"label":"D"},{"label":"E"}]}]}`).want(t, 201)
	w := d.dial(d.responder(), "?dialect=event-pair")
	if f := w.next("ask:question:request"); len(f.Data.Questions) != 1 || len(f.Data.Questions[0].Options) != 2 || !strings.Contains(f.Data.Questions[0].Question, d.url+"/ask/acme/s1/big") {
		t.Errorf("%+v", f)
	}
	w.send(`{"type":"ask:question:response","data":{"id":"big","answers":{"question-0":"5"}}}`)
	w.next("ask:question:closed")
	d.do(d.agent("s1"), "GET", "/v1/asks/s1/big", "").want(t, 200, `"selected":["o5"]`)
}

// Where the inbox is at another host, links for people lead there, and what programs read stays at the gateway's own.
func TestLinksForPeopleLeadToTheInbox(t *testing.T) {
	t.Parallel()
	const inbox = "https://inbox.example.com"
	d := open(t, gateway.Options{InboxURL: inbox})
	d.do(d.agent("s1"), "POST", "/v1/asks", `{"id":"big","questions":[{"text":"Which?","options":[{"label":"A"},{"label":"B"},{"label":"C"},{"label":"D"},{"label":"E"}]}]}`).want(t, 201)
	if f := d.dial(d.responder(), "?dialect=event-pair").next("ask:question:request"); !strings.Contains(f.Data.Questions[0].Question, inbox+"/ask/acme/s1/big") {
		t.Errorf("a screen of the socket: %+v", f)
	}
	d.do(d.screen("s1"), "GET", "/v1/asks/s1/big?dialect=event-pair", "").want(t, 200, inbox+"/ask/acme/s1/big")
	d.do("", "GET", "/.well-known/agent-card.json", "").want(t, 200, `"url":"`+d.url+`/a2a"`)
}

func TestAnAgentAsksOverItsSocket(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent := d.agent("s1")
	w := d.dial(agent, "?dialect=event-pair")
	ask1 := func(text string) string {
		return `{"type":"ask:question:request","data":{"agentId":"a","questions":[{"question":"` + text + `","header":"H","options":[{"label":"A"},{"label":"B"}]}]}}`
	}
	w.send(ask1("First?"))
	w.send(ask1("Second?"))
	w.send(ask1("Third?"))
	first, second, third := w.next("ask:question:pending").Data, w.next("ask:question:pending").Data, w.next("ask:question:pending").Data
	if first.Queued != 0 || second.Queued != 1 || third.Queued != 2 {
		t.Errorf("queued %d, %d, %d", first.Queued, second.Queued, third.Queued)
	}
	// All are stored. Whichever is answered first, responses come in order.
	d.answers(d.key("s1", third.ID), ask.Answer{QuestionID: "q1", Selected: []string{"o1"}})
	w.quiet()
	d.answers(d.key("s1", first.ID), ask.Answer{QuestionID: "q1", Selected: []string{"o2"}})
	if f := w.next("ask:question:response"); f.Data.ID != first.ID || f.Data.AgentID != "a" || f.Data.Answers["question-0"] != "B" {
		t.Errorf("%+v", f)
	}
	w.quiet()
	_ = w.conn.CloseNow() // withdraws nothing

	d.answers(d.key("s1", second.ID), ask.Answer{QuestionID: "q1", Selected: []string{"o1"}})
	again := d.dial(agent, "?open="+second.ID)
	if f := again.next("ask:question:response"); f.Data.ID != second.ID || f.Data.Answers["question-0"] != "A" {
		t.Errorf("picked up: %+v", f)
	}
	again.send(`{"type":"ask:question:request","data":{"agentId":"a","id":"mine","questions":[]}}`)
	if e := again.next("error"); e.Data.ID != "mine" {
		t.Errorf("a refusal does not say of what: %+v", e)
	}
	again.send(`{"type":"interaction_response","data":{"id":"x","result":"A"}}`)
	if e := again.next("error"); e.Data.Code != "forbidden" {
		t.Errorf("an agent answers: %+v", e)
	}
}

// A host's own id comes back in every frame of its ask, also where it is no id of askbus, and names the
// ask after a reconnect.
func TestAHostsIDComesBackOverItsSocket(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent := d.agent("*")
	const asks = `{"type":"ask:question:request","data":{"id":%q,"questions":[{"question":"%s?","header":"H","options":[{"label":"A"},{"label":"B"}]}]}}`
	for _, id := range []string{"req:1.5", "req-7", "chat/8"} {
		w := d.dial(agent, "?dialect=event-pair&sessionId=s1")
		for range 2 { // a repeat is the same ask
			w.send(fmt.Sprintf(asks, id, "Which"))
			if f := w.next("ask:question:pending"); f.Data.ID != id {
				t.Errorf("pending: %+v", f)
			}
		}
		w.send(fmt.Sprintf(asks, id, "Which else"))
		if f := w.next("error"); f.Data.ID != id || f.Data.Code != "id_reused" {
			t.Errorf("another question: %+v", f)
		}
		_ = w.conn.CloseNow()
		again := d.dial(agent, "?dialect=event-pair&sessionId=s1&open="+url.QueryEscape(id))
		again.quiet()
		d.answers(d.key("s1", ask.Token(id)), ask.Answer{QuestionID: "q1", Selected: []string{"o2"}})
		if f := again.next("ask:question:response"); f.Data.ID != id || f.Data.Answers["question-0"] != "B" {
			t.Errorf("response: %+v", f)
		}
		hello := d.dial(agent, "?dialect=typed&sessionId=s1")
		hello.send(fmt.Sprintf(`{"type":"hello","data":{"open":[%q,"gone:%s"]}}`, id, id))
		for range 2 { // in any order
			switch f := hello.read(); {
			case f.Type == "ask:question:response" && f.Data.ID == id:
			case f.Type == "error" && f.Data.ID == "gone:"+id && f.Data.Code == "not_found":
			default:
				t.Errorf("after hello: %+v", f)
			}
		}
	}
	// An ask that was named elsewhere is found as well.
	d.do(agent, "POST", "/v1/asks?session=s1", `{"questions":[{"text":"Which?","options":[{"label":"A"},{"label":"B"}]}]}`, "Idempotency-Key", "call:9").want(t, 201)
	w := d.dial(agent, "?dialect=event-pair&sessionId=s1&open=call:9")
	d.answers(d.key("s1", ask.Token("call:9")), ask.Answer{QuestionID: "q1", Selected: []string{"o1"}})
	if f := w.next("ask:question:response"); f.Data.ID != "call:9" {
		t.Errorf("%+v", f)
	}
}

func TestAScreenIsPresence(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent, screen := d.agent("*"), d.screen("s1")
	const body = `{"sessionId":"s1","question":"Which?"}`
	d.do(agent, "POST", "/api/interact/ask", body).want(t, 503, "nobody_there")
	w := d.dial(screen, "")
	w.quiet()
	waiting := d.meanwhile(agent, "POST", "/api/interact/ask", body)
	f := w.next("interaction_request")
	w.send(`{"type":"interaction_response","data":{"id":"` + f.Data.ID + `","result":"Because"}}`)
	(<-waiting).want(t, 200, `{"result":"Because"}`)
	d.do(agent, "POST", "/api/interact/ask", `{"sessionId":"s2","question":"Which?"}`).want(t, 503, "nobody_there")
}

// A token that opens and closes sockets is refused until the next minute; those
// that are open, and other tokens, are not.
func TestNewSocketsOfATokenHaveARate(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{PerMinute: 3})
	a, b := d.screen("s1"), d.screen("s1")
	held := d.dial(a, "")
	for range 2 {
		_ = d.dial(a, "").conn.CloseNow()
	}
	if _, res, err := d.connect(a, ""); err == nil || res.StatusCode != 429 {
		t.Errorf("a fourth in this minute: %v %v", err, res)
	}
	d.dial(b, "")
	d.do(d.agent("s1"), "POST", "/v1/asks", one("a", "Which?")).want(t, 201)
	held.next("interaction_request")
}

func TestLimitsOfSockets(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{MaxPerToken: 2, MaxSockets: 3, MaxPerSocket: 3})
	a, b := d.screen("s1"), d.screen("s1")
	first := d.dial(a, "")
	d.dial(a, "")
	if _, res, err := d.connect(a, ""); err == nil || res.StatusCode != 429 {
		t.Errorf("a third of one token: %v %v", err, res)
	}
	d.dial(b, "")
	if _, res, err := d.connect(b, ""); err == nil || res.StatusCode != 503 {
		t.Errorf("a fourth: %v %v", err, res)
	}
	agent := d.agent("s1")
	for _, id := range []string{"a", "b", "c", "d"} {
		d.do(agent, "POST", "/v1/asks", one(id, "Which?")).want(t, 201)
	}
	shown := map[string]bool{}
	for range 3 {
		shown[first.next("interaction_request").Data.ID] = true
	}
	first.quiet() // the fourth has no room
	first.send(`{"type":"interaction_response","data":{"id":"a","result":"A"}}`)
	first.next("interaction_closed")
	if f := first.next("interaction_request"); shown[f.Data.ID] {
		t.Errorf("%s is shown twice", f.Data.ID)
	}
	// The gateway may close it while the frame is still being sent.
	sent := first.conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"`+strings.Repeat("x", 300<<10)+`"}`))
	_, _, err := first.conn.Read(t.Context())
	if err == nil || sent == nil && websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Errorf("a frame of 300 KiB: %v", err)
	}
}
