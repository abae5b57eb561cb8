package slack_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat/slack"
	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
)

// screen is a live surface: it collects pending asks and outcomes.
type screen struct {
	r      *responder.Responder
	kill   func()
	mu     sync.Mutex
	ended  map[string]ask.Outcome
	synced chan struct{}
}

func (w *world) screen(typ string) *screen {
	w.t.Helper()
	nc := w.bus.Connect(rights.Role{Name: rights.RoleResponder, Type: typ})
	r, err := responder.New(nc, typ, responder.Options{Logger: natstest.Logger()})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &screen{r: r, ended: map[string]ask.Outcome{}, synced: make(chan struct{})}
	var once sync.Once
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = board.Watch(ctx, r, func(e board.Event) {
			switch e.Kind {
			case board.Synced:
				once.Do(func() { close(s.synced) })
			case board.Resolved:
				if e.Record.Outcome != nil {
					s.mu.Lock()
					s.ended[e.Record.Ask.ID] = *e.Record.Outcome
					s.mu.Unlock()
				}
			case board.Pending, board.Offline, board.Reset, board.Changed:
			}
		})
	}()
	s.kill = sync.OnceFunc(func() { nc.Close(); cancel(); <-done })
	w.t.Cleanup(s.kill)
	<-s.synced
	return s
}

// Web, terminal and Slack race for each ask, with two replicas of each, one of which is killed
// meanwhile: each ask has one outcome, every surface shows it, and no active button remains.
// ASKBUS_SLOW=1 races for 500.
func TestRaceOfSurfaces(t *testing.T) {
	t.Parallel()
	n := 80
	if os.Getenv("ASKBUS_SLOW") != "" {
		n = 500
	}
	w := newWorld(t, fakeslack.Options{NoLimits: true, AckWithin: 20 * time.Second})
	screens := map[string][]*screen{"web": {w.screen("web"), w.screen("web")}, "tui": {w.screen("tui"), w.screen("tui")}}
	free := func(o *slack.Options) { o.NoLimits = true }
	went := &logs{}
	stays := w.start(false, free)
	defer func() {
		if t.Failed() {
			t.Logf("the replica that stays said:\n%s\nthe one that went:\n%s", stays.log.String(), went.String())
		}
	}()
	doomed := w.start(false, free)
	went = doomed.log
	kills := map[int]func(){rand.IntN(n): screens["web"][1].kill, rand.IntN(n): screens["tui"][1].kill, rand.IntN(n): doomed.stop}
	var all sync.WaitGroup
	var mu sync.Mutex
	won := map[string]int{}
	turn := make(chan struct{}, 8)
	for i := range n {
		turn <- struct{}{}
		if kill := kills[i]; kill != nil {
			go kill()
		}
		all.Go(func() {
			defer func() { <-turn }()
			id := fmt.Sprint("r", i)
			k := w.ask(ask.Ask{ID: id})
			at := w.card(id).Place
			var racers sync.WaitGroup
			for typ, list := range screens {
				racers.Go(func() {
					for range rand.IntN(4) { // people take their time
						if _, err := list[0].r.Get(t.Context(), k); err != nil {
							t.Errorf("get: %v", err)
						}
					}
					_, err := list[0].r.Answer(t.Context(), k, ask.Reply{Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"lite"}}}, By: ask.By{Principal: "os:" + typ, Name: typ}})
					if err == nil {
						mu.Lock()
						won[typ]++
						mu.Unlock()
					}
				})
			}
			racers.Go(func() {
				for range 5 { // a click that a dying replica loses is done again
					if w.fake.Click("U0TOM", at, "PostgreSQL").Acked {
						return
					}
				}
			})
			racers.Wait()
		})
	}
	all.Wait()
	for i := range n {
		id := fmt.Sprint("r", i)
		text := w.dead(id)
		o := w.outcome(ask.Key{Tenant: "acme", Session: "s1", ID: id})
		if o == nil {
			t.Fatalf("%s has no outcome", id)
		}
		who, choice := o.By.Name, "SQLite"
		if o.By.Responder == slack.Type {
			choice = "PostgreSQL"
			mu.Lock()
			won[slack.Type]++
			mu.Unlock()
		}
		if !strings.Contains(text, who+" chose "+choice) {
			t.Errorf("%s: the card says %q, and %s chose %s", id, text, who, choice)
		}
		for typ, list := range screens {
			natstest.Eventually(t, typ+" shows "+id, func() bool {
				list[0].mu.Lock()
				defer list[0].mu.Unlock()
				shown, ok := list[0].ended[id]
				return ok && shown.By.Name == who
			})
		}
	}
	if won["web"]+won["tui"]+won[slack.Type] != n {
		t.Errorf("%v won %d asks", won, n)
	}
	if all, live := w.fake.Cards(); live > 0 || all != n {
		t.Errorf("%d cards for %d asks, %d can still be clicked", all, n, live)
	}
	t.Logf("they won %v", won)
}
