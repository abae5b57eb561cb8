package cloudevent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/testkit/goldentest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"
)

var now = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// everyEvent returns one event of each type.
func everyEvent(t *testing.T) []cloudevent.Event {
	t.Helper()
	k := ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}
	a := ask.Ask{ID: "a1", Tenant: "acme", Session: "s1", Title: "Größe <b>", Timeout: time.Hour, Questions: []ask.Question{{Text: "Which?", Options: []ask.Option{{ID: "pg", Label: "P"}}}}}
	a.Normalize()
	digest, err := wire.Digest(&a)
	if err != nil {
		t.Fatal(err)
	}
	q := lifecycle.New(a, now)
	q.EventID, q.Digests = "e1", []string{digest}
	by := ask.By{Principal: "slack:T01/Ü 02%", Name: "Mei", Responder: "slack"}
	reply := ask.Reply{AnswerID: "w1", Answers: []ask.Answer{{QuestionID: "q1", Selected: []string{"pg"}, Notes: "n"}}, By: by}
	o := ask.Outcome{AskID: "a1", Tenant: "acme", Session: "s1", Status: ask.StatusAnswered, Source: ask.SourceHuman, AnswerID: "w1", Answers: reply.Answers, By: &by, At: now.Add(time.Minute), Waited: time.Minute, Ask: q.Ask}
	must := func(data []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	ev := func(typ, source string, data []byte) cloudevent.Event {
		return cloudevent.Event{ID: "e1", Source: source, Type: typ, Key: k, Time: now.Add(1500 * time.Microsecond), Data: data}
	}
	asked := ev(cloudevent.TypeAsked, cloudevent.AgentSource("acme", "s1"), must(wire.EncodeAsk(&a)))
	asked.Trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	q.RawAsk = must(wire.EncodeAsk(q.Ask))
	stored, err := cloudevent.QuestionEvent(&q)
	if err != nil {
		t.Fatal(err)
	}
	stored.Time = now.Add(1500 * time.Microsecond)
	answer := ev(cloudevent.TypeAnswered, cloudevent.ResponderSource("slack"), must(wire.EncodeReply("a1", reply)))
	answer.By = &by
	status := wire.StatusReply{State: ask.StatePending, Key: k, Deadline: q.Ask.Deadline, AskedAt: now, Life: "l7", Seq: 7, Ask: q.Ask, Receipts: []ask.Receipt{{Type: "slack", State: ask.ReceiptPosted, Life: "l7", At: now}}}
	return []cloudevent.Event{
		asked, stored, answer,
		ev(cloudevent.TypeDeclined, cloudevent.ResponderSource("web"), must(wire.EncodeDecline("a1", "w1", "no", by))),
		ev(cloudevent.TypeWithdrawn, cloudevent.AgentSource("acme", "s1"), must(wire.EncodeEnd("a1", wire.End{Reason: "moot"}))),
		ev(cloudevent.TypeAborted, "/askbus/operator", must(wire.EncodeEnd("a1", wire.End{}))),
		ev(cloudevent.TypePresented, cloudevent.ResponderSource("slack"), must(wire.EncodeReceipt("a1", ask.Receipt{State: ask.ReceiptPosted, Life: "l7", Key: "k", Places: []ask.Place{{Where: "#ops"}}}))),
		ev(cloudevent.TypeStatus, cloudevent.BrokerSource, must(wire.EncodeStatus(&status))),
		cloudevent.OutcomeEvent(asked.Trace, &o, must(wire.EncodeOutcome(&o, nil))),
	}
}

// Agents choose their event ids: the same id may ask twice.
func TestOutcomesOfEqualEventIDsDiffer(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	seen := map[string]string{}
	for name, o := range map[string]ask.Outcome{
		"one ask":           {Tenant: "acme", Session: "s1", AskID: "a1", At: now},
		"another session":   {Tenant: "acme", Session: "s2", AskID: "a1", At: now},
		"another ask":       {Tenant: "acme", Session: "s1", AskID: "a2", At: now},
		"the id used again": {Tenant: "acme", Session: "s1", AskID: "a1", At: now.Add(time.Hour)},
	} {
		o.Status = ask.StatusExpired
		ev := cloudevent.OutcomeEvent("", &o, nil)
		if other := seen[ev.Source+" "+ev.ID]; other != "" {
			t.Errorf("%s and %s are both event %s of %s", name, other, ev.ID, ev.Source)
		}
		seen[ev.Source+" "+ev.ID] = name
	}
}

