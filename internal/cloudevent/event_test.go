package cloudevent_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/internal/lifecycle"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s differs (-update rewrites it):\n%s", path, got)
	}
}

// digests are asks whose digests other languages have to find too.
func digests() map[string]string {
	return map[string]string{
		"smallest":            `{"id":"a1","questions":[{"text":"t"}]}`,
		"defaults spelt out":  `{"id":"a2","at_deadline":"expire","priority":"high","questions":[{"id":"q1","kind":"text","text":"t","required":true}]}`,
		"what does not count": `{"id":"a3","priority":"urgent","timeout":"2h","agent":{"name":"x"},"metadata":{"k":1},"require_responder":true,"questions":[{"text":"t"}]}`,
		"unicode and numbers": `{"id":"a4","title":"\u20ac\u00e9\uD83D\uDE00 <&>\u2028 \"\\ \u0007","audience":["group:b","a"],"questions":[{"kind":"number","text":"n","limits":{"min":-0.0000010,"max":1e21,"integer":true},"default":333333333.33333329}]}`,
		"order of keys":       `{"questions":[{"options":[{"label":"A","id":"a","preview":{"body":"b"}},{"cancels":true,"label":"B"}],"text":"t","id":"z","allow_other":false}],"id":"a5","context":"c"}`,
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	var lines []string
	byName := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(digests())) {
		a, err := cloudevent.DecodeAsk([]byte(digests()[name]))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		a.Normalize()
		d, err := cloudevent.Digest(&a)
		if err != nil {
			t.Fatal(err)
		}
		byName[name] = d
		lines = append(lines, name, digests()[name], d, "")
	}
	golden(t, "digest.golden", strings.Join(lines, "\n"))
	if byName["smallest"] != byName["defaults spelt out"] || byName["smallest"] != byName["what does not count"] {
		t.Errorf("the same question has several digests: %v", byName)
	}
	// RFC 8785 by hand: sorted keys, no spaces, numbers as ECMAScript writes them.
	for name, canonical := range map[string]string{
		"smallest":      `{"at_deadline":"expire","questions":[{"id":"q1","kind":"text","required":true,"text":"t"}]}`,
		"order of keys": `{"at_deadline":"expire","context":"c","questions":[{"allow_other":false,"id":"z","kind":"choice","options":[{"id":"a","label":"A","preview":{"body":"b","format":"text"}},{"cancels":true,"id":"o2","label":"B"}],"required":true,"text":"t"}]}`,
		"unicode and numbers": `{"at_deadline":"expire","audience":["group:b","a"],"questions":[{"default":333333333.3333333,"id":"q1","kind":"number","limits":{"integer":true,"max":1e+21,"min":-0.000001},"required":true,"text":"n"}],"title":"` +
			"\u20ac\u00e9\U0001F600 <&>\u2028" + ` \"\\ \u0007"}`,
	} {
		sum := sha256.Sum256([]byte(canonical))
		if want := "sha256:" + hex.EncodeToString(sum[:]); byName[name] != want {
			t.Errorf("%s: %s, want %s", name, byName[name], want)
		}
	}
}

