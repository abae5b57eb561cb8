package responder_test

import (
	"context"
	"fmt"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/askbustest"
	"github.com/askbus/askbus/pkg/responder"
)

// A live screen draws its events and sends back a person's decision.
func Example() {
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

	r := b.Responder("tui") // in a real surface: responder.New(nc, "tui", responder.Options{})
	err = r.Watch(ctx, func(ev responder.Event) {
		switch ev.Kind {
		case responder.Pending:
			fmt.Println("pending:", ev.Record.Ask.Heading())
		case responder.Synced:
			fmt.Println("that is all for now")
			o, err := r.Answer(ctx, ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}, ask.Reply{
				Answers: []ask.Answer{{QuestionID: "n", Number: new(3.0)}},
				By:      ask.By{Principal: "os:mei", Name: "Mei"},
			})
			fmt.Println(o.Status, err)
		case responder.Resolved:
			fmt.Println("ended:", *ev.Record.Outcome.Answer("n").Number, "by", ev.Record.Outcome.By.Name, "on", ev.Record.Outcome.By.Responder)
			cancel()
		case responder.Offline, responder.Reset, responder.Changed:
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
