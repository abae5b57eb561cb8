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
	tom := func(gone bool) Attention {
		return Attention{Principal: "os:tom", From: "other", Seen: time.Now(), Gone: gone}
	}
	for name, c := range map[string]struct {
		hears func(b *Board)
		want  bool
	}{
		"nothing":                         {func(*Board) {}, true},
		"another claim first":             {func(b *Board) { b.attend(k, tom(false)) }, false},
		"another claim that was given up": {func(b *Board) { b.attend(k, tom(false)); b.attend(k, tom(true)) }, true},
		"her own other screen":            {func(b *Board) { b.attend(k, Attention{Principal: "os:mei", From: "other"}) }, true},
		"the end of the ask": {func(b *Board) {
			b.Learn(ask.Record{Life: "l1", Ask: ask.Ask{Tenant: k.Tenant, Session: k.Session, ID: k.ID}})
		}, false},
		"the end of the ask, and it is new": {func(b *Board) {
			b.Learn(ask.Record{Life: "l1", Ask: ask.Ask{Tenant: k.Tenant, Session: k.Session, ID: k.ID}})
			put(b, k, "l2")
		}, false},
		"somebody who went away in the past": {func(b *Board) {
			a := tom(false)
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
			b.attend(k, tom(false)) // too late
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

// TestALotDecidesInACluster: of two who have heard each other's claim, one keeps the ask, at either board; nobody keeps
// what somebody answers, or what has ended.
func TestALotDecidesInACluster(t *testing.T) {
	t.Parallel()
	k := ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}
	kept := map[string]int{}
	for i := range 40 {
		life := string(rune('A' + i))
		var keep [2]bool
		for at, name := range []string{"os:mei", "os:tom"} {
			other := []string{"os:tom", "os:mei"}[at]
			b := newBoard(&source{}, Options{})
			put(b, k, life)
			c, _, ok := b.claim(Viewer{By: ask.By{Principal: name}}, Filter{}, Turn{})
			if !ok || !b.first(c) {
				t.Fatal("without others it is not kept")
			}
			b.attend(k, Attention{Principal: other, From: "other", Seen: time.Now()})
			if keep[at] = b.first(c); keep[at] {
				kept[name]++
			}
			b.attend(k, Attention{Principal: other, From: "other", Answering: true, Seen: time.Now()})
			if b.first(c) {
				t.Errorf("%s keeps what %s answers", name, other)
			}
			b.attend(k, Attention{Principal: other, From: "other", Gone: true, Seen: time.Now()})
			b.Learn(ask.Record{Life: life, Ask: ask.Ask{Tenant: k.Tenant, Session: k.Session, ID: k.ID}})
			if b.first(c) {
				t.Error("an ended ask is kept")
			}
		}
		if keep[0] == keep[1] {
			t.Errorf("life %s: kept %v", life, keep)
		}
	}
	if kept["os:mei"] == 0 || kept["os:tom"] == 0 {
		t.Errorf("one person is always first: %v", kept)
	}
}