// everyEvent is one event of each type.
func everyEvent(t *testing.T) []cloudevent.Event {
	t.Helper()
	k := ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}
	a := ask.Ask{ID: "a1", Tenant: "acme", Session: "s1", Title: "Größe <b>", Timeout: time.Hour, Questions: []ask.Question{{Text: "Which?", Options: []ask.Option{{ID: "pg", Label: "P"}}}}}
	a.Normalize()
	digest, err := cloudevent.Digest(&a)
	if err != nil {
		t.Fatal(err)
	}
	q := lifecycle.NewQuestion(a, now)
	will := q.Will
	will.Ask = nil
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
	asked := ev(cloudevent.TypeAsked, cloudevent.AgentSource("acme", "s1"), must(cloudevent.EncodeAsk(&a)))
	asked.Trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	stored := ev(cloudevent.TypeAsked, cloudevent.AgentSource("acme", "s1"), must(cloudevent.EncodeStored(&cloudevent.Stored{Ask: *q.Ask, OnDeadline: will, Digest: digest})))
	stored.Expiry = q.Ask.Deadline
	answer := ev(cloudevent.TypeAnswered, cloudevent.ResponderSource("slack"), must(cloudevent.EncodeReply("a1", reply)))
	answer.By = &by
	status := cloudevent.Status{State: ask.StatePending, Key: k, Deadline: q.Ask.Deadline, AskedAt: now, Seq: 7, Ask: q.Ask, Receipts: []ask.Receipt{{Type: "slack", State: ask.ReceiptPosted, Seq: 7, At: now}}}
	return []cloudevent.Event{
		asked, stored, answer,
		ev(cloudevent.TypeDeclined, cloudevent.ResponderSource("web"), must(cloudevent.EncodeDecline("a1", "w1", "no", by))),
		ev(cloudevent.TypeWithdrawn, cloudevent.AgentSource("acme", "s1"), must(cloudevent.EncodeEnd("a1", "moot"))),
		ev(cloudevent.TypeAborted, "/askbus/operator", must(cloudevent.EncodeEnd("a1", ""))),
		ev(cloudevent.TypePresented, cloudevent.ResponderSource("slack"), must(cloudevent.EncodeReceipt("a1", ask.Receipt{State: ask.ReceiptPosted, Seq: 7, Key: "k", Where: "#ops"}))),
		ev(cloudevent.TypeStatus, cloudevent.BrokerSource, must(cloudevent.EncodeStatus(&status))),
		cloudevent.OutcomeEvent("e1", asked.Trace, &o, must(cloudevent.EncodeOutcome(&o, nil))),
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
	golden(t, "events.golden", b.String())
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
	// What is no escape stays; lower-case digits are read; broken UTF-8 is replaced.
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
		{"binary", binary("ce-time", "2026-11-20T10:00:00Z", "ce-dataschema", "https://x/y"), `{"a":1}`, cloudevent.Binary, ""},
		{"binary in capitals", nats.Header{"CE-SPECVERSION": {"1.0"}, "Ce-Id": {"e"}, "cE-sOURCE": {"/x"}, "CE-Type": {"t"}, "content-TYPE": {"application/json"}}, `{"a":1}`, cloudevent.Binary, ""},
		{"binary of another JSON", binary("Content-Type", "application/vnd.x+json"), `{"a":1}`, cloudevent.Binary, ""},

		{"nothing", nil, "", cloudevent.Structured, "no CloudEvent"},
		{"a text", nil, "hello", cloudevent.Structured, "no CloudEvent"},
		{"a list", nil, "[]", cloudevent.Structured, "no CloudEvent"},
		{"broken JSON", nil, `{"specversion":"1.0",`, cloudevent.Structured, "no valid JSON"},
		{"trailing garbage", nil, good + "x", cloudevent.Structured, "no valid JSON"},
		{"no specversion", nil, `{"id":"e","source":"/x","type":"t"}`, cloudevent.Structured, "specversion"},
		{"an old specversion", nil, strings.Replace(good, "1.0", "0.3", 1), cloudevent.Structured, "specversion"},
		{"no id", nil, strings.Replace(good, `"id":"e",`, "", 1), cloudevent.Structured, "id"},
		{"an id that is a number", nil, strings.Replace(good, `"id":"e"`, `"id":5`, 1), cloudevent.Structured, "no CloudEvent"},
		{"no source", nil, strings.Replace(good, `"source":"/x",`, "", 1), cloudevent.Structured, "source"},
		{"no type", nil, strings.Replace(good, `"type":"t",`, "", 1), cloudevent.Structured, "type"},
		{"a time that is none", nil, strings.Replace(good, `"id"`, `"time":"now","id"`, 1), cloudevent.Structured, "no CloudEvent"},
		{"data in XML", nil, strings.Replace(good, `"data"`, `"datacontenttype":"text/xml","data"`, 1), cloudevent.Structured, "datacontenttype"},
		{"base64 that is none", nil, `{"specversion":"1.0","id":"e","source":"/x","type":"t","data_base64":"!"}`, cloudevent.Structured, "no CloudEvent"},
		{"binary without specversion", binary("ce-specversion", ""), `{}`, cloudevent.Binary, "ce-specversion"},
		{"binary without id", binary("ce-id", ""), `{}`, cloudevent.Binary, "id"},
		{"binary without type", binary("ce-type", ""), `{}`, cloudevent.Binary, "type"},
		{"binary with a time that is none", binary("ce-time", "now"), `{}`, cloudevent.Binary, "ce-time"},
		{"binary with a bad extension name", binary("ce-foo-bar", "x"), `{}`, cloudevent.Binary, "foo-bar"},
		{"binary with an id given twice", binary("CE-ID", "f"), `{}`, cloudevent.Binary, "ce-id is given twice"},
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
				if !errors.Is(err, cloudevent.ErrNoEvent) && (!ok || e.Status != 400) || !strings.Contains(err.Error(), v.says) {
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

func TestStrict(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]struct {
		data string
		at   []string
	}{
		"unknown fields, all of them":   {`{"x":1,"questions":[{"text":"t","y":{"z":[1,{}]}}],"a/b~c":2}`, []string{"/x", "/questions/0/y", "/a~1b~0c"}},
		"given twice":                   {`{"id":"a","id":"b","questions":[{"text":"t","text":"u"}]}`, []string{"/id", "/questions/0/text"}},
		"given twice where all is free": {`{"metadata":{"k":1,"k":2}}`, []string{"/metadata/k"}},
		"wrong types":                   {`{"id":1,"title":true,"audience":{},"require_responder":"x","questions":[7,{"text":["a"],"options":"x","multiple":0,"min_items":"1","limits":[]}]}`, []string{"/id", "/title", "/audience", "/require_responder", "/questions/0", "/questions/1/text", "/questions/1/options", "/questions/1/multiple", "/questions/1/min_items", "/questions/1/limits"}},
		"numbers":                       {`{"questions":[{"min_items":1.5,"max_items":99999999999999999999,"limits":{"min":1e999}}]}`, []string{"/questions/0/min_items", "/questions/0/max_items", "/questions/0/limits/min"}},
		"durations and times":           {`{"timeout":"1 h","deadline":"today"}`, []string{"/timeout", "/deadline"}},
		"a list where an object was":    {`[1]`, []string{""}},
		"a text where an object was":    {`"x"`, []string{""}},
		"trailing garbage":              {`{"id":"a"} {}`, []string{""}},
		"an early end":                  {`{"id":"a"`, []string{""}},
		"nothing":                       {``, []string{""}},
		"nested too deeply":             {`{"metadata":{"x":` + strings.Repeat(`{"x":`, 70) + `1` + strings.Repeat(`}`, 70) + `}}`, []string{""}},
		"a default of a list of lists":  {`{"questions":[{"default":[["a"]]}]}`, []string{"/questions/0/default/0"}},
		"a default that is an object":   {`{"questions":[{"default":{"a":1}}]}`, []string{"/questions/0/default"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := cloudevent.DecodeAsk([]byte(v.data))
			e, ok := errors.AsType[*ask.Error](err)
			if !ok || e.Status != 400 {
				t.Fatalf("error %v", err)
			}
			var at []string
			for _, f := range e.Faults {
				if at = append(at, f.Pointer); f.Message == "" {
					t.Error("a fault without a message")
				}
			}
			slices.Sort(at)
			slices.Sort(v.at)
			if !slices.Equal(at, v.at) {
				t.Errorf("faults at %q, want %q: %v", at, v.at, e)
			}
		})
	}
	t.Run("never more than a hundred faults", func(t *testing.T) {
		t.Parallel()
		_, err := cloudevent.DecodeAsk([]byte(`{"questions":[` + strings.TrimSuffix(strings.Repeat(`7,`, 5000), ",") + `]}`))
		if e, ok := errors.AsType[*ask.Error](err); !ok || len(e.Faults) != 100 {
			t.Errorf("%d faults", len(e.Faults))
		}
	})
	t.Run("null is left out", func(t *testing.T) {
		t.Parallel()
		a, err := cloudevent.DecodeAsk([]byte(`{"id":"a","title":null,"deadline":null,"timeout":null,"agent":null,"questions":[{"text":"t","default":null,"limits":{"min":null},"options":null}]}`))
		if err != nil || a.ID != "a" || a.Questions[0].Default != nil {
			t.Errorf("%+v, %v", a, err)
		}
	})
}

func TestNothingGrowsOnItsWayIntoTheLedger(t *testing.T) {
	t.Parallel()
	a := ask.Ask{ID: "a1", Context: strings.Repeat("<&>", 20_000), Questions: []ask.Question{{ID: "q", Text: "<"}}}
	data, err := cloudevent.EncodeAsk(&a)
	if err != nil || len(data) > 61_000 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if msg, err := (cloudevent.Event{ID: "e", Source: "/x", Type: "t", Data: data}).Msg(cloudevent.Structured); err != nil || len(msg.Data) > 62_000 {
		t.Errorf("structured: %d bytes, %v", len(msg.Data), err)
	}
}

// TestTheSDKReadsOurEventsAndWeReadIts holds our binding against the SDK's own
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
