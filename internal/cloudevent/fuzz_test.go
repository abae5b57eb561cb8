package cloudevent_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/nats.go"
)

// refusal is what a decoder may say: a sentence for the sender.
func refusal(t *testing.T, err error) {
	t.Helper()
	if e, ok := errors.AsType[*ask.Error](err); !errors.Is(err, cloudevent.ErrNoEvent) && (!ok || e.Status != 400 && e.Status != 413) {
		t.Errorf("refused with %v", err)
	}
}

func FuzzFromMsg(f *testing.F) {
	for _, body := range []string{
		`{"specversion":"1.0","id":"e","source":"/x","type":"t","subject":"s","time":"2026-11-20T10:00:00.5+01:00","ext":5,"b":true,"data":{"a":[1,null]}}`,
		`{"specversion":"1.0","id":"e","source":"/x","type":"t","data_base64":"eyJhIjoxfQ=="}`, `{}`, `{"a":1}`, ``, `x`,
	} {
		f.Add("application/cloudevents+json", "", "", "", "", []byte(body))
		f.Add("application/json", "e%20", "/x y", "t", "é", []byte(body))
		f.Add("", "", "", "", "", []byte(body))
	}
	f.Fuzz(func(t *testing.T, contentType, id, source, typ, ext string, body []byte) {
		msg := &nats.Msg{Header: nats.Header{}, Data: body}
		for name, v := range map[string]string{"Content-Type": contentType, "ce-id": id, "CE-source": source, "ce-type": typ, "ce-ext": ext, "ce-specversion": "1.0"} {
			if v != "" && (name != "ce-specversion" || id+source+typ+ext != "") {
				msg.Header[name] = []string{v}
			}
		}
		ev, mode, err := cloudevent.FromMsg(msg)
		if err != nil {
			refusal(t, err)
			return
		}
		again, err := cloudevent.ToMsg(ev, mode)
		if err != nil {
			t.Fatalf("cannot write what was read: %v", err)
		}
		back, backMode, err := cloudevent.FromReply(again)
		if err != nil || backMode != mode {
			t.Fatalf("cannot read what was written: mode %v, %v\n%v %s", backMode, err, again.Header, again.Data)
		}
		if diff := differ(ev, back); diff != "" {
			t.Errorf("reads back with another %s", diff)
		}
		for name, values := range again.Header {
			if strings.ContainsAny(name+strings.Join(values, ""), "\r\n") {
				t.Errorf("header %q: %q has a line break", name, values)
			}
		}
	})
}

// FuzzHeaders writes any attribute into a header and reads it back.
// FuzzRead holds that Read, which has a fast way of its own, says of an event
// in binary mode what FromMsg says.
func FuzzRead(f *testing.F) {
	f.Add("ce-id", "01K", "/askbus/acme/s1", "t", "a1", "00-aa-bb-01", "2026-11-20T10:00:00.5Z", "application/json", []byte(`{"a":1}`))
	f.Add("CE-Id", "e%20", "//x y", "t", "é", "a\r\nb", "x", "application/json; charset=utf-8", []byte(`x`))
	f.Add("ce-a", "", "http://[::1", "", " ", "", "2026-11-20", "text/plain", []byte(``))
	f.Fuzz(func(t *testing.T, name, id, source, typ, subject, trace, at, contentType string, body []byte) {
		msg := &nats.Msg{Header: nats.Header{name: {id}, "ce-specversion": {"1.0"}}, Data: body}
		for name, v := range map[string]string{
			"ce-id": id, "ce-source": source, "ce-type": typ, "ce-subject": subject, "ce-traceparent": trace, "ce-time": at,
			"ce-datacontenttype": contentType, "Content-Type": contentType, "ce-partitionkey": source,
		} {
			if v != "" {
				msg.Header[name] = []string{v}
			}
		}
		ev, mode, err := cloudevent.FromMsg(msg)
		in, inMode, inErr := cloudevent.Read(msg)
		if mode != inMode || (err == nil) != (inErr == nil) {
			t.Fatalf("Read says %v, %v; FromMsg %v, %v", inMode, inErr, mode, err)
		}
		if err != nil {
			return
		}
		want := cloudevent.Incoming{ID: ev.ID(), Type: ev.Type(), Subject: ev.Subject(), Trace: cloudevent.Trace(ev), Data: ev.Data()}
		if diff := cmp.Diff(want, in, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("Read says another (-FromMsg +Read):\n%s", diff)
		}
	})
}

func FuzzHeaders(f *testing.F) {
	for _, s := range []string{"", "a b", "é", "100%", "%41", "a\r\nNats-Rollup: all", "\x00", "😀\"", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		msg, err := cloudevent.Event{ID: "e", Source: "/x", Type: "t", Trace: value, Data: []byte("{}")}.Msg(cloudevent.Binary)
		if err != nil {
			t.Fatal(err)
		}
		for name, values := range msg.Header {
			for i := range len(values[0]) {
				if c := values[0][i]; c <= ' ' || c > '~' {
					t.Fatalf("header %s: %q", name, values[0])
				}
			}
		}
		back, _, err := cloudevent.FromMsg(msg)
		if err != nil {
			refusal(t, err)
			return
		}
		if got, _ := back.Extensions()["traceparent"].(string); got != strings.ToValidUTF8(value, "\uFFFD") && strings.ToValidUTF8(value, "") == value {
			t.Errorf("%q reads back as %q", value, got)
		}
	})
}

