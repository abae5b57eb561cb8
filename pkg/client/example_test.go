package client_test

import (
	"context"
	"fmt"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/askbustest"
	"github.com/askbus/askbus/pkg/client"
)

// bus returns a bus for an example.
func bus() *askbustest.Bus {
	b, err := askbustest.New()
	if err != nil {
		panic(err)
	}
	return b
}

// An agent asks and waits. "askbus auth agent" prints its credential; here it
// comes from a test bus on which a script answers.
func Example() {
	b := bus()
	defer b.Close()
	b.Script(askbustest.Rule{Question: "db", Say: "PostgreSQL", Notes: "keep 14 days of backups"})

	nc, err := client.Connect(b.Agent("acme", "s1"), nil)
	if err != nil {
		panic(err)
	}
	defer nc.Close()
	c, err := client.New(nc, client.Options{})
	if err != nil {
		panic(err)
	}
	o, err := c.Session("acme", "s1").AskAndWait(context.Background(), ask.Ask{
		ID: "deploy-42",
		Questions: []ask.Question{{
			ID: "db", Text: "Which database should the ledger use?",
			Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}, {ID: "lite", Label: "SQLite"}},
		}},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(o.Status, o.Answer("db").Selected, o.Answer("db").Notes, "by", o.By.Name)
	// Output: answered [pg] keep 14 days of backups by Mei
}

// Asking again with the same id is harmless, even after the ask has ended.
func ExampleSession_Ask_again() {
	b := bus()
	defer b.Close()
	s := b.Session("acme", "s1")
	a := ask.Ask{ID: "a1", Questions: []ask.Question{{Text: "Shall I?"}}}
	for range 2 {
		asked, err := s.Ask(context.Background(), a)
		fmt.Println(asked.State, err)
	}
	if _, err := s.Withdraw(context.Background(), "a1", "no need"); err != nil {
		panic(err)
	}
	asked, err := s.Ask(context.Background(), a)
	fmt.Println(asked.State, asked.Outcome.Status, err)
	// Output:
	// pending <nil>
	// pending <nil>
	// resolved withdrawn <nil>
}

// All iterates over the asks of a session, fetching one page at a time.
func ExampleSession_All() {
	b := bus()
	defer b.Close()
	ctx, s := context.Background(), b.Session("acme", "s1")
	for _, id := range []string{"a1", "a2", "a3"} {
		if _, err := s.Ask(ctx, ask.Ask{ID: id, Questions: []ask.Question{{Text: "Shall I do " + id + "?"}}}); err != nil {
			panic(err)
		}
	}
	for rec, err := range s.All(ctx, client.Query{State: ask.StatePending, PageSize: 2}) {
		if err != nil {
			panic(err)
		}
		fmt.Println(rec.Ask.Heading())
	}
	// Output:
	// Shall I do a1?
	// Shall I do a2?
	// Shall I do a3?
}
