package wire_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

func TestStrict(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]struct {
		data string
		at   []string
	}{
		"unknown fields, all of them":   {`{"x":1,"questions":[{"text":"t","y":{"z":[1,{}]}}],"a/b~c":2}`, []string{"/x", "/questions/0/y", "/a~1b~0c"}},
		"given twice":                   {`{"id":"a","id":"b","questions":[{"text":"t","text":"u"}]}`, []string{"/id", "/questions/0/text"}},
		"given twice where all is free": {`{"metadata":{"k":1,"k":2}}`, []string{"/metadata/k", "/questions"}},
		"all else that is wrong, too":   {`{"x":1,"title":7,"priority":"soon","at_deadline":"default","timeout":"1ms","questions":[{"y":1,"text":"","header":"longer than twelve","options":[{"label":"a"},{"label":"a","z":1}]},{"text":7,"kind":"n"}]}`, []string{"/x", "/title", "/priority", "/timeout", "/questions/0/y", "/questions/0/text", "/questions/0/header", "/questions/0/options/1/z", "/questions/0/options/1/label", "/questions/0/default", "/questions/1/text", "/questions/1/kind", "/questions/1/default"}},
		"wrong types":                   {`{"id":1,"title":true,"audience":{},"require_responder":"x","questions":[7,{"text":["a"],"options":"x","multiple":0,"min_items":"1","limits":[]}]}`, []string{"/id", "/title", "/audience", "/require_responder", "/questions/0", "/questions/1/text", "/questions/1/options", "/questions/1/multiple", "/questions/1/min_items", "/questions/1/limits"}},
		"numbers":                       {`{"questions":[{"min_items":1.5,"max_items":99999999999999999999,"limits":{"min":1e999},"text":"t"}]}`, []string{"/questions/0/min_items", "/questions/0/max_items", "/questions/0/limits/min"}},
		"no time at all":                {`{"timeout":"0s","questions":[{"text":"t"}]}`, []string{"/timeout"}},
		"durations and times":           {`{"timeout":"1 h","deadline":"today"}`, []string{"/timeout", "/deadline", "/questions"}},
		"a list where an object was":    {`[1]`, []string{""}},
		"a text where an object was":    {`"x"`, []string{""}},
		"trailing garbage":              {`{"id":"a"} {}`, []string{""}},
		"an early end":                  {`{"id":"a"`, []string{""}},
		"nothing":                       {``, []string{""}},
		"nested too deeply":             {`{"metadata":{"x":` + strings.Repeat(`{"x":`, 70) + `1` + strings.Repeat(`}`, 70) + `}}`, []string{""}},
		"a default of a list of lists":  {`{"questions":[{"text":"t","default":[["a"]]}]}`, []string{"/questions/0/default", "/questions/0/default/0"}},
		"a default that is an object":   {`{"questions":[{"text":"t","default":{"a":1}}]}`, []string{"/questions/0/default"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := wire.DecodeAsk([]byte(v.data))
			e, ok := errors.AsType[*ask.Error](err)
			if !ok || e.Code != ask.CodeInvalid {
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
		_, err := wire.DecodeAsk([]byte(`{"questions":[` + strings.TrimSuffix(strings.Repeat(`7,`, 5000), ",") + `]}`))
		if e, ok := errors.AsType[*ask.Error](err); !ok || len(e.Faults) != 100 {
			t.Errorf("%d faults", len(e.Faults))
		}
	})
	t.Run("a default that is an object learns the form", func(t *testing.T) {
		t.Parallel()
		_, err := wire.DecodeAsk([]byte(`{"questions":[{"text":"t","default":{"selected":["y"]}}]}`))
		want := `/questions/0/default: is an object; give an array of option ids such as ["y"] for a choice, or a string, a number, true or false for another kind of question`
		if e, ok := errors.AsType[*ask.Error](err); !ok || len(e.Faults) != 1 || e.Faults[0].String() != want {
			t.Errorf("%v", err)
		}
	})
	t.Run("null is left out", func(t *testing.T) {
		t.Parallel()
		a, err := wire.DecodeAsk([]byte(`{"id":"a","title":null,"deadline":null,"timeout":null,"agent":null,"questions":[{"text":"t","default":null,"limits":{"min":null},"options":null}]}`))
		if err != nil || a.ID != "a" || a.Questions[0].Default != nil {
			t.Errorf("%+v, %v", a, err)
		}
	})
}
