package client_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/askbus/askbus/internal/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

// example lets an example use a real bus, as a test does.
type example struct {
	testing.TB
	cleanup []func()
}

func (e *example) Helper()                   {}
func (e *example) Cleanup(f func())          { e.cleanup = append(e.cleanup, f) }
func (e *example) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
func (e *example) Errorf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
func (e *example) Fatal(a ...any)            { panic(fmt.Sprint(a...)) }

func (e *example) TempDir() string {
	dir, err := os.MkdirTemp("", "askbus-example-")
	if err != nil {
		panic(err)
	}
	e.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (e *example) close() {
	for _, f := range slices.Backward(e.cleanup) {
		f()
	}
}

// answering is a bus on which somebody answers the first ask that appears.
func answering(e *example) *natstest.Bus {
	b := natstest.Start(e, natstest.Options{})
	r, err := responder.New(b.Responder("web"), "web", responder.Options{})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	e.Cleanup(cancel)
	go func() {
		_ = r.Watch(ctx, func(ev responder.Event) {
			if ev.Kind == responder.Pending {
				_, _ = r.Answer(ctx, ev.Record.Ask.Key(), ask.Reply{
					Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}, Notes: "keep 14 days of backups"}},
					By:      ask.By{Principal: "os:mei", Name: "Mei"},
				})
			}
		})
	}()
	return b
}

// An agent asks and waits. The connection is what "askbus creds agent" gives.
func Example() {
	e := &example{}
	defer e.close()
	nc := answering(e).Agent("acme", "s1")

	ctx := context.Background()
	c, err := client.New(nc, "acme", "s1", client.Options{})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	st, err := c.Ask(ctx, ask.Ask{
		ID: "deploy-42",
		Questions: []ask.Question{{
			ID: "db", Text: "Which database should the ledger use?",
			Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}, {ID: "lite", Label: "SQLite"}},
		}},
	})
	if err != nil {
		panic(err)
	}
	o, err := c.Wait(ctx, st.ID)
	if err != nil {
		panic(err)
	}
	fmt.Println(o.Status, o.Answer("db").Selected, o.Answer("db").Notes, "by", o.By.Name)
	// Output: answered [pg] keep 14 days of backups by Mei
}

// Asking again under the same id is harmless, also after the end.
func ExampleClient_Ask_again() {
	e := &example{}
	defer e.close()
	b := natstest.Start(e, natstest.Options{})
	c, err := client.New(b.Agent("acme", "s1"), "acme", "s1", client.Options{})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	a := ask.Ask{ID: "a1", Questions: []ask.Question{{Text: "Shall I?"}}}
	for range 2 {
		st, err := c.Ask(context.Background(), a)
		fmt.Println(st.State, err)
	}
	if _, err := c.Withdraw(context.Background(), "a1", "no need"); err != nil {
		panic(err)
	}
	st, err := c.Ask(context.Background(), a)
	fmt.Println(st.State, st.Outcome.Status, err)
	// Output:
	// pending <nil>
	// pending <nil>
	// resolved withdrawn <nil>
}
