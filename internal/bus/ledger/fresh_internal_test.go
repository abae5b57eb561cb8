package ledger

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/pkg/ask"
)

// An answer may come before the acknowledgement of its question.
func TestAFreshQuestionIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, k := newFresh(time.Hour), ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}
		end := f.begin(k)
		found := make(chan bool)
		go func() {
			s, ok := f.get(t.Context(), k)
			found <- ok && s.Life == "l1"
		}()
		synctest.Wait()
		select {
		case <-found:
			t.Fatal("get did not wait for the write")
		default:
		}
		f.put(k, lifecycle.State{Life: "l1"}, 1)
		end()
		if !<-found {
			t.Error("get did not return the stored question")
		}
	})
}

func TestAFreshQuestionIsNotWaitedForInVain(t *testing.T) {
	t.Parallel()
	k := ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}
	for name, end := range map[string]func(f *fresh) context.Context{
		"the write failed": func(f *fresh) context.Context {
			f.begin(k)()
			return t.Context()
		},
		"the context ended": func(f *fresh) context.Context {
			f.begin(k)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return ctx
		},
		"a write of the same id failed later": func(f *fresh) context.Context {
			first, second := f.begin(k), f.begin(k)
			first()
			second()
			return t.Context()
		},
	} {
		f := newFresh(time.Hour)
		if _, ok := f.get(end(f), k); ok {
			t.Errorf("%s: get returned a question that was not stored", name)
		}
		if n := len(f.storing); name != "the context ended" && n > 0 {
			t.Errorf("%s: %d writes remain", name, n)
		}
	}
}
