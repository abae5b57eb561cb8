package broker_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/schematest"
	"github.com/nats-io/nats.go"
)

// checker validates what a broker sends against the schemas.
type checker struct {
	t *testing.T
	n int
}

func (c *checker) valid(schema string, data []byte) {
	c.t.Helper()
	if err := schematest.Check(schematest.Compile(c.t, schema), data); err != nil {
		c.t.Errorf("%s: %v\n%s", schema, err, data)
	}
	c.n++
}

// reply checks a reply against the schema of its type.
func (c *checker) reply(m *nats.Msg) {
	c.t.Helper()
	switch m.Header.Get("Content-Type") {
	case wire.TypeProblem:
		c.valid("problem", m.Data)
		return
	case "application/json":
		if m.Header.Get("ce-type") == "" {
			var page struct {
				Items []struct {
					Token string `json:"token"`
				} `json:"items"`
			}
			if err := json.Unmarshal(m.Data, &page); err != nil {
				c.t.Fatal(err)
			}
			if len(page.Items) > 0 && page.Items[0].Token != "" {
				c.valid("next-items", m.Data)
			} else {
				c.valid("list-page", m.Data)
			}
			return
		}
	}
	ev, _, err := cloudevent.FromReply(m)
	if err != nil {
		c.t.Fatalf("%v: %s", err, m.Data)
	}
	switch ev.Type() {
	case cloudevent.TypeStatus:
		c.valid("status", ev.Data())
	case cloudevent.TypeResolved:
		c.valid("outcome", ev.Data())
	default:
		c.t.Errorf("a reply of type %s", ev.Type())
	}
}

func TestABrokersMessagesMatchTheSchemas(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	op, web := plain(t, b, operator()), plain(t, b, surface("web"))
	c := &checker{t: t}
	do := func(nc *nats.Conn, subj, body string) *nats.Msg {
		t.Helper()
		m := request(t, nc, subj, nil, body)
		c.reply(m)
		return m
	}
	ends := map[string]func(id string){
		"answered": func(id string) {
			do(web, answerSubject("web", "s1", id), event(cloudevent.TypeAnswered, id, fmt.Sprintf(
				`{"ask_id":%q,"answer_id":"w","response":"fine","answers":[{"question_id":"db","selected":["pg"],"notes":"n"},{"question_id":"n","number":3},{"question_id":"y","boolean":true},{"question_id":"d","date":"2026-11-20"},{"question_id":"t","text":"x"}],"by":{"principal":"os:mei","name":"Mei","groups":["g"],"proof":"local"}}`, id)))
		},
		"cancelled": func(id string) {
			do(web, answerSubject("web", "s1", id), event(cloudevent.TypeAnswered, id, answerData(id, "w", "stop")))
		},
		"declined": func(id string) {
			do(web, "ansv1.web.acme.s1.cancel."+id, event(cloudevent.TypeDeclined, id, fmt.Sprintf(`{"ask_id":%q,"answer_id":"w","reason":"no","by":%s}`, id, by)))
		},
		"withdrawn": func(id string) {
			do(op, "askv1.acme.s1.withdraw."+id, event(cloudevent.TypeWithdrawn, id, fmt.Sprintf(`{"ask_id":%q,"reason":"moot"}`, id)))
		},
		"aborted": func(id string) {
			do(op, "admv1.acme.s1.abort."+id, event(cloudevent.TypeAborted, id, fmt.Sprintf(`{"ask_id":%q}`, id)))
		},
		"expired": func(id string) {
			m := request(t, op, "askv1.acme.s1.wait."+id, nats.Header{"Askbus-Wait": {"1m"}}, "")
			c.reply(m)
			if typ, o := data(t, m); typ != cloudevent.TypeResolved || o["status"] != "expired" || o["source"] != "default" {
				t.Errorf("%s %v", typ, o)
			}
		},
		"pending": func(string) {},
	}
	for id, end := range ends {
		timeout := "1h"
		if id == "expired" {
			timeout = "1s"
		}
		ask := fmt.Sprintf(`{"id":%q,"title":"T","agent":{"name":"builder"},"metadata":{"n":1e300},"timeout":%q,"at_deadline":"default","questions":[
			{"id":"db","text":"?","options":[{"id":"pg","label":"P","preview":{"body":"x"}},{"id":"stop","label":"S","cancels":true}],"default":["pg"]},
			{"id":"n","kind":"number","text":"?","limits":{"min":1,"max":9,"integer":true},"default":3},
			{"id":"y","kind":"boolean","text":"?","default":false},
			{"id":"d","kind":"date","text":"?","limits":{"min":"2026-01-01"},"required":false},
			{"id":"t","kind":"choice","text":"?","required":false}]}`, id, timeout)
		do(op, askSubject("s1", id), event(cloudevent.TypeAsked, id, ask))
		if m := do(web, "ansv1.web.acme.s1.get."+id, ""); id != "expired" {
			_, s := data(t, m)
			do(web, "ansv1.web.acme.s1.receipt."+id, event(cloudevent.TypePresented, id, fmt.Sprintf(`{"ask_id":%q,"life":%q,"state":"posted","key":"k","places":[{"where":"w"}]}`, id, s["life"])))
		}
		if id == "answered" {
			do(web, "ansv1.web.next", `{"of":"outcome"}`)
			do(web, "ansv1.web.next", `{"of":"question","wait":"30s"}`)
		}
		end(id)
		if id == "answered" {
			do(web, "ansv1.web.next", `{"of":"outcome","wait":"30s"}`)
		}
		do(web, "ansv1.web.acme.s1.get."+id, "")
		do(op, "askv1.acme.s1.wait."+id, "")
		do(op, askSubject("s1", id), event(cloudevent.TypeAsked, id, ask))
		do(web, answerSubject("web", "s1", id), event(cloudevent.TypeAnswered, id, answerData(id, "late", "oracle")))
	}
	for _, body := range []string{"", `{"state":"pending"}`, `{"state":"resolved","limit":3}`} {
		do(web, "ansv1.web.list", body)
	}
	do(op, "askv1.acme.s1.get.none", "")
	do(op, askSubject("s1", "bad"), "hello")
	t.Logf("%d replies", c.n)
}
