package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/spf13/cobra"
)

func (a *app) getCmd() *cobra.Command {
	return &cobra.Command{
		Use: "get (ID | SESSION/ID)", Short: "Show an ask: its state, outcome and receipts", Long: "Shows an ask.\n\n" + exitCodes, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withAsk(cmd.Context(), args[0], func(b *bus, k ask.Key) error {
				rec, err := a.record(cmd.Context(), b, k)
				if err != nil {
					return err
				}
				return a.tellRecord(k, &rec)
			})
		},
	}
}

// withAsk connects and finds one ask.
func (a *app) withAsk(ctx context.Context, ref string, do func(*bus, ask.Key) error) error {
	b, err := a.dial()
	if err != nil {
		return err
	}
	defer b.nc.Close()
	k, err := a.find(ctx, b, ref)
	if err != nil {
		return err
	}
	return do(b, k)
}

func (a *app) tellRecord(k ask.Key, rec *ask.Record) error {
	code := exitPending
	if rec.Outcome != nil {
		code = outcomeCode(rec.Outcome)
	}
	if a.json() {
		data, err := cloudevent.EncodeStatus(&cloudevent.Status{
			State: rec.State, Key: k, AskedAt: rec.AskedAt, Deadline: rec.Ask.Deadline, Seq: rec.Seq, Ask: &rec.Ask, Outcome: rec.Outcome, Receipts: rec.Receipts,
		})
		if err != nil {
			return err
		}
		fmt.Fprintln(a.out, string(data))
		return exit(code)
	}
	fmt.Fprintf(a.out, "%s/%s · asked %s ago", k.Session, k.ID, span(time.Since(rec.AskedAt)))
	if rec.Ask.Agent.Name != "" {
		fmt.Fprintf(a.out, " by %s", printable(rec.Ask.Agent.Name))
	}
	fmt.Fprintf(a.out, "\n\n%s\n\n", printable(rec.Ask.Plain()))
	for _, r := range rec.Receipts {
		fmt.Fprintf(a.out, "%s on %s at %s %s\n", r.State, r.Type, r.At.Local().Format("15:04:05"), printable(r.Where))
	}
	if rec.Outcome != nil {
		fmt.Fprintf(a.out, "%s\n%s\n", printable(answerWords(rec.Outcome)), printable(endWords(rec.Outcome)))
	} else {
		fmt.Fprintf(a.out, "pending; ends by itself in %s; answer it with: %s\n", span(time.Until(rec.Ask.Deadline)), a.command("answer", k))
	}
	return exit(code)
}

func (a *app) waitCmd() *cobra.Command {
	var wait string
	cmd := &cobra.Command{
		Use: "wait (ID | SESSION/ID)", Short: "Wait for an ask that was asked before", Long: "Waits for the outcome of an ask, and prints it like \"askbus ask\".\n\n" + exitCodes, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			limit, err := parseWait(wait)
			if err != nil {
				return err
			}
			return a.withAsk(cmd.Context(), args[0], func(b *bus, k ask.Key) error {
				c, err := client.New(b.nc, k.Tenant, k.Session, client.Options{Logger: a.log()})
				if err != nil {
					return err
				}
				defer c.Close() //nolint:errcheck // the connection goes with it
				rec, err := c.Get(cmd.Context(), k.ID)
				if errors.Is(err, ask.ErrNotFound) {
					return fmt.Errorf("no ask %s/%s in tenant %q; see \"askbus list\": %w", k.Session, k.ID, k.Tenant, ask.ErrNotFound)
				}
				if err != nil {
					return err
				}
				if rec.Outcome != nil {
					return a.tellOutcome(rec.Outcome)
				}
				w := waiting{a: a, c: c, k: k, deadline: rec.Ask.Deadline}
				return w.run(cmd.Context(), limit)
			})
		},
	}
	cmd.Flags().StringVar(&wait, "wait", "", "how long to wait (default: until it ends)")
	return cmd
}

func (a *app) listCmd() *cobra.Command {
	var state string
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List who waits for what since when", Args: cobra.NoArgs,
		Long: "Lists asks, the oldest first: of all sessions that the credential may see, unless --session is given.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var want ask.State
			switch state {
			case "pending", "resolved":
				want = ask.State(state)
			case "all":
			default:
				return usage("--state is %q; use pending, resolved or all", state)
			}
			if limit < 1 {
				return usage("--limit is %d; use 1 or more", limit)
			}
			b, err := a.dial()
			if err != nil {
				return err
			}
			defer b.nc.Close()
			records, err := a.records(cmd.Context(), b, a.session, "", want)
			if err != nil {
				return err
			}
			var items []ask.Record
			more := false
			for rec, err := range records {
				if err != nil {
					return err
				}
				if len(items) >= limit {
					more = true
					break
				}
				items = append(items, rec)
			}
			return a.tellList(items, more)
		},
	}
	cmd.Flags().StringVar(&state, "state", "pending", "pending, resolved or all")
	cmd.Flags().IntVar(&limit, "limit", 200, "the most asks to list")
	return cmd
}

