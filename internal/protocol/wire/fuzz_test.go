package wire_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/google/go-cmp/cmp"
)

// refusal checks that a decoder's error is one for the sender.
func refusal(t *testing.T, err error) {
	t.Helper()
	if e, ok := errors.AsType[*ask.Error](err); !ok || e.Code != ask.CodeInvalid {
		t.Errorf("refused with %v", err)
	}
}

func FuzzDecodeAsk(f *testing.F) {
	for _, s := range digests() {
		f.Add([]byte(s))
	}
	f.Add([]byte(`{"id":"a","timeout":"1h","deadline":"2026-11-20T10:00:00Z","metadata":{"a":{"b":[null,1e3]}},"questions":[{"text":"t","kind":"date","default":"2026-01-01","limits":{"min":"2026-01-01"}},{"text":"x","default":["a"],"options":null}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := wire.DecodeAsk(data)
		if err != nil {
			refusal(t, err)
			return
		}
		a.Normalize()
		if err := a.Validate(now); err != nil {
			refusal(t, err)
			return
		}
		written, err := wire.EncodeAsk(&a)
		if err != nil {
			t.Fatalf("cannot write what was read: %v", err)
		}
		back, err := wire.DecodeAsk(written)
		if err != nil {
			t.Fatalf("cannot read what was written: %v\n%s", err, written)
		}
		back.Normalize()
		if diff := cmp.Diff(a, back, emptyIsNil()); diff != "" {
			t.Errorf("reads back as another ask (-read +again):\n%s\n%s", diff, written)
		}
		one, err1 := wire.Digest(&a)
		two, err2 := wire.Digest(&back)
		if err := errors.Join(err1, err2); err != nil || one != two {
			t.Errorf("digests %s and %s, %v", one, two, err)
		}
	})
}

// emptyIsNil treats an empty list or map as nil.
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
	f.Add([]byte(`{"ask_id":"a1","answer_id":"w","answers":[],"by":{"principal":"p"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := wire.DecodeReply(data, "a1")
		if err != nil {
			refusal(t, err)
			return
		}
		if len(r.Answers) == 0 {
			r.Answers = nil // an empty list is written as none
		}
		written, err := wire.EncodeReply("a1", r)
		if err != nil {
			t.Fatal(err)
		}
		back, err := wire.DecodeReply(written, "a1")
		if err != nil {
			t.Fatalf("cannot read what was written: %v\n%s", err, written)
		}
		if diff := cmp.Diff(r, back, emptyIsNil()); diff != "" {
			t.Errorf("reads back as another (-read +again):\n%s", diff)
		}
	})
}

// FuzzStrict checks that accepted JSON has only known fields, and that every
// fault has a message and a pointer into the body.
func FuzzStrict(f *testing.F) {
	for _, s := range []string{`{}`, `{"of":"question","max":3,"wait":"1s"}`, `{"of":"question","of":"outcome"}`, `[1,{"a":[{}]}]`, `nul`, `{"max":1e5}`, `{"max":-0}`, "{\"of\":\"\xff\"}", `{"OF":"question"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, decode := range []func() error{
			func() error { _, err := wire.DecodeNext(data); return err },
			func() error { _, err := wire.DecodeQuery(data); return err },
			func() error { _, err := wire.DecodeSnooze(data); return err },
			func() error { _, err := wire.DecodeHandover(data); return err },
			func() error { _, _, err := wire.DecodeSettle("done", data); return err },
			func() error { _, err := wire.DecodeEnd("withdraw", data, "a1"); return err },
			func() error { _, err := wire.DecodeReceipt(data, "a1"); return err },
			func() error { _, _, err := wire.DecodeDecline(data, "a1"); return err },
		} {
			err := decode()
			if err == nil {
				if len(data) > 0 && !json.Valid(data) {
					t.Errorf("accepted what is not JSON: %q", data)
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
				if fault.Message == "" || fault.Pointer != "" && !strings.HasPrefix(fault.Pointer, "/") || strings.Contains(fault.Message, "wire.") || strings.Contains(fault.Message, "Go ") {
					t.Errorf("fault %+v", fault)
				}
			}
		}
	})
}

// FuzzOpenStored checks that the part cut out of a stored question is its ask.
func FuzzOpenStored(f *testing.F) {
	for _, seed := range []string{`{"a":"}"}`, `{"a":"\"}"}`, `{"a":"\\"}`, `{"a":"\\\"{"}`, `{"a":{"b":[{}]}}`, `{"a":"\\\\"}x`, `{"`, `{"\`, `{}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data string) {
		if !json.Valid([]byte(data)) || data[0] != '{' || data[len(data)-1] != '}' {
			_, _ = wire.OpenStored([]byte(`{"ask":` + data)) // it may find anything, but must terminate
			return
		}
		s, err := wire.OpenStored([]byte(`{"ask":` + data + `,"on_deadline":{"a":"}"}}`))
		if err != nil || string(s.Ask) != data || string(s.OnDeadline) != `{"a":"}"}` {
			t.Errorf("%q: %+v, %v", data, s, err)
		}
	})
}