func TestEveryEventInBothModes(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, e := range everyEvent(t) {
		ev := e.Build()
		for mode, name := range map[cloudevent.Mode]string{cloudevent.Binary: "binary", cloudevent.Structured: "structured"} {
			msg, err := e.Msg(mode)
			if err != nil {
				t.Fatal(err)
			}
			want, err := cloudevent.ToMsg(ev, mode)
			if err != nil || !maps.EqualFunc(want.Header, msg.Header, slices.Equal) || string(want.Data) != string(msg.Data) {
				t.Errorf("%s %s is not written as any event is: %v", ev.Type(), name, err)
			}
			back, gotMode, err := cloudevent.FromMsg(msg)
			if err != nil || gotMode != mode {
				t.Fatalf("%s %s: mode %v, %v", ev.Type(), name, gotMode, err)
			}
			if diff := differ(ev, back); diff != "" {
				t.Errorf("%s %s reads back with another %s", ev.Type(), name, diff)
			}
		}
		for _, mode := range []cloudevent.Mode{cloudevent.Binary, cloudevent.Structured} {
			msg, _ := e.Msg(mode)
			for _, h := range slices.Sorted(maps.Keys(msg.Header)) {
				fmt.Fprintf(&b, "%s: %s\n", h, strings.Join(msg.Header[h], ", "))
			}
			fmt.Fprintf(&b, "\n%s\n\n", msg.Data)
		}
	}
	goldentest.Equal(t, "testdata/events.golden", b.String())
}

// differ names an attribute in which two events differ.
func differ(a, b event.Event) string {
	text := func(ev event.Event) map[string]string {
		m := map[string]string{
			"id": ev.ID(), "source": ev.Source(), "type": ev.Type(), "subject": ev.Subject(), "time": ev.Time().UTC().Format(time.RFC3339Nano),
			"datacontenttype": ev.DataContentType(), "dataschema": ev.DataSchema(), "data": string(ev.Data()),
		}
		var v any
		if json.Unmarshal(ev.Data(), &v) == nil {
			data, _ := json.Marshal(v)
			m["data"] = string(data)
		}
		for name, v := range ev.Extensions() {
			m["extension "+name] = fmt.Sprint(v)
		}
		return m
	}
	x, y := text(a), text(b)
	for name := range x {
		if x[name] != y[name] {
			return fmt.Sprintf("%s: %q, was %q", name, y[name], x[name])
		}
	}
	for name := range y {
		if _, ok := x[name]; !ok {
			return fmt.Sprintf("%s: %q, was not there", name, y[name])
		}
	}
	return ""
}

func TestHeaderValuesArePercentEncoded(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"plain": "plain", "a b": "a%20b", `a"b`: "a%22b", "100%": "100%25", "é": "%C3%A9", "€😀": "%E2%82%AC%F0%9F%98%80",
		"!#$&'()*+,/:;=?@[]~": "!#$&'()*+,/:;=?@[]~", "a\tb": "a%09b", "a\r\nNats-Rollup: all": "a%0D%0ANats-Rollup:%20all", "\x7f": "%7F", "%41": "%2541",
	} {
		msg, err := cloudevent.Event{ID: value, Source: "/x", Type: "t", Data: []byte("{}")}.Msg(cloudevent.Binary)
		if err != nil {
			t.Fatal(err)
		}
		if got := msg.Header["ce-id"][0]; got != want {
			t.Errorf("%q is written %q, want %q", value, got, want)
		}
		if back, _, err := cloudevent.FromMsg(msg); err != nil || back.ID() != value {
			t.Errorf("%q reads back as %q, %v", value, back.ID(), err)
		}
	}
	// Text that is not an escape stays; lower-case digits are accepted; broken
	// UTF-8 is replaced.
	for header, want := range map[string]string{"50%": "50%", "%zz": "%zz", "%c3%a9": "é", "%4": "%4", "a%2": "a%2", "%FF": "\uFFFD"} {
		msg := &nats.Msg{Header: nats.Header{"ce-specversion": {"1.0"}, "ce-id": {header}, "ce-source": {"/x"}, "ce-type": {"t"}}, Data: []byte("{}")}
		if ev, _, err := cloudevent.FromMsg(msg); err != nil || ev.ID() != want {
			t.Errorf("%q reads as %q, %v", header, ev.ID(), err)
		}
	}
}