func (a *app) tellList(items []ask.Record, more bool) error {
	if a.json() {
		list := make([]cloudevent.ListItem, len(items))
		for i := range items {
			list[i].Record = items[i]
		}
		data, err := cloudevent.EncodePage(list, "")
		if err != nil {
			return err
		}
		fmt.Fprintln(a.out, string(data))
	} else {
		a.tellTable(items)
	}
	if more {
		a.say("there are more; raise --limit, or narrow with --session")
	}
	return nil
}

func (a *app) tellTable(items []ask.Record) {
	if len(items) == 0 {
		a.say("nothing is waiting")
		return
	}
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "ASK\tWAITING\tSTATE\tWHO ASKS\tQUESTION")
	for i := range items {
		rec := &items[i]
		state, age := "pending", span(time.Since(rec.AskedAt))
		if rec.Outcome != nil {
			state, age = string(rec.Outcome.Status), span(rec.Outcome.Waited)
		}
		who := rec.Ask.Agent.Name
		if who == "" {
			who = "-"
		}
		fmt.Fprintf(w, "%s/%s\t%s\t%s\t%s\t%s\n", rec.Ask.Session, rec.Ask.ID, age, state, line(who, 24), line(rec.Ask.Heading(), 60))
	}
	_ = w.Flush()
}

// line is s on one line, not longer than most.
func line(s string, most int) string {
	r := []rune(strings.Join(strings.Fields(printable(s)), " "))
	if len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return string(r)
}

func (a *app) withdrawCmd() *cobra.Command {
	var reason string
	var all bool
	cmd := &cobra.Command{
		Use: "withdraw (ID | SESSION/ID | --all --session S)", Short: "Take an ask back", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case all && (a.session == "" || len(args) > 0):
				return usage("--all goes with --session, and without an ID")
			case !all && len(args) == 0:
				return usage("name an ask, or give --all --session S")
			case all:
				return a.withdrawAll(cmd.Context(), reason)
			}
			return a.withAsk(cmd.Context(), args[0], func(b *bus, k ask.Key) error {
				o, err := a.withdraw(cmd.Context(), b, k, reason)
				if err != nil {
					return err
				}
				return a.accepted(&o)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the people who saw the question")
	cmd.Flags().BoolVar(&all, "all", false, "every pending ask of --session")
	return cmd
}

func (a *app) withdraw(ctx context.Context, b *bus, k ask.Key, reason string) (ask.Outcome, error) {
	c, err := client.New(b.nc, k.Tenant, k.Session, client.Options{Logger: a.log()})
	if err != nil {
		return ask.Outcome{}, err
	}
	return c.Withdraw(ctx, k.ID, reason)
}

func (a *app) withdrawAll(ctx context.Context, reason string) error {
	b, err := a.dial()
	if err != nil {
		return err
	}
	defer b.nc.Close()
	pending, err := a.records(ctx, b, a.session, "", ask.StatePending)
	if err != nil {
		return err
	}
	done := []json.RawMessage{}
	for rec, err := range pending {
		if err != nil {
			return err
		}
		o, err := a.withdraw(ctx, b, rec.Ask.Key(), reason)
		if errors.Is(err, ask.ErrResolved) {
			continue // ended meanwhile
		}
		if err != nil {
			return err
		}
		data, err := cloudevent.EncodeOutcome(&o, nil)
		if err != nil {
			return err
		}
		done = append(done, data)
	}
	if a.json() {
		data, err := json.Marshal(map[string]any{"withdrawn": done})
		if err != nil {
			return err
		}
		fmt.Fprintln(a.out, string(data))
	}
	a.say("%d withdrawn", len(done))
	return nil
}

// accepted prints the outcome that a command brought about: the exit code is 0.
func (a *app) accepted(o *ask.Outcome) error {
	if err := a.tellOutcome(o); exitCode(err) == exitFailure {
		return err
	}
	return nil
}

func (a *app) abortCmd() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "abort (ID | SESSION/ID)", Short: "End an ask in the operator's name", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withAsk(cmd.Context(), args[0], func(b *bus, k ask.Key) error {
				o, err := abort(cmd.Context(), b, subject.Abort(k), k, reason)
				if err != nil {
					return err
				}
				return a.accepted(&o)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why")
	return cmd
}
