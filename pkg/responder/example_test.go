package responder_test

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

// A live screen draws what it is told and sends back what a person decides.
func Example() {
	e := &example{}
	defer e.close()
	b := natstest.Start(e, natstest.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, err := client.New(b.Agent("acme", "s1"), "acme", "s1", client.Options{})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	if _, err := c.Ask(ctx, ask.Ask{ID: "a1", Questions: []ask.Question{{ID: "n", Kind: ask.KindNumber, Text: "How many replicas?"}}}); err != nil {
		panic(err)
	}

	r, err := responder.New(b.Responder("tui"), "tui", responder.Options{})
	if err != nil {
		panic(err)
	}
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
		case responder.Offline:
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
