package wire_test

import (
	"testing"
	"time"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/testkit/schematest"
)

// The schemas of shared state and the code agree.
func TestBodiesOfSharedState(t *testing.T) {
	t.Parallel()
	put := func(data []byte) error { _, err := wire.DecodeStatePut(data); return err }
	del := func(data []byte) error { _, err := wire.DecodeStateDelete(data); return err }
	list := func(data []byte) error { _, err := wire.DecodeStateList(data); return err }
	for _, c := range []struct {
		schema string
		decode func([]byte) error
		body   string
		ok     bool
	}{
		{"state-put", put, `{"value":{}}`, true},
		{"state-put", put, `{"value":{"a":[1]},"revision":0,"ttl":"90s","id":"a-1"}`, true},
		{"state-put", put, `{}`, false},
		{"state-put", put, `{"value":"x"}`, false},
		{"state-put", put, `{"value":[]}`, false},
		{"state-put", put, `{"value":{},"revision":-1}`, false},
		{"state-put", put, `{"value":{},"revision":1.5}`, false},
		{"state-put", put, `{"value":{},"ttl":"soon"}`, false},
		{"state-put", put, `{"value":{},"id":"a b"}`, false},
		{"state-put", put, `{"value":{},"more":1}`, false},
		{"state-delete", del, `{}`, true},
		{"state-delete", del, `{"revision":7,"id":"x"}`, true},
		{"state-delete", del, `{"value":{}}`, false},
		{"state-list", list, `{}`, true},
		{"state-list", list, `{"after":7,"limit":200}`, true},
		{"state-list", list, `{"limit":201}`, false},
		{"state-list", list, `{"after":"7"}`, false},
	} {
		bySchema, byCode := schematest.Check(schematest.Compile(t, c.schema), []byte(c.body)), c.decode([]byte(c.body))
		if (bySchema == nil) != c.ok || (byCode == nil) != c.ok {
			t.Errorf("%s %s: schema %v, code %v", c.schema, c.body, bySchema, byCode)
		}
	}
	at := time.Date(2026, 11, 22, 1, 2, 3, 4, time.UTC)
	page, err := wire.Marshal(wire.StateChanges{Items: []wire.StateEntry{
		{Tenant: "acme", Key: "s1.a1.mei", Revision: 7, Value: []byte(`{"n":1}`), Written: at, Expires: at}, {Key: "k", Revision: 9, Deleted: true},
	}, Revision: 9, More: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := schematest.Check(schematest.Compile(t, "state-changes"), page); err != nil {
		t.Errorf("%s: %v", page, err)
	}
}
