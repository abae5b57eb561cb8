package cloudevent_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/nats.go"
)

// refusal checks that a decoder's error is one for the sender.
func refusal(t *testing.T, err error) {
	t.Helper()
	if e, ok := errors.AsType[*ask.Error](err); !errors.Is(err, cloudevent.ErrNoEvent) && (!ok || wire.HTTPStatus(e.Code) != 400 && wire.HTTPStatus(e.Code) != 413) {
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

// FuzzRead checks that Read, which has a fast path, reads an event in binary
// mode like FromMsg.
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
		ev, mode, err := cloudevent.FromReply(msg)
		in, inMode, inErr := cloudevent.Read(msg)
		if mode != inMode || (err == nil) != (inErr == nil) {
			t.Fatalf("Read says %v, %v; FromMsg %v, %v", inMode, inErr, mode, err)
		}
		if err != nil {
			return
		}
		want := cloudevent.Incoming{ID: ev.ID(), Type: ev.Type(), Subject: ev.Subject(), Trace: cloudevent.Trace(ev), Time: ev.Time(), Data: ev.Data()}
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
