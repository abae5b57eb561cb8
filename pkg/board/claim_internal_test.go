package board

import (
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// TestAClaimIsDecidedByItsMark tells in every order what a board may hear between a claim and its mark.
func TestAClaimIsDecidedByItsMark(t *testing.T) {
	t.Parallel()
	mei := Viewer{By: ask.By{Principal: "os:mei"}}
	k := ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}
	tom := Attention{Principal: "os:tom", From: "other", Seen: time.Now()}
	gone := tom
	gone.Gone = true
	for name, c := range map[string]struct {
		hears func(b *Board)
		want  bool
	}{
		"nothing":                         {func(*Board) {}, true},
		"another claim first":             {func(b *Board) { b.attend(k, tom) }, false},
		"another claim that was given up": {func(b *Board) { b.attend(k, tom); b.attend(k, gone) }, true},
		"her own other screen":            {func(b *Board) { b.attend(k, Attention{Principal: "os:mei", From: "other"}) }, true},
		"the end of the ask": {func(b *Board) {
			b.Learn(ask.Record{Life: "l1", Ask: ask.Ask{Tenant: k.Tenant, Session: k.Session, ID: k.ID}})
		}, false},
		"the end of the ask, and it is new": {func(b *Board) {
			b.Learn(ask.Record{Life: "l1", Ask: ask.Ask{Tenant: k.Tenant, Session: k.Session, ID: k.ID}})
			put(b, k, "l2")
		}, false},
		"somebody who went away in the past": {func(b *Board) {
			a := tom
			a.Seen = time.Now().Add(-attentionLasts)
			b.attended[k.String()] = []Attention{a}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBoard(&source{}, Options{})
			put(b, k, "l1")
			claimed, mark, ok := b.claim(mei, Filter{}, Turn{})
			if !ok {
				t.Fatal("no ask is free")
			}
			c.hears(b)
			b.echoed(ask.Key{Tenant: "acme", Session: "s1", ID: "another"}, mark) // a mark of another ask is nobody's
			b.echoed(k, mark)
			b.attend(k, Attention{Principal: "os:tom", From: "other", Seen: time.Now()}) // too late
			if got := <-claimed.decided; got != c.want {
				t.Errorf("kept %t", got)
			}
			b.echoed(k, mark) // an echo that comes again decides nothing
			if len(claimed.decided) != 0 || len(b.claims) != 0 {
				t.Error("the claim is still there")
			}
		})
	}
}

func put(b *Board, k ask.Key, life string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(b.headOf(&ask.Record{Life: life, AskedAt: time.Now(), Ask: ask.Ask{Tenant: k.Tenant, Session: k.Session, ID: k.ID}}))
}
