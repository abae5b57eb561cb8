package cloudevent

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzClean: the fast way never passes what the checker has a fault with, and
// reads what it passes as encoding/json does.
func FuzzClean(f *testing.F) {
	for _, seed := range []string{
		`{"id":"a","questions":[{"text":"Which?","options":[{"label":"A"},{"label":"B \"quoted\""}],"default":["a"]}]}`,
		`{"id":"a","id":"b"}`, `{"\u0069d":"a","id":"b"}`, `{"metadata":{"a":1,"\u0061":2}}`, `{"metadata":{"a":{"b":[1,2,null,true]}}}`,
		`{"questions":[{"text":1}]}`, `{"timeout":"2h","deadline":"2026-11-20T10:00:00Z"}`, `{"timeout":"x"}`, `{"questions":[{"limits":{"min":1,"max":"2026-11-20"}}]}`,
		`{"questions":[{"min_items":1.5}]}`, `{"questions":[{"min_items":-1}]}`, `{"questions":[{"min_items":1e400}]}`, `[]`, `null`, ` {} `, `{}x`, `{"title":"` + "\xff" + `"}`, "",
	} {
		f.Add([]byte(seed))
	}
	of := reflect.TypeFor[askJSON]()
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, want askJSON
		if !clean(data, &got) {
			return
		}
		if found := faults(of, data); len(found) > 0 {
			t.Fatalf("clean passes %q, but the checker says %v", data, found)
		}
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatalf("clean passes %q, but encoding/json says %v", data, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q is read as %+v, by encoding/json as %+v", data, got, want)
		}
	})
}

func TestCleanIsTheWayOfOrdinaryAsks(t *testing.T) {
	t.Parallel()
	const ordinary = `{"id":"deploy-42","title":"t","context":"a\nb","agent":{"id":"a"},"audience":["group:x"],"require_responder":false,"timeout":"2h",
		"metadata":{"n":1.5e3},"questions":[{"id":"db","kind":"choice","text":"Which?","options":[{"id":"pg","label":"PostgreSQL","recommended":true}],
		"multiple":false,"default":["pg"]},{"id":"n","kind":"number","text":"n","limits":{"min":1,"max":9,"integer":true},"default":3}]}`
	if !clean([]byte(ordinary), new(askJSON)) {
		t.Error("an ordinary ask takes the slow way")
	}
}

// FuzzFirstField: what is cut out of JSON as we write it is its first field.
func FuzzFirstField(f *testing.F) {
	for _, seed := range []string{`{"a":"}"}`, `{"a":"\"}"}`, `{"a":"\\"}`, `{"a":"\\\"{"}`, `{"a":{"b":[{}]}}`, `{"a":"\\\\"}x`, `{"`, `{"\`, `{}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, ask string) {
		if !json.Valid([]byte(ask)) || ask[0] != '{' || ask[len(ask)-1] != '}' {
			firstField([]byte(`{"ask":` + ask)) // it may find anything, and must end
			return
		}
		raw, ok := firstField([]byte(`{"ask":` + ask + `,"on_deadline":{"a":"}"}}`))
		if !ok || string(raw) != ask {
			t.Errorf("%q: %q, %v", ask, raw, ok)
		}
	})
}
