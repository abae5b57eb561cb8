package card_test

import (
	"fmt"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

func ExampleNew() {
	r := record(ask.Ask{Questions: []ask.Question{
		{ID: "db", Text: "Which database?", NoOther: true, Options: []ask.Option{{Label: "PostgreSQL", Recommended: true}, {Label: "SQLite"}}},
		{ID: "n", Text: "How many replicas?", Kind: ask.KindNumber, Limits: ask.Limits{Integer: true}},
	}})
	view := card.New(r, mei, now)
	fmt.Println(view.Head())
	draft := view.Draft()
	again := draft.Read("db = postgres\nn = a few")
	fmt.Println(view.AskAgain(again))
	fmt.Println(len(draft.Read("3")), draft.Review())
	// Output:
	// builder asks · session payments-api · waiting 5 min
	// "a few" is not a number; type one such as 3 or 2.5.
	// [n] How many replicas?
	// Type a whole number.
	// 0 [{Which database? PostgreSQL  []} {How many replicas? 3  []}]
}
