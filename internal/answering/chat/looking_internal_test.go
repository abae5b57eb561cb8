package chat

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
)

// A mark that could not be taken away when its person left, as while other calls wait, is taken away later. Of 2,000 cards
// no words are kept: an ask may have 256 KiB of them.
func TestAMarkDoesNotStay(t *testing.T) {
	t.Parallel()
	routes := Routes{Default: Target{Channel: "C1"}}
	s, err := NewSurface("chat", nil, Options{Routes: routes}, IDs{})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s.FollowLookers(responder.NewLimiter(nil, nil))
		l, k := s.lookers, ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}
		tom := board.Attention{Principal: "os:tom", Name: "Tom", Responder: "web"}
		l.heard(k, tom)
		s.Shown(responder.Post{Ask: ask.Ask{Tenant: "acme", Session: "s1", ID: "a1", Title: strings.Repeat("x", 1000)}}, nil, []string{"Tom is looking at this"})
		if p, ok := l.cards.Peek(k); !ok || p.post.Ask.Title != "" {
			t.Errorf("kept: %v, %d bytes of its words", ok, len(p.post.Ask.Title))
		}
		if _, _, stale := l.stale(k); stale {
			t.Error("the mark is not true")
		}
		ana := board.Attention{Principal: "os:ana", Name: "Ana", Responder: "web", Mark: "m1"}
		if l.heard(k, ana); len(l.todo) != 1 { // she took the ask to read it
			t.Error("who takes an ask is not marked at once")
		}
		<-l.todo
		ana.Gone, ana.Mark = true, ""
		l.heard(k, ana)
		tom.Gone = true
		l.heard(k, tom)
		for range 3 { // nothing serves, so that edit does nothing
			time.Sleep(markAfter)
			synctest.Wait()
			if len(l.todo) != 1 {
				t.Fatal("the mark stays")
			}
			l.edit(t.Context(), <-l.todo)
			l.fade()
		}
	})
}
