package responder_test

import (
	"errors"
	"testing"

	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// The ask of a post is found by its key: pending, ended, and by a process that did not post it. A key of an
// earlier life is told from an unknown one.
func TestPosted(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c, r := agent(t, b, "acme", "s1"), surface(t, b, responder.Options{})
	ask1(t, c, "a1")
	ask1(t, c, "a2")
	if _, err := c.Withdraw(t.Context(), "a2", ""); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a1", "a2"} {
		k := ask.Key{Tenant: "acme", Session: "s1", ID: id}
		rec, err := r.Get(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // looked up, then remembered
			got, err := r.Posted(t.Context(), responder.PostKey("web", k, rec.Life))
			if err != nil || got.Ask.Key() != k || (got.Outcome == nil) != (rec.Outcome == nil) {
				t.Errorf("%s: %+v, %v", id, got, err)
			}
		}
		for _, key := range []string{"", "x", responder.PostKey("web", k, "another life"), responder.PostKey("chat", k, rec.Life)} {
			if _, err := r.Posted(t.Context(), key); !errors.Is(err, ask.ErrNotFound) {
				t.Errorf("%q: %v", key, err)
			}
		}
	}
}
