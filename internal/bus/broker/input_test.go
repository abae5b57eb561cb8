package broker_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/nats-io/nats.go"
)

func brokerOptions() broker.Options { return broker.Options{} }

// badInput is a request that must be refused. at is the JSON pointer of a
// fault, says is part of the message.
type badInput struct {
	name, subject, body string
	header              nats.Header
	status              int
	at, says            string
}

// questionWith returns an ask with one question that has these fields.
func questionWith(fields string) string {
	return `{"id":"a1","questions":[{"id":"q","text":"t",` + fields + `}]}`
}

func badAsks() []badInput {
	long := func(n int) string { return strings.Repeat("ä", n) }
	many := func(n int, format string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(parts, ",")
	}
	var all []badInput
	for _, v := range []struct{ name, data, at string }{
		{"the id differs from the subject", `{"id":"other","questions":[{"text":"t"}]}`, "/id"},
		{"no id", `{"questions":[{"text":"t"}]}`, "/id"},
		{"an unknown field", `{"id":"a1","question":[],"questions":[{"text":"t"}]}`, "/question"},
		{"a field in capitals", `{"id":"a1","Questions":[{"text":"t"}]}`, "/Questions"},
		{"a field given twice", `{"id":"a1","title":"x","title":"y","questions":[{"text":"t"}]}`, "/title"},
		{"a title that is a number", `{"id":"a1","title":7,"questions":[{"text":"t"}]}`, "/title"},
		{"a title too long", `{"id":"a1","title":"` + long(301) + `","questions":[{"text":"t"}]}`, "/title"},
		{"a context too long", `{"id":"a1","context":"` + long(65_537) + `","questions":[{"text":"t"}]}`, "/context"},
		{"no questions", `{"id":"a1"}`, "/questions"},
		{"an empty list of questions", `{"id":"a1","questions":[]}`, "/questions"},
		{"questions that are an object", `{"id":"a1","questions":{"text":"t"}}`, "/questions"},
		{"17 questions", `{"id":"a1","questions":[` + many(17, `{"text":"t%d"}`) + `]}`, "/questions"},
		{"an empty text", `{"id":"a1","questions":[{"text":" \t "}]}`, "/questions/0/text"},
		{"no text", `{"id":"a1","questions":[{"id":"x"}]}`, "/questions/0/text"},
		{"a text too long", questionWith(`"header":"` + long(13) + `"`), "/questions/0/header"},
		{"duplicate question ids", `{"id":"a1","questions":[{"id":"x","text":"t"},{"id":"x","text":"u"}]}`, "/questions/1/id"},
		{"a question id with a space", `{"id":"a1","questions":[{"id":"a b","text":"t"}]}`, "/questions/0/id"},
		{"an unknown kind", questionWith(`"kind":"colour"`), "/questions/0/kind"},
		{"options of a text", questionWith(`"kind":"text","options":[{"label":"x"}]`), "/questions/0/options"},
		{"a choice of nothing", questionWith(`"kind":"choice","options":[],"allow_other":false`), "/questions/0/options"},
		{"101 options", questionWith(`"options":[` + many(101, `{"label":"o%d"}`) + `]`), "/questions/0/options"},
		{"duplicate option ids", questionWith(`"options":[{"id":"x","label":"a"},{"id":"x","label":"b"}]`), "/questions/0/options/1/id"},
		{"duplicate labels", questionWith(`"options":[{"label":"a"},{"label":" a "}]`), "/questions/0/options/1/label"},
		{"an empty label", questionWith(`"options":[{"label":""}]`), "/questions/0/options/0/label"},
		{"a label too long", questionWith(`"options":[{"label":"` + long(501) + `"}]`), "/questions/0/options/0/label"},
		{"a preview of many", questionWith(`"multiple":true,"options":[{"label":"a","preview":{"body":"x"}}]`), "/questions/0/options/0/preview"},
		{"a preview in HTML", questionWith(`"options":[{"label":"a","preview":{"format":"html","body":"x"}}]`), "/questions/0/options/0/preview/format"},
		{"min_items without multiple", questionWith(`"min_items":1,"options":[{"label":"a"}]`), "/questions/0/min_items"},
		{"more min_items than options", questionWith(`"multiple":true,"allow_other":false,"min_items":2,"options":[{"label":"a"}]`), "/questions/0/min_items"},
		{"max_items below min_items", questionWith(`"multiple":true,"min_items":2,"max_items":1,"options":[{"label":"a"},{"label":"b"}]`), "/questions/0/max_items"},
		{"limits of another kind", questionWith(`"kind":"text","limits":{"min":1}`), "/questions/0/limits/min"},
		{"limits the wrong way round", questionWith(`"kind":"number","limits":{"min":3,"max":1}`), "/questions/0/limits/max"},
		{"a limit that is a boolean", questionWith(`"kind":"number","limits":{"min":true}`), "/questions/0/limits/min"},
		{"a pattern that is no RE2", questionWith(`"kind":"text","limits":{"pattern":"(?=x)"}`), "/questions/0/limits/pattern"},
		{"a date that is none", questionWith(`"kind":"date","limits":{"min":"2026-02-31"}`), "/questions/0/limits/min"},
		{"a default that does not exist", questionWith(`"options":[{"id":"a","label":"a"}],"default":["b"]`), "/questions/0/default"},
		{"a default beyond its limits", questionWith(`"kind":"number","limits":{"max":1},"default":2`), "/questions/0/default"},
		{"a default that is an object", questionWith(`"default":{}`), "/questions/0/default"},
		{"a default that cancels", questionWith(`"options":[{"id":"a","label":"a","cancels":true}],"default":["a"]`), "/questions/0/default"},
		{"no default at the deadline", `{"id":"a1","at_deadline":"default","questions":[{"text":"t"}]}`, "/questions/0/default"},
		{"an unknown at_deadline", `{"id":"a1","at_deadline":"approve","questions":[{"text":"t"}]}`, "/at_deadline"},
		{"an unknown priority", `{"id":"a1","priority":"asap","questions":[{"text":"t"}]}`, "/priority"},
		{"a timeout too short", `{"id":"a1","timeout":"999ms","questions":[{"text":"t"}]}`, "/timeout"},
		{"a timeout too long", `{"id":"a1","timeout":"721h","questions":[{"text":"t"}]}`, "/timeout"},
		{"a timeout in words", `{"id":"a1","timeout":"a day","questions":[{"text":"t"}]}`, "/timeout"},
		{"a timeout as a number", `{"id":"a1","timeout":30,"questions":[{"text":"t"}]}`, "/timeout"},
		{"a deadline that has passed", `{"id":"a1","deadline":"2020-01-01T00:00:00Z","questions":[{"text":"t"}]}`, "/deadline"},
		{"a deadline too far ahead", `{"id":"a1","deadline":"2999-01-01T00:00:00Z","questions":[{"text":"t"}]}`, "/deadline"},
		{"a deadline without a zone", `{"id":"a1","deadline":"2999-01-01T00:00:00","questions":[{"text":"t"}]}`, "/deadline"},
		{"timeout and deadline", `{"id":"a1","timeout":"1h","deadline":"2999-01-01T00:00:00Z","questions":[{"text":"t"}]}`, "/timeout"},
		{"an empty audience entry", `{"id":"a1","audience":["group:"],"questions":[{"text":"t"}]}`, "/audience/0"},
		{"an audience that is a string", `{"id":"a1","audience":"group:x","questions":[{"text":"t"}]}`, "/audience"},
		{"65 metadata entries", `{"id":"a1","metadata":{` + many(65, `"m%d":1`) + `},"questions":[{"text":"t"}]}`, "/metadata"},
		{"an agent with an unknown field", `{"id":"a1","agent":{"nme":"x"},"questions":[{"text":"t"}]}`, "/agent/nme"},
		{"data that is a list", `[]`, ""},
		{"nesting without end", `{"id":"a1","metadata":{"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `},"questions":[{"text":"t"}]}`, ""},
	} {
		all = append(all, badInput{name: "ask: " + v.name, subject: askSubject("s1", "a1"), body: event(cloudevent.TypeAsked, "a1", v.data), status: 400, at: v.at})
	}
	return all
}

func badEvents() []badInput {
	good := nats.Header{"ce-specversion": {"1.0"}, "ce-id": {"e1"}, "ce-source": {"/x"}, "ce-type": {cloudevent.TypeAsked}}
	with := func(name, value string) nats.Header {
		h := maps.Clone(good)
		if h[name] = []string{value}; value == "" {
			delete(h, name)
		}
		return h
	}
	to := askSubject("s1", "a1")
	return []badInput{
		{name: "no body", subject: to, status: 400, says: "needs a CloudEvent"},
		{name: "no event", subject: to, body: "hello", status: 400, says: "not a CloudEvent"},
		{name: "broken JSON", subject: to, body: `{"specversion":`, status: 400, says: "not valid JSON"},
		{name: "a plain ask", subject: to, body: askData("a1"), status: 400, says: "not a CloudEvent"},
		{name: "an old specversion", subject: to, body: strings.Replace(event(cloudevent.TypeAsked, "a1", askData("a1")), `"1.0"`, `"0.3"`, 1), status: 400, says: "specversion"},
		{name: "another type", subject: to, body: event(cloudevent.TypeAnswered, "a1", askData("a1")), status: 400, says: "takes " + cloudevent.TypeAsked},
		{name: "another subject", subject: to, body: event(cloudevent.TypeAsked, "a2", askData("a1")), status: 400, says: "must agree"},
		{name: "no data", subject: to, body: `{"specversion":"1.0","id":"e","source":"/x","type":"` + cloudevent.TypeAsked + `"}`, status: 400, says: "no data"},
		{name: "data in XML", subject: to, body: `{"specversion":"1.0","id":"e","source":"/x","type":"` + cloudevent.TypeAsked + `","datacontenttype":"application/xml","data":"<a/>"}`, status: 400, says: "datacontenttype"},
		{name: "binary without specversion", subject: to, body: askData("a1"), header: with("ce-specversion", ""), status: 400, says: "ce-specversion"},
		{name: "binary with specversion 2.0", subject: to, body: askData("a1"), header: with("ce-specversion", "2.0"), status: 400, says: "ce-specversion"},
		{name: "binary without id", subject: to, body: askData("a1"), header: with("ce-id", ""), status: 400, says: "id"},
		{name: "binary without source", subject: to, body: askData("a1"), header: with("ce-source", ""), status: 400, says: "source"},
		{name: "binary with a time that is none", subject: to, body: askData("a1"), header: with("ce-time", "yesterday"), status: 400, says: "ce-time"},
		{name: "binary in XML", subject: to, body: askData("a1"), header: with("Content-Type", "text/xml"), status: 400, says: "datacontenttype"},
		{name: "too large", subject: to, body: event(cloudevent.TypeAsked, "a1", askData("a1")) + strings.Repeat(" ", 256<<10), status: 413, says: "262144"},
	}
}

func badAnswers() []badInput {
	var all []badInput
	for _, v := range []struct{ name, data, at string }{
		{"no ask id", `{"answer_id":"w","by":` + by + `}`, "/ask_id"},
		{"another ask id", `{"ask_id":"b","answer_id":"w","by":` + by + `}`, "/ask_id"},
		{"no answer id", `{"ask_id":"open","by":` + by + `}`, "/answer_id"},
		{"an answer id too long", `{"ask_id":"open","answer_id":"` + strings.Repeat("x", 129) + `","by":` + by + `}`, "/answer_id"},
		{"a by that is a string", `{"ask_id":"open","answer_id":"w","by":"mei"}`, "/by"},
		{"an unknown field", `{"ask_id":"open","answer_id":"w","status":"answered","by":` + by + `}`, "/status"},
		{"a question that is not asked", `{"ask_id":"open","answer_id":"w","answers":[{"question_id":"x","text":"y"}],"by":` + by + `}`, "/answers/0/question_id"},
		{"an option that does not exist", answerData("open", "w", "oracle"), "/answers/0"},
		{"two of a single choice", `{"ask_id":"open","answer_id":"w","answers":[{"question_id":"db","selected":["pg","lite"]}],"by":` + by + `}`, "/answers/0"},
		{"a text for a choice", `{"ask_id":"open","answer_id":"w","answers":[{"question_id":"db","text":"pg"}],"by":` + by + `}`, "/answers/0"},
		{"a question answered twice", `{"ask_id":"open","answer_id":"w","answers":[{"question_id":"db","selected":["pg"]},{"question_id":"db","selected":["pg"]}],"by":` + by + `}`, "/answers/1/question_id"},
		{"a required question left out", `{"ask_id":"open","answer_id":"w","answers":[],"by":` + by + `}`, "/answers"},
		{"201 groups", `{"ask_id":"open","answer_id":"w","by":{"principal":"x","groups":[` + strings.TrimSuffix(strings.Repeat(`"g",`, 201), ",") + `]}}`, "/by/groups"},
	} {
		all = append(all, badInput{name: "answer: " + v.name, subject: answerSubject("web", "s1", "open"), body: event(cloudevent.TypeAnswered, "open", v.data), status: 400, at: v.at})
	}
	cancel := func(data string) string { return event(cloudevent.TypeDeclined, "open", data) }
	receipt := func(data string) string { return event(cloudevent.TypePresented, "open", data) }
	return append(all,
		badInput{name: "answer: nobody asked", subject: answerSubject("web", "s1", "none"), body: event(cloudevent.TypeAnswered, "none", answerData("none", "w", "pg")), status: 404, says: "no such ask"},
		badInput{name: "cancel: no answer id", subject: "ansv1.web.acme.s1.cancel.open", body: cancel(`{"ask_id":"open","by":` + by + `}`), status: 400, at: "/answer_id"},
		badInput{name: "cancel: a reason too long", subject: "ansv1.web.acme.s1.cancel.open", body: cancel(`{"ask_id":"open","answer_id":"w","reason":"` + strings.Repeat("x", 10_001) + `","by":` + by + `}`), status: 400, at: "/reason"},
		badInput{name: "cancel: the event of an answer", subject: "ansv1.web.acme.s1.cancel.open", body: event(cloudevent.TypeAnswered, "open", answerData("open", "w", "pg")), status: 400, says: "cancel takes"},
		badInput{name: "receipt: no life", subject: "ansv1.web.acme.s1.receipt.open", body: receipt(`{"ask_id":"open","state":"posted"}`), status: 400, at: "/life"},
		badInput{name: "receipt: another life", subject: "ansv1.web.acme.s1.receipt.open", body: receipt(`{"ask_id":"open","life":"01J","state":"posted"}`), status: 400, at: "/life"},
		badInput{name: "receipt: a sequence, as before", subject: "ansv1.web.acme.s1.receipt.open", body: receipt(`{"ask_id":"open","life":"01J","seq":1,"state":"posted"}`), status: 400, at: "/seq"},
		badInput{name: "receipt: an unknown state", subject: "ansv1.web.acme.s1.receipt.open", body: receipt(`{"ask_id":"open","life":"01J","state":"seen"}`), status: 400, at: "/state"},
		badInput{name: "receipt: nobody asked", subject: "ansv1.web.acme.s1.receipt.none", body: event(cloudevent.TypePresented, "none", `{"ask_id":"none","life":"01J","state":"posted"}`), status: 404, says: "no such ask"},
	)
}

func badRest() []badInput {
	return []badInput{
		{name: "withdraw: without a body", subject: "askv1.acme.s1.withdraw.open", status: 400, says: "needs a CloudEvent"},
		{name: "withdraw: another id", subject: "askv1.acme.s1.withdraw.open", body: event(cloudevent.TypeWithdrawn, "open", `{"ask_id":"x"}`), status: 400, at: "/ask_id"},
		{name: "withdraw: nobody asked", subject: "askv1.acme.s1.withdraw.none", body: event(cloudevent.TypeWithdrawn, "none", `{"ask_id":"none"}`), status: 404, says: "no such ask"},
		{name: "abort: the event of a withdrawal", subject: "admv1.acme.s1.abort.open", body: event(cloudevent.TypeWithdrawn, "open", `{"ask_id":"open"}`), status: 400, says: "abort takes"},
		{name: "abort: an unknown field", subject: "admv1.acme.s1.abort.open", body: event(cloudevent.TypeAborted, "open", `{"ask_id":"open","why":"x"}`), status: 400, at: "/why"},
		{name: "get: nobody asked", subject: "askv1.acme.s1.get.none", status: 404, says: "no such ask"},
		{name: "wait: nobody asked", subject: "askv1.acme.s1.wait.none", header: nats.Header{"Askbus-Wait": {"1h"}}, status: 404, says: "no such ask"},
		{name: "list: an unknown field", subject: "ansv1.web.list", body: `{"page":1}`, status: 400, at: "/page"},
		{name: "list: a limit too high", subject: "ansv1.web.list", body: `{"limit":501}`, status: 400, at: "/limit"},
		{name: "list: an unknown state", subject: "ansv1.web.list", body: `{"state":"open"}`, status: 400, at: "/state"},
		{name: "list: a cursor of others", subject: "ansv1.web.list", body: `{"cursor":"garbage"}`, status: 400, at: "/cursor"},
		{name: "list: a wildcard tenant", subject: "ansv1.web.list", body: `{"tenant":"*"}`, status: 400, at: "/tenant"},
		{name: "list: a session alone", subject: "ansv1.web.list", body: `{"session":"s1"}`, status: 400, at: "/tenant"},
		{name: "list: another tenant than the subject's", subject: "ansv1.web.acme.list", body: `{"tenant":"other"}`, status: 400, at: "/tenant"},
		{name: "list: another session than the subject's", subject: "askv1.acme.s1.list", body: `{"session":"s2"}`, status: 400, at: "/session"},
		{name: "list: trailing garbage", subject: "ansv1.web.list", body: `{} {}`, status: 400, at: ""},
		{name: "next: of nothing", subject: "ansv1.web.next", body: `{}`, status: 400, at: "/of"},
		{name: "next: too many", subject: "ansv1.web.next", body: `{"of":"question","max":11}`, status: 400, at: "/max"},
		{name: "next: a negative wait", subject: "ansv1.web.next", body: `{"of":"question","wait":"-1s"}`, status: 400, at: "/wait"},
		{name: "next: no body", subject: "ansv1.web.next", body: ``, status: 400, at: ""},
		{name: "done: no token", subject: "ansv1.web.done", body: `{}`, status: 400, at: "/token"},
		{name: "later: a delay too long", subject: "ansv1.web.later", body: `{"token":"x","delay":"2h"}`, status: 400, at: "/delay"},
	}
}

func TestBadInputIsRefusedWithTheFieldNamedAndNothingStored(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	op, web := plain(t, b, operator()), plain(t, b, surface("web"))
	asked(t, op, "s1", "open")
	before := stored(t, b)
	cases := append(append(append(badAsks(), badEvents()...), badAnswers()...), badRest()...)
	t.Logf("%d cases", len(cases))
	for _, v := range cases {
		nc := op
		if strings.HasPrefix(v.subject, "ansv1.") {
			nc = web
		}
		m := request(t, nc, v.subject, v.header, v.body)
		if m.Header.Get("Nats-Service-Error-Code") == "" {
			t.Errorf("%s: accepted: %.200s", v.name, m.Data)
			continue
		}
		e := problem(t, m)
		if wire.HTTPStatus(e.Code) != v.status {
			t.Errorf("%s: status %d, want %d: %v", v.name, wire.HTTPStatus(e.Code), v.status, e)
		}
		if v.says != "" {
			if !strings.Contains(e.Detail, v.says) {
				t.Errorf("%s: says %q, want %q", v.name, e.Detail, v.says)
			}
			continue
		}
		named := false
		for _, f := range e.Faults {
			named = named || f.Pointer == v.at
			if f.Message == "" {
				t.Errorf("%s: a fault without a message", v.name)
			}
		}
		if !named {
			t.Errorf("%s: no fault at %q: %v", v.name, v.at, e)
		}
	}
	if after := stored(t, b); !maps.Equal(before, after) {
		t.Errorf("something was stored: %v, before %v", after, before)
	}
}

func TestAllFaultsAreNamedAtOnce(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	op := plain(t, b, operator())
	e := problem(t, request(t, op, askSubject("s1", "a1"), nil, event(cloudevent.TypeAsked, "a1",
		`{"id":"a1","priority":"x","timeout":"1ms","questions":[{"text":""},{"text":"t","kind":"k"},{"text":"t","header":"much too long"}]}`)))
	var at []string
	for _, f := range e.Faults {
		at = append(at, f.Pointer)
	}
	for _, want := range []string{"/priority", "/timeout", "/questions/0/text", "/questions/1/kind", "/questions/2/header"} {
		if !strings.Contains(strings.Join(at, " ")+" ", want+" ") {
			t.Errorf("%s is not named: %v", want, at)
		}
	}
}
