// Command agent is a small Go agent that asks a person and waits for the
// answer, through restarts of anything.
//
//	askbus creds agent --session demo --output json > demo.json
//	go run ./examples/agent demo.json
//
// Kill it while it waits and start it again: it picks the same ask up.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: agent CREDENTIAL.json")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, credentialFile string) error {
	data, err := os.ReadFile(credentialFile) //nolint:gosec // the user names the file
	if err != nil {
		return err
	}
	var cred client.Credential
	if err := json.Unmarshal(data, &cred); err != nil {
		return err
	}
	nc, err := client.Connect(cred, nil)
	if err != nil {
		return err
	}
	defer nc.Close()
	c, err := client.New(nc, "default", "demo", client.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()

	// The id makes asking again harmless: a restarted agent finds its ask.
	status, err := c.Ask(ctx, ask.Ask{
		ID: "storage", Title: "Ledger storage", Agent: ask.Agent{Name: "example-agent"}, Timeout: 2 * time.Hour,
		Questions: []ask.Question{{
			ID: "db", Text: "Which database should the ledger use?", Header: "Storage",
			Options: []ask.Option{
				{ID: "pg", Label: "PostgreSQL", Description: "operated already", Recommended: true},
				{ID: "lite", Label: "SQLite", Description: "one file"},
			},
		}},
	})
	if err != nil {
		return err
	}
	fmt.Println("asked; waiting until", status.Deadline.Local().Format(time.DateTime))

	outcome, err := c.Wait(ctx, status.ID)
	if err != nil {
		return err
	}
	switch outcome.Status {
	case ask.StatusAnswered:
		words := outcome.Response // a person may reply in their own words instead
		if answer := outcome.Answer("db"); answer != nil && !answer.Empty() {
			words = outcome.Ask.Question("db").Words(*answer)
		}
		fmt.Println("the answer is", words)
	case ask.StatusCancelled:
		fmt.Println("declined:", outcome.Reason)
	case ask.StatusExpired, ask.StatusWithdrawn, ask.StatusAborted:
		fmt.Println("no answer:", outcome.Status)
	}
	return nil
}
