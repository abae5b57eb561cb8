package board_test

import (
	"context"
	"fmt"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/askbustest"
	"github.com/askbus/askbus/pkg/board"
)

// A live screen keeps a board, shows what it selects, and sends back a person's decision.
func ExampleBoard() {
	b, err := askbustest.New()
	if err != nil {
		panic(err)
	}
	defer b.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, a := range []ask.Ask{
		{ID: "a1", Title: "How many replicas?", Questions: []ask.Question{{ID: "n", Kind: ask.KindNumber, Text: "How many?"}}},
		{ID: "a2", Title: "Deploy now?", Priority: ask.PriorityUrgent, Questions: []ask.Question{{ID: "ok", Kind: ask.KindBoolean, Text: "Now?"}}},
	} {
		if _, err := b.Session("acme", "s1").Ask(ctx, a); err != nil {
			panic(err)
		}
	}

	r := b.Responder("tui") // in a real surface: responder.New(nc, "tui", responder.Options{})
	mei := ask.By{Principal: "os:mei", Name: "Mei"}
	queue := board.New(r, board.Options{})
	done := make(chan error, 1)
	go func() { done <- queue.Run(ctx) }()

	mine := board.Filter{Viewer: board.Viewer{By: mei}, Mine: true}
	changed, stop := queue.Changes(mine)
	defer stop()
	for !queue.Status().Synced {
		<-changed
	}
	heads, _ := queue.Pending(mine, 0, 10) // the urgent one first
	for _, h := range heads {
		fmt.Println(h.Priority, h.Heading)
	}

	o, err := r.Answer(ctx, heads[0].Key, ask.Reply{By: mei, Answers: []ask.Answer{{QuestionID: "ok", Boolean: new(true)}}})
	fmt.Println(o.Status, err)
	rec, err := queue.Fresh(ctx, heads[0].Key)
	fmt.Println(rec.State, err)
	for _, rec := range queue.Ended(mine) {
		fmt.Println("ended:", rec.Ask.Title, "by", rec.Outcome.By.Name)
	}
	_, total := queue.Pending(mine, 0, 10)
	fmt.Println(total, "left")
	cancel()
	fmt.Println(<-done)
	// Output:
	// urgent Deploy now?
	// normal How many replicas?
	// answered <nil>
	// resolved <nil>
	// ended: Deploy now? by Mei
	// 1 left
	// <nil>
}

func ExampleFilter() {
	mei := ask.By{Principal: "oidc:mei", Name: "Mei", Groups: []string{"platform"}, Proof: ask.ProofOIDC}
	f := board.Filter{Viewer: board.Viewer{By: mei, Tenants: []string{"acme"}}, Mine: true, Search: "database orders"}
	for _, h := range []board.Head{
		{Key: ask.Key{Tenant: "acme", Session: "orders", ID: "a1"}, Heading: "Which database?"},
		{Key: ask.Key{Tenant: "acme", Session: "orders", ID: "a2"}, Heading: "Which name?"},
		{Key: ask.Key{Tenant: "other", Session: "orders", ID: "a3"}, Heading: "Which database?"},
		{Key: ask.Key{Tenant: "acme", Session: "s1", ID: "a4"}, Heading: "Which database?", Source: "acme/orders", Audience: []string{"group:dba"}},
		{Key: ask.Key{Tenant: "acme", Session: "s1", ID: "a5"}, Heading: "Which database?", Source: "acme/orders", Audience: []string{"group:platform"}},
	} {
		fmt.Println(h.Key.ID, f.Takes(h))
	}
	// Output:
	// a1 true
	// a2 false
	// a3 false
	// a4 false
	// a5 true
}

// Watch tells what comes and ends, without keeping it.
func ExampleWatch() {
	b, err := askbustest.New()
	if err != nil {
		panic(err)
	}
	defer b.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if _, err := b.Session("acme", "s1").Ask(ctx, ask.Ask{ID: "a1", Questions: []ask.Question{{ID: "n", Kind: ask.KindNumber, Text: "How many replicas?"}}}); err != nil {
		panic(err)
	}

	r := b.Responder("tui")
	err = board.Watch(ctx, r, func(ev board.Event) {
		switch ev.Kind {
		case board.Pending:
			fmt.Println("pending:", ev.Record.Ask.Heading())
		case board.Synced:
			fmt.Println("that is all for now")
			o, err := r.Answer(ctx, ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}, ask.Reply{
				Answers: []ask.Answer{{QuestionID: "n", Number: new(3.0)}},
				By:      ask.By{Principal: "os:mei", Name: "Mei"},
			})
			fmt.Println(o.Status, err)
		case board.Resolved:
			fmt.Println("ended:", *ev.Record.Outcome.Answer("n").Number, "by", ev.Record.Outcome.By.Name, "on", ev.Record.Outcome.By.Responder)
			cancel()
		case board.Offline, board.Reset, board.Changed:
		}
	})
	fmt.Println(err)
	// Output:
	// pending: How many replicas?
	// that is all for now
	// answered <nil>
	// ended: 3 by Mei on tui
	// <nil>
}
