package board_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
)

// board runs a board over a responder until the test ends.
func run(t *testing.T, r *responder.Responder, opts board.Options) *board.Board {
	t.Helper()
	b := board.New(r, opts)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("board: %v", err)
		}
	})
	natstest.Eventually(t, "the board has everything", func() bool { return b.Status().Synced })
	return b
}

func headings(b *board.Board, f board.Filter) string {
	heads, _ := b.Pending(f, 0, 100)
	var s []string
	for _, h := range heads {
		s = append(s, h.Key.ID)
	}
	return strings.Join(s, " ")
}

func TestABoardIsInTheOrderOfAQueue(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c := agent(t, b, "acme", "s1")
	put := func(id string, p ask.Priority, timeout time.Duration, audience ...string) {
		a := question(id)
		a.Priority, a.Timeout, a.Audience = p, timeout, audience
		if _, err := c.Ask(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	put("low", ask.PriorityLow, time.Minute)
	put("late", "", 3*time.Hour)
	put("soon", "", time.Hour, "group:platform")
	r := surface(t, b, responder.Options{})
	br := run(t, r, board.Options{})
	put("urgent", ask.PriorityUrgent, 0) // live
	natstest.Eventually(t, "all are there", func() bool { return br.Status().Pending == 4 })
	if got := headings(br, board.Filter{}); got != "urgent soon late low" {
		t.Errorf("the order is %s", got)
	}
	tom := board.Viewer{By: ask.By{Principal: "os:tom"}}
	if got := headings(br, board.Filter{Viewer: tom, Mine: true}); got != "urgent late low" {
		t.Errorf("Tom may answer %s", got)
	}
	if got := headings(br, board.Filter{Viewer: board.Viewer{Tenants: []string{"other"}}}); got != "" {
		t.Errorf("another tenant sees %s", got)
	}
	if heads, total := br.Pending(board.Filter{}, 1, 2); total != 4 || len(heads) != 2 || heads[0].Key.ID != "soon" {
		t.Errorf("a page is %+v of %d", heads, total)
	}
	if h, ok := br.Head(key("soon")); !ok || h.Key != key("soon") || h.Heading == "" {
		t.Errorf("a head is %+v, %t", h, ok)
	}
	rec, err := br.Get(t.Context(), key("late"))
	if err != nil || len(rec.Ask.Questions) != 1 {
		t.Errorf("a body is %+v, %v", rec, err)
	}
	if _, err := r.Answer(t.Context(), key("late"), pick()); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "one has ended", func() bool { return br.Status().Pending == 3 })
	if ended := br.Ended(board.Filter{}); len(ended) != 1 || ended[0].Outcome.By.Name != "Mei" || len(ended[0].Ask.Questions) != 1 {
		t.Errorf("ended: %+v", ended)
	}
	if h, ok := br.Head(key("late")); ok {
		t.Errorf("an ask that has ended has the head %+v", h)
	}
}

// A board that was disconnected reads what changed since, and is correct again.
func TestABoardComesBack(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c, answers := agent(t, b, "acme", "s1"), surface(t, b, responder.Options{})
	for i := range 20 {
		ask1(t, c, fmt.Sprint("a", i))
	}
	line := b.Line()
	r, err := responder.New(line.Connect(rights.Role{Name: rights.RoleResponder, Type: "web"}), "web", responder.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	br := run(t, r, board.Options{})
	var mu sync.Mutex
	heard := map[string]int{}
	ctx, cancel := context.WithCancel(t.Context())
	var sub sync.WaitGroup
	sub.Go(func() {
		br.Subscribe(ctx, board.Filter{Session: "s1"}, func(e board.Event) {
			mu.Lock()
			defer mu.Unlock()
			heard[fmt.Sprint(e.Kind, e.Record.Ask.ID)]++
		})
	})
	defer sub.Wait()
	defer cancel()
	mend := line.Block()
	natstest.Eventually(t, "the board is offline", func() bool { return br.Status().Offline })
	for i := range 10 {
		if _, err := answers.Answer(t.Context(), key(fmt.Sprint("a", i)), pick()); err != nil {
			t.Fatal(err)
		}
	}
	ask1(t, c, "new")
	mend()
	natstest.Eventually(t, "the board is correct again", func() bool { s := br.Status(); return !s.Offline && s.Pending == 11 })
	if got := headings(br, board.Filter{}); !strings.HasSuffix(got, "new") || strings.Contains(got, "a0 ") {
		t.Errorf("it has %s", got)
	}
	if n := len(br.Ended(board.Filter{})); n != 10 {
		t.Errorf("%d ended", n)
	}
	natstest.Eventually(t, "the subscriber was told all", func() bool {
		mu.Lock()
		defer mu.Unlock()
		n := heard[fmt.Sprint(board.Pending, "new")]
		for i := range 10 {
			n += heard[fmt.Sprint(board.Resolved, "a", i)]
		}
		return n == 11
	})
}

// A slow subscriber blocks nobody, and is told everything again.
func TestASlowSubscriberIsToldAgain(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	r := surface(t, b, responder.Options{})
	br := run(t, r, board.Options{})
	hold, resets, pending := make(chan struct{}), make(chan struct{}, 100), make(chan struct{}, 10_000)
	ctx, cancel := context.WithCancel(t.Context())
	var sub sync.WaitGroup
	sub.Go(func() {
		br.Subscribe(ctx, board.Filter{}, func(e board.Event) {
			switch e.Kind {
			case board.Reset:
				resets <- struct{}{}
			case board.Pending:
				pending <- struct{}{}
			case board.Synced:
				<-hold
			case board.Resolved, board.Offline, board.Changed:
			}
		})
	})
	defer sub.Wait()
	defer cancel()
	<-resets
	ask1(t, agent(t, b, "acme", "s1"), "a1")
	natstest.Eventually(t, "the board continues", func() bool { return br.Status().Pending == 1 })
	for i := range 2000 { // more than is kept
		br.Learn(ask.Record{State: ask.StateResolved, Life: fmt.Sprint("l", i), Ask: ask.Ask{ID: fmt.Sprint("x", i), Tenant: "acme", Session: "s1"}})
	}
	close(hold)
	<-resets
	<-pending
}

// TestSubscribersLeaveNothing is not parallel: it counts goroutines.
func TestSubscribersLeaveNothing(t *testing.T) {
	b := natstest.Start(t, natstest.Options{})
	br := run(t, surface(t, b, responder.Options{}), board.Options{})
	before := len(natstest.Goroutines("pkg/responder."))
	for range natstest.Uses {
		ctx, cancel := context.WithCancel(t.Context())
		br.Subscribe(ctx, board.Filter{}, func(board.Event) { cancel() })
	}
	natstest.Eventually(t, "no subscriber leaves a goroutine", func() bool { return len(natstest.Goroutines("pkg/responder.")) <= before })
}

func key(id string) ask.Key { return ask.Key{Tenant: "acme", Session: "s1", ID: id} }

func TestAFilterKeepsToTheAccess(t *testing.T) {
	t.Parallel()
	tom := board.Viewer{By: ask.By{Principal: "oidc:tom"}, Access: ask.Access{
		{Tenants: []string{"acme"}, Audiences: []string{"group:sre"}},
		{Tenants: []string{"read"}, ReadOnly: true},
	}}
	for name, c := range map[string]struct {
		head        board.Head
		sees, mayDo bool
	}{
		"his own tenant":                   {board.Head{Key: ask.Key{Tenant: "acme", Session: "s", ID: "a"}}, true, true},
		"another tenant":                   {board.Head{Key: ask.Key{Tenant: "x", Session: "s", ID: "a"}}, false, false},
		"a tenant that he reads":           {board.Head{Key: ask.Key{Tenant: "read", Session: "s", ID: "a"}}, true, false},
		"an audience that he sees":         {board.Head{Key: ask.Key{Tenant: "acme", Session: "s", ID: "a"}, Audience: []string{"group:sre"}}, true, false},
		"an audience with him in it":       {board.Head{Key: ask.Key{Tenant: "acme", Session: "s", ID: "a"}, Audience: []string{"oidc:tom"}}, true, true},
		"an ask of his own":                {board.Head{Key: ask.Key{Tenant: "acme", Session: "s", ID: "a"}, Excluded: []string{"os:tom", "oidc:tom"}}, true, false},
		"an ask of somebody else":          {board.Head{Key: ask.Key{Tenant: "acme", Session: "s", ID: "a"}, Excluded: []string{"oidc:mei"}}, true, true},
		"an audience that he does not see": {board.Head{Key: ask.Key{Tenant: "acme", Session: "s", ID: "a"}, Audience: []string{"group:hr"}}, false, false},
	} {
		if sees, may := tom.Sees(c.head.Key, c.head.Audience), tom.MayAnswer(c.head); sees != c.sees || may != c.mayDo {
			t.Errorf("%s: sees %t, may answer %t", name, sees, may)
		}
	}
}