func FuzzDecodeAsk(f *testing.F) {
	for _, s := range digests() {
		f.Add([]byte(s))
	}
	f.Add([]byte(`{"id":"a","timeout":"1h","deadline":"2026-11-20T10:00:00Z","metadata":{"a":{"b":[null,1e3]}},"questions":[{"text":"t","kind":"date","default":"2026-01-01","limits":{"min":"2026-01-01"}},{"text":"x","default":["a"],"options":null}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := cloudevent.DecodeAsk(data)
		if err != nil {
			refusal(t, err)
			return
		}
		a.Normalize()
		if err := a.Validate(now); err != nil {
			refusal(t, err)
			return
		}
		written, err := cloudevent.EncodeAsk(&a)
		if err != nil {
			t.Fatalf("cannot write what was read: %v", err)
		}
		back, err := cloudevent.DecodeAsk(written)
		if err != nil {
			t.Fatalf("cannot read what was written: %v\n%s", err, written)
		}
		back.Normalize()
		if diff := cmp.Diff(a, back, emptyIsNil()); diff != "" {
			t.Errorf("reads back as another ask (-read +again):\n%s\n%s", diff, written)
		}
		one, err1 := cloudevent.Digest(&a)
		two, err2 := cloudevent.Digest(&back)
		if err := errors.Join(err1, err2); err != nil || one != two {
			t.Errorf("digests %s and %s, %v", one, two, err)
		}
	})
}

// emptyIsNil takes an empty list or map for none.
func emptyIsNil() cmp.Option {
	return cmp.FilterValues(func(x, y any) bool { return true }, cmp.Options{
		cmp.Transformer("strings", func(s []string) string { data, _ := json.Marshal(append([]string{}, s...)); return string(data) }),
		cmp.Transformer("metadata", func(m map[string]any) string {
			if len(m) == 0 {
				return ""
			}
			data, _ := json.Marshal(m)
			return string(data)
		}),
	})
}

func FuzzDecodeReply(f *testing.F) {
	f.Add([]byte(`{"ask_id":"a1","answer_id":"w","answers":[{"question_id":"q","selected":["a"],"other":"x","text":"y","number":1.5,"boolean":false,"date":"2026-01-01","notes":"n","skipped":true}],"response":"r","by":{"principal":"p","name":"n","groups":["g"],"responder":"r","proof":"p"}}`))
	f.Add([]byte(`{"ask_id":"a1","answer_id":"w","by":{"principal":"p"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := cloudevent.DecodeReply(data, "a1")
		if err != nil {
			refusal(t, err)
			return
		}
		written, err := cloudevent.EncodeReply("a1", r)
		if err != nil {
			t.Fatal(err)
		}
		back, err := cloudevent.DecodeReply(written, "a1")
		if err != nil {
			t.Fatalf("cannot read what was written: %v\n%s", err, written)
		}
		if diff := cmp.Diff(r, back, emptyIsNil()); diff != "" {
			t.Errorf("reads back as another (-read +again):\n%s", diff)
		}
	})
}

// FuzzStrict holds that what is accepted is JSON whose fields are all known,
// and that every fault has a message and a pointer into the body.
func FuzzStrict(f *testing.F) {
	for _, s := range []string{`{}`, `{"of":"question","max":3,"wait":"1s"}`, `{"of":"question","of":"outcome"}`, `[1,{"a":[{}]}]`, `nul`, `{"max":1e5}`, `{"max":-0}`, "{\"of\":\"\xff\"}", `{"OF":"question"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, decode := range []func() error{
			func() error { _, err := cloudevent.DecodeNext(data); return err },
			func() error { _, err := cloudevent.DecodeQuery(data); return err },
			func() error { _, _, err := cloudevent.DecodeSettle("done", data); return err },
			func() error { _, err := cloudevent.DecodeEnd("withdraw", data, "a1"); return err },
			func() error { _, err := cloudevent.DecodeReceipt(data, "a1"); return err },
			func() error { _, _, err := cloudevent.DecodeDecline(data, "a1"); return err },
		} {
			err := decode()
			if err == nil {
				if len(data) > 0 && !json.Valid(data) {
					t.Errorf("accepted what is no JSON: %q", data)
				}
				continue
			}
			refusal(t, err)
			e, _ := errors.AsType[*ask.Error](err)
			if e == nil || len(e.Faults) == 0 {
				t.Errorf("refused without a fault: %v", err)
				continue
			}
			for _, fault := range e.Faults {
				if fault.Message == "" || fault.Pointer != "" && !strings.HasPrefix(fault.Pointer, "/") || strings.Contains(fault.Message, "cloudevent.") || strings.Contains(fault.Message, "Go ") {
					t.Errorf("fault %+v", fault)
				}
			}
		}
	})
}