func TestFromMsg(t *testing.T) {
	t.Parallel()
	good := `{"specversion":"1.0","id":"e","source":"/x","type":"t","data":{"a":1}}`
	binary := func(changes ...string) nats.Header {
		h := nats.Header{"ce-specversion": {"1.0"}, "ce-id": {"e"}, "ce-source": {"/x"}, "ce-type": {"t"}}
		for i := 0; i < len(changes); i += 2 {
			if delete(h, changes[i]); changes[i+1] != "" {
				h[changes[i]] = []string{changes[i+1]}
			}
		}
		return h
	}
	for _, v := range []struct {
		name   string
		header nats.Header
		body   string
		mode   cloudevent.Mode
		says   string // of the error; empty: it is read
	}{
		{"structured", nats.Header{"Content-Type": {"application/cloudevents+json"}}, good, cloudevent.Structured, ""},
		{"structured, capitals and a parameter", nats.Header{"CONTENT-TYPE": {"Application/CloudEvents+JSON; charset=utf-8"}}, good, cloudevent.Structured, ""},
		{"structured without content type", nil, " \n" + good, cloudevent.Structured, ""},
		{"structured wins over headers", nats.Header{"Content-Type": {"application/cloudevents+json"}, "ce-id": {"other"}}, good, cloudevent.Structured, ""},
		{"data in base64", nil, `{"specversion":"1.0","id":"e","source":"/x","type":"t","datacontenttype":"application/json","data_base64":"eyJhIjoxfQ=="}`, cloudevent.Structured, ""},
		{"data in base64 after a space, without a type", nil, `{"specversion": "1.0", "id": "e", "source": "/x", "type": "t", "data_base64": "eyJhIjoxfQ=="}`, cloudevent.Structured, ""},
		{"data in base64 with an escape", nil, `{"specversion":"1.0","id":"e","source":"/x","type":"t","data_base64":"\u0065yJhIjoxfQ=="}`, cloudevent.Structured, ""},
		{"binary", binary("ce-time", "2026-11-20T10:00:00Z", "ce-dataschema", "https://x/y"), `{"a":1}`, cloudevent.Binary, ""},
		{"binary in capitals", nats.Header{"CE-SPECVERSION": {"1.0"}, "Ce-Id": {"e"}, "cE-sOURCE": {"/x"}, "CE-Type": {"t"}, "content-TYPE": {"application/json"}}, `{"a":1}`, cloudevent.Binary, ""},
		{"binary of another JSON", binary("Content-Type", "application/vnd.x+json"), `{"a":1}`, cloudevent.Binary, ""},

		{"nothing", nil, "", cloudevent.Structured, "no CloudEvent"},
		{"a text", nil, "hello", cloudevent.Structured, "not a CloudEvent"},
		{"a list", nil, "[]", cloudevent.Structured, "not a CloudEvent"},
		{"broken JSON", nil, `{"specversion":"1.0",`, cloudevent.Structured, "not valid JSON"},
		{"trailing garbage", nil, good + "x", cloudevent.Structured, "not valid JSON"},
		{"no specversion", nil, `{"id":"e","source":"/x","type":"t"}`, cloudevent.Structured, "specversion"},
		{"an old specversion", nil, strings.Replace(good, "1.0", "0.3", 1), cloudevent.Structured, "specversion"},
		{"no id", nil, strings.Replace(good, `"id":"e",`, "", 1), cloudevent.Structured, "id"},
		{"an id that is a number", nil, strings.Replace(good, `"id":"e"`, `"id":5`, 1), cloudevent.Structured, "/id: is not a text; give"},
		{"no source", nil, strings.Replace(good, `"source":"/x",`, "", 1), cloudevent.Structured, "source"},
		{"no type", nil, strings.Replace(good, `"type":"t",`, "", 1), cloudevent.Structured, "type"},
		{"a time that is none", nil, strings.Replace(good, `"id"`, `"time":"now","id"`, 1), cloudevent.Structured, `/time: is "now"; give a time in RFC 3339`},
		{"a name that no attribute has", nil, strings.Replace(good, `"id"`, `"Bad-Name":"x","id"`, 1), cloudevent.Structured, "/Bad-Name: Bad-Name is not an attribute name; use a to z and 0 to 9"},
		{"a source that is none", nil, strings.Replace(good, `"/x"`, `":%%"`, 1), cloudevent.Structured, `/source: is ":%%"; give a URI reference`},
		{"an extension out of range", nil, strings.Replace(good, `"id"`, `"ext":99999999999,"id"`, 1), cloudevent.Structured, `/ext: is "99999999999"; give a text, an integer of 32 bits or a boolean`},
		{"data in XML", nil, strings.Replace(good, `"data"`, `"datacontenttype":"text/xml","data"`, 1), cloudevent.Structured, "datacontenttype"},
		{"data in XML, said after it", nil, strings.Replace(good, "{", `{"datacontenttype":"text/xml",`, 1), cloudevent.Structured, `/datacontenttype: is "text/xml"; give application/json`},
		{"base64 that is none", nil, `{"specversion":"1.0","id":"e","source":"/x","type":"t","data_base64":"!"}`, cloudevent.Structured, "/data_base64: is not base64"},
		{"everything wrong at once", nil, `{"specversion":1,"source":"","subject":7,"ext":{},"data":{}}`, cloudevent.Structured, "/id: is missing; give a text that names this event, such as a UUID; a repeated event keeps it; /source: is missing"},
		{"data in another charset", nil, strings.Replace(good, `"data"`, `"datacontenttype":"application/json; charset=gbk","data"`, 1), cloudevent.Structured, `/datacontenttype: the charset "gbk"`},
		{"binary without specversion", binary("ce-specversion", ""), `{}`, cloudevent.Binary, "ce-specversion"},
		{"binary without id", binary("ce-id", ""), `{}`, cloudevent.Binary, `ce-id is ""; give`},
		{"binary without type", binary("ce-type", ""), `{}`, cloudevent.Binary, `ce-type is ""; give`},
		{"binary with a time that is none", binary("ce-time", "now"), `{}`, cloudevent.Binary, "ce-time"},
		{"binary with a bad extension name", binary("ce-foo-bar", "x"), `{}`, cloudevent.Binary, "ce-foo-bar is not an attribute name; use"},
		{"binary with an id given twice", binary("CE-ID", "f"), `{}`, cloudevent.Binary, "ce-id is given more than once"},
		{"binary in XML", binary("ce-datacontenttype", "text/xml"), `<a/>`, cloudevent.Binary, "datacontenttype"},
	} {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			ev, mode, err := cloudevent.FromMsg(&nats.Msg{Header: v.header, Data: []byte(v.body)})
			if mode != v.mode {
				t.Errorf("mode %v, want %v", mode, v.mode)
			}
			if v.says != "" {
				e, ok := errors.AsType[*ask.Error](err)
				if !errors.Is(err, cloudevent.ErrNoEvent) && (!ok || wire.HTTPStatus(e.Code) != 400) || !strings.Contains(err.Error(), v.says) {
					t.Errorf("error %v, want one that says %q", err, v.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if ev.ID() != "e" || ev.Source() != "/x" || ev.Type() != "t" || string(ev.Data()) != `{"a":1}` {
				t.Errorf("read %s", ev)
			}
		})
	}
	_, _, err := cloudevent.FromMsg(&nats.Msg{Data: []byte(strings.Repeat(" ", ask.MaxEventBytes+1))})
	if !errors.Is(err, ask.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
}

func TestNothingGrowsOnItsWayIntoTheLedger(t *testing.T) {
	t.Parallel()
	a := ask.Ask{ID: "a1", Context: strings.Repeat("<&>", 20_000), Questions: []ask.Question{{ID: "q", Text: "<"}}}
	data, err := wire.EncodeAsk(&a)
	if err != nil || len(data) > 61_000 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if msg, err := (cloudevent.Event{ID: "e", Source: "/x", Type: "t", Data: data}).Msg(cloudevent.Structured); err != nil || len(msg.Data) > 62_000 {
		t.Errorf("structured: %d bytes, %v", len(msg.Data), err)
	}
}

// TestTheSDKReadsOurEventsAndWeReadIts compares the binding with the SDK's own
// JSON.
func TestTheSDKReadsOurEventsAndWeReadIts(t *testing.T) {
	t.Parallel()
	for _, e := range everyEvent(t) {
		ev := e.Build()
		msg, err := e.Msg(cloudevent.Structured)
		if err != nil {
			t.Fatal(err)
		}
		var theirs event.Event
		if err := json.Unmarshal(msg.Data, &theirs); err != nil {
			t.Fatalf("%s: %v", ev.Type(), err)
		}
		if err := theirs.Validate(); err != nil {
			t.Errorf("%s: %v", ev.Type(), err)
		}
		if diff := differ(ev, theirs); diff != "" {
			t.Errorf("%s: the SDK reads another %s", ev.Type(), diff)
		}
		data, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		ours, _, err := cloudevent.FromMsg(&nats.Msg{Data: data})
		if err != nil {
			t.Fatal(err)
		}
		if diff := differ(ev, ours); diff != "" {
			t.Errorf("%s: we read another %s", ev.Type(), diff)
		}
	}
}
