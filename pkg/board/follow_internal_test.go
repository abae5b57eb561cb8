package board

import (
	"fmt"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

func TestFollowNamesWhatChanged(t *testing.T) {
	t.Parallel()
	b := newBoard(&source{}, Options{})
	changed, touched, stop := b.Follow(Filter{Viewer: Viewer{Tenants: []string{"acme"}}})
	defer stop()
	add := func(tenant, id string) {
		rec := ask.Record{State: ask.StatePending, Life: "l-" + id, AskedAt: time.Now(), Ask: ask.Ask{ID: id, Tenant: tenant, Session: "s1"}}
		b.add(b.headOf(&rec))
	}
	add("acme", "a")
	add("other", "b")
	<-changed
	b.Learn(ask.Record{State: ask.StateResolved, Life: "l-a", Ask: ask.Ask{ID: "a", Tenant: "acme", Session: "s1"}})
	if got := touched(); len(got.Keys) != 1 || got.Keys[0].ID != "a" || got.Any {
		t.Errorf("touched %+v", got)
	}
	if got := touched(); len(got.Keys) != 0 || got.Any {
		t.Errorf("told twice: %+v", got)
	}
	for i := range 1000 {
		add("acme", fmt.Sprint("n", i))
	}
	if got := touched(); len(got.Keys) != maxTouched || !got.Any {
		t.Errorf("%d keys, any: %t", len(got.Keys), got.Any)
	}
	stop()
	if n := len(b.subs); n != 0 {
		t.Errorf("%d subscribers are left", n)
	}
}

func TestWhoLooksIsForTheOthersToSee(t *testing.T) {
	t.Parallel()
	b := newBoard(&source{}, Options{})
	follow := func(principal string) func() Touched {
		_, touched, stop := b.Follow(Filter{Viewer: Viewer{By: ask.By{Principal: principal}}})
		t.Cleanup(stop)
		return touched
	}
	mei, tom := follow("os:mei"), follow("os:tom")
	rec := ask.Record{State: ask.StatePending, Life: "l", AskedAt: time.Now(), Ask: ask.Ask{ID: "a", Tenant: "acme", Session: "s1"}}
	b.add(b.headOf(&rec))
	mei()
	tom()
	for _, a := range []Attention{{}, {Answering: true}, {Gone: true}} {
		a.Principal, a.Seen = "os:mei", time.Now()
		b.attend(rec.Ask.Key(), a)
		if got := tom(); len(got.Keys) != 1 {
			t.Errorf("%+v: the others are told %+v", a, got)
		}
		if got := mei(); len(got.Keys) != 0 || got.Any {
			t.Errorf("%+v: who looks is told %+v", a, got)
		}
	}
}
