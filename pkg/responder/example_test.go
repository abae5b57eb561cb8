package responder_test

import (
	"context"
	"fmt"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/askbustest"
	"github.com/askbus/askbus/pkg/responder"
)

// printer is a surface that posts on paper.
type printer struct{ shown chan string }

func (p printer) Present(_ context.Context, post responder.Post) ([]ask.Place, error) {
	p.shown <- "posted: " + post.Ask.Heading()
	return []ask.Place{{Ref: "page 1"}}, nil
}

func (p printer) Update(_ context.Context, e responder.Ended) error {
	p.shown <- e.Places[0].Ref + ": " + e.Outcome.Answers[0].Selected[0] + ", says " + e.Outcome.By.Name
	return nil
}

// Find finds nothing: paper cannot be searched, so a crash may print an ask twice.
func (p printer) Find(context.Context, responder.Post) ([]ask.Place, error) { return nil, nil }

// A surface that posts implements three methods. The server posts each ask once, records where, and makes every
// post show the outcome, wherever the ask was answered.
func ExampleResponder_Serve() {
	b, err := askbustest.New()
	if err != nil {
		panic(err)
	}
	defer b.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	paper := printer{make(chan string, 10)}
	r := b.Responder("paper") // in a real surface: responder.New(nc, "paper", responder.Options{})
	done := make(chan error, 1)
	go func() { done <- r.Serve(ctx, paper, responder.ServeOptions{}) }()

	_, err = b.Session("acme", "s1").Ask(ctx, ask.Ask{ID: "a1", Questions: []ask.Question{
		{ID: "db", Text: "Which database?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}, {ID: "lite", Label: "SQLite"}}},
	}})
	if err != nil {
		panic(err)
	}
	fmt.Println(<-paper.shown)
	_, err = b.Responder("web").Answer(ctx, ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}, ask.Reply{
		Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"lite"}}}, By: ask.By{Principal: "os:mei", Name: "Mei"},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(<-paper.shown)
	cancel()
	fmt.Println(<-done)
	// Output:
	// posted: Which database?
	// page 1: lite, says Mei
	// <nil>
}
