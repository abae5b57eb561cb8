package askbustest_test

import (
	"context"
	"fmt"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/askbustest"
	"github.com/askbus/askbus/pkg/client"
)

// deploy is an agent under test: it asks before it does something irreversible.
func deploy(ctx context.Context, asks client.Session) string {
	o, err := asks.AskAndWait(ctx, ask.Ask{ID: "deploy-42", Questions: []ask.Question{{
		ID: "go", Kind: ask.KindBoolean, Text: "Deploy to production?",
	}}})
	if err != nil || o.Answer("go") == nil || !*o.Answer("go").Boolean {
		return "left alone"
	}
	return "deployed, as " + o.By.Name + " said: " + o.Answer("go").Notes
}

// In a test the first line is b := askbustest.Start(t).
func Example() {
	b, err := askbustest.New()
	if err != nil {
		panic(err)
	}
	defer b.Close()
	b.Script(askbustest.Rule{Question: "Deploy to production?", Say: "yes", Notes: "after 18:00"})

	fmt.Println(deploy(context.Background(), b.Session("acme", "s1")))
	// Output: deployed, as Mei said: after 18:00
}
