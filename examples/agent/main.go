// Command agent is a small Go agent that asks a person and waits for the
// answer, through restarts of anything.
//
//	umask 077 # only you can read it
//	askbus auth agent --session demo --output json > demo.json
//	go run ./examples/agent demo.json
//
// Kill it while it waits and start it again: it picks the same ask up.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
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
	if err := run(ctx, os.Args[1], os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, credentialFile string, out io.Writer) error {
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
	c, err := client.New(nc, client.Options{})
	if err != nil {
		return err
	}
	asks := c.Session("default", "demo")

	// The id makes a repeated ask harmless: a restarted agent finds its ask.
	asked, err := asks.AskToWait(ctx, ask.Ask{
		ID: "storage", Title: "Ledger storage", Agent: ask.Agent{Name: "example-agent"}, Timeout: 2 * time.Hour,
		Questions: []ask.Question{{
			ID: "db", Text: "Which database should the ledger use?", Header: "Storage",
			Options: []ask.Option{
				{ID: "pg", Label: "PostgreSQL", Description: "already deployed", Recommended: true},
				{ID: "lite", Label: "SQLite", Description: "one file"},
			},
		}},
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "asked; waiting until", asked.Deadline.Local().Format(time.DateTime))

	outcome, err := asked.Wait(ctx)
	if err != nil {
		return err
	}
	switch outcome.Status {
	case ask.StatusAnswered:
		words := outcome.Response // a person may reply in their own words instead
		if answer := outcome.Answer("db"); answer != nil && !answer.Empty() {
			words = outcome.Ask.Question("db").Words(*answer)
		}
		fmt.Fprintln(out, "the answer is", words)
	case ask.StatusCancelled:
		fmt.Fprintln(out, "declined:", outcome.Reason)
	case ask.StatusExpired, ask.StatusWithdrawn, ask.StatusAborted:
		fmt.Fprintln(out, "no answer:", outcome.Status)
	}
	return nil
}
