package board_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
)

func person(name string) board.Viewer {
	return board.Viewer{By: ask.By{Principal: "os:" + name, Name: name, Proof: "local"}}
}

func TestThreePeopleTakeThreeAsks(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c := agent(t, b, "acme", "s1")
	for i := range 4 {
		ask1(t, c, fmt.Sprint("a", i))
	}
	one := run(t, surface(t, b, responder.Options{}), board.Options{})
	other := run(t, surface(t, b, responder.Options{}), board.Options{})
	// With somebody at another board, both boards wait for each other's claims.
	natstest.Eventually(t, "both know of each other", func() bool {
		if one.Look(person("ana"), key("a3"), true) != nil || other.Look(person("tom"), key("a3"), false) != nil {
			t.Error("cannot look")
		}
		return len(one.Attending(key("a3"))) == 2 && len(other.Attending(key("a3"))) == 2
	})
	var mu sync.Mutex
	var all sync.WaitGroup
	taken := map[ask.Key]string{}
	for i, br := range []*board.Board{one, one, other} {
		v := person(fmt.Sprint("p", i))
		all.Go(func() {
			h, ok := br.Take(t.Context(), v, board.Filter{Viewer: v, Mine: true}, board.Turn{})
			mu.Lock()
			defer mu.Unlock()
			if who := taken[h.Key]; !ok || who != "" || h.Key.ID == "a3" {
				t.Errorf("%s takes %v, %t, which %q has", v.By.Name, h.Key, ok, who)
			}
			taken[h.Key] = v.By.Name
		})
	}
	all.Wait()
	v := person("late")
	if h, ok := one.Take(t.Context(), v, board.Filter{Viewer: v, Mine: true}, board.Turn{}); ok {
		t.Errorf("a fifth person is offered %v", h.Key)
	}
}

func TestAnUrgentAskIsOfferedToEverybody(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c := agent(t, b, "acme", "s1")
	a := question("burning")
	a.Priority = ask.PriorityUrgent
	if _, err := c.Ask(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	ask1(t, c, "calm")
	br := run(t, surface(t, b, responder.Options{}), board.Options{})
	for _, name := range []string{"mei", "tom"} {
		if h, ok := br.Take(t.Context(), person(name), board.Filter{}, board.Turn{}); !ok || h.Key.ID != "burning" {
			t.Errorf("%s takes %v", name, h.Key)
		}
	}
}

func TestAnAskIsHandedOver(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c := agent(t, b, "acme", "s1")
	ask1(t, c, "a1")
	limited := question("a2")
	limited.Audience = []string{"os:mei", "group:platform"}
	if _, err := c.Ask(t.Context(), limited); err != nil {
		t.Fatal(err)
	}
	on := func() *board.Board {
		return run(t, surface(t, b, responder.Options{}), board.Options{Shared: true})
	}
	one, other := on(), on()
	mei, tom := person("mei"), person("tom")
	mine := func(br *board.Board, v board.Viewer) string {
		return headings(br, board.Filter{Viewer: v, Mine: true})
	}
	if err := other.Look(tom, key("a1"), false); err != nil {
		t.Fatal(err)
	}
	if err := other.Look(mei, key("a2"), false); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "both are seen", func() bool { return len(one.People()) == 2 })
	if err := other.Leave(tom, key("a1")); err != nil { // he was seen all the same
		t.Fatal(err)
	}
	natstest.Eventually(t, "he has left", func() bool { return len(one.Attending(key("a1"))) == 0 })
	if err := one.HandOver(t.Context(), mei, key("a1"), "Tom", "you know\nthe ledger"); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "it is Tom's on both", func() bool {
		return mine(one, mei) == "a2" && mine(other, mei) == "a2" && mine(one, tom) == "a1" && mine(other, tom) == "a1"
	})
	if got := headings(other, board.Filter{Viewer: mei, Team: true}); got != "a1 a2" {
		t.Errorf("the team sees %s", got)
	}
	for _, br := range []*board.Board{one, other} {
		heads, _ := br.Pending(board.Filter{Viewer: tom, Mine: true}, 0, 1)
		if h := heads[0].Handed; h == nil || h.Whom() != "tom" || h.Word != "you know the ledger" || h.By.Principal != "os:mei" || h.By.Name != "mei" {
			t.Errorf("it says %+v", h)
		}
	}
	late := on()
	natstest.Eventually(t, "a new replica knows it", func() bool { return mine(late, tom) == "a1" })
	for name, c := range map[string]struct {
		v    board.Viewer
		k    ask.Key
		to   string
		want error
	}{
		"an unknown name":                  {mei, key("a1"), "Zoe", ask.ErrInvalid},
		"a schedule that decides nothing":  {mei, key("a1"), "schedule:sre", ask.ErrInvalid},
		"a group outside the audience":     {mei, key("a2"), "group:security", ask.ErrInvalid},
		"by somebody outside the audience": {tom, key("a2"), "os:mei", ask.ErrForbidden},
		"an unknown ask":                   {mei, key("a9"), "os:tom", ask.ErrNotFound},
	} {
		if err := one.HandOver(t.Context(), c.v, c.k, c.to, ""); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := one.TakeBack(t.Context(), mei, key("a1"), "os:ann"); !errors.Is(err, ask.ErrConflict) {
		t.Errorf("what was handed to Ann before is taken back from Tom: %v", err)
	}
	if err := other.TakeBack(t.Context(), tom, key("a1"), "Tom"); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "it is everybody's again", func() bool { return mine(one, mei) == "a1 a2" && mine(late, mei) == "a1 a2" })
}

// TestAnAskIsHandedToWhoIsOnCall: whoever that is now, as the broker has written it into the ask.
func TestAnAskIsHandedToWhoIsOnCall(t *testing.T) {
	t.Parallel()
	h := board.Head{Key: key("a1"), Audience: []string{"os:tom", "schedule:sre", "schedule:sre=os:mei"}, Handed: &board.Handover{To: "schedule:sre"}}
	mei, tom := person("mei"), person("tom")
	if !mei.Mine(h) || tom.Mine(h) || h.Handed.Whom() != "sre" {
		t.Errorf("Mei is on call: %t, %t, %s", mei.Mine(h), tom.Mine(h), h.Handed.Whom())
	}
	h.Audience[2] = "schedule:sre=os:jo"
	if mei.Mine(h) || !tom.MayAnswer(h) {
		t.Error("her turn is over")
	}
}
