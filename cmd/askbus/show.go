package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/askbus/askbus/internal/present"
	"github.com/askbus/askbus/internal/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

func (a *app) getCmd() *cobra.Command {
	return &cobra.Command{
		Use: "get (ID | SESSION/ID)", Short: "Show an ask: its state, outcome and receipts", Long: "Shows an ask.\n\n" + exitCodes, Args: cobra.ExactArgs(1),
		Example: "  askbus get deploy-42", ValidArgsFunction: a.completeAsks(""),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withAsk(cmd.Context(), args[0], func(b *bus, k ask.Key) error {
				rec, err := a.record(cmd.Context(), b, k)
				if err != nil {
					return err
				}
				return a.tellRecord(b, k, &rec)
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
	defer b.close()
	k, err := a.find(ctx, b, ref)
	if err != nil {
		return err
	}
	return do(b, k)
}

func (a *app) tellRecord(b *bus, k ask.Key, rec *ask.Record) error {
	code := exitPending
	if rec.Outcome != nil {
		code = outcomeCode(rec.Outcome)
	}
	if a.json() {
		data, err := wire.EncodeStatus(&wire.StatusReply{
			State: rec.State, Key: k, AskedAt: rec.AskedAt, Deadline: rec.Ask.Deadline, Life: rec.Life, Seq: rec.Seq, Ask: &rec.Ask, Outcome: rec.Outcome, Receipts: rec.Receipts,
		})
		if err != nil {
			return err
		}
		a.printJSON(data)
		return exit(code)
	}
	by, err := a.me(b)
	if err != nil {
		return err
	}
	card := a.card(rec, by)
	fmt.Fprintf(a.out, "%s/%s\n\n%s\n", k.Session, k.ID, card.Text())
	if card.May.Answer {
		fmt.Fprintf(a.out, "Answer it with: %s\n", a.command("answer", k))
	}
	return exit(code)
}

func (a *app) waitCmd() *cobra.Command {
	var wait string
	cmd := &cobra.Command{
		Use: "wait (ID | SESSION/ID)", Short: "Wait for an earlier ask", Long: "Waits for the outcome of an ask, and prints it like \"askbus ask\".\n\n" + exitCodes, Args: cobra.ExactArgs(1),
		Example: "  askbus wait build-42/deploy --wait 10m", ValidArgsFunction: a.completeAsks(ask.StatePending),
		RunE: func(cmd *cobra.Command, args []string) error {
			limit, err := parseWait(wait)
			if err != nil {
				return err
			}
			return a.withAsk(cmd.Context(), args[0], func(b *bus, k ask.Key) error {
				asks, err := b.session(k.Tenant, k.Session)
				if err != nil {
					return err
				}
				rec, err := asks.Get(cmd.Context(), k.ID)
				if errors.Is(err, ask.ErrNotFound) {
					return a.noAsk(k)
				}
				if err != nil {
					return err
				}
				if rec.Outcome != nil {
					return a.tellOutcome(rec.Outcome)
				}
				w := waiting{a: a, asks: asks, k: k, deadline: rec.Ask.Deadline, heading: present.Heading(&rec.Ask)}
				if at, declared := rec.Deadline(); declared {
					w.ends = at
				}
				return w.run(cmd.Context(), limit)
			})
		},
	}
	cmd.Flags().StringVar(&wait, "wait", "", "how long to wait (default: until it ends)")
	return cmd
}

// line returns s on one line of at most so many characters.
func line(s string, most int) string {
	return ask.Clip(ask.CleanLine(s), most)
}

func (a *app) withdrawCmd() *cobra.Command {
	var reason string
	var all bool
	cmd := &cobra.Command{
		Use: "withdraw (ID | SESSION/ID | --all --session S)", Short: "Withdraw an ask", Args: cobra.MaximumNArgs(1),
		Example: `  askbus withdraw deploy-42 --reason "the build failed"
  askbus withdraw --all --session build-42`,
		ValidArgsFunction: a.completeAsks(ask.StatePending),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case all && (a.session == "" || len(args) > 0):
				return usage("--all needs --session and takes no ID")
			case !all && len(args) == 0:
				return usage("name an ask, or give --all --session S")
			case all:
				return a.withdrawAll(cmd.Context(), reason)
			}
			return a.withAsk(cmd.Context(), args[0], func(b *bus, k ask.Key) error {
				asks, err := b.session(k.Tenant, k.Session)
				if err != nil {
					return err
				}
				o, err := asks.Withdraw(cmd.Context(), k.ID, reason)
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

func (a *app) withdrawAll(ctx context.Context, reason string) error {
	b, err := a.dial()
	if err != nil {
		return err
	}
	defer b.close()
	pending, err := a.records(ctx, b, a.session, "", ask.StatePending)
	if err != nil {
		return err
	}
	done := []json.RawMessage{}
	for rec, err := range pending {
		if err != nil {
			return err
		}
		asks, err := b.session(rec.Ask.Tenant, rec.Ask.Session)
		if err != nil {
			return err
		}
		o, err := asks.Withdraw(ctx, rec.Ask.ID, reason)
		if errors.Is(err, ask.ErrResolved) {
			continue // already ended
		}
		if err != nil {
			return err
		}
		data, err := wire.EncodeOutcome(&o, nil)
		if err != nil {
			return err
		}
		done = append(done, data)
	}
	if a.json() {
		if err := a.tellJSON(map[string]any{"withdrawn": done}); err != nil {
			return err
		}
	}
	a.say("%d withdrawn", len(done))
	return nil
}

// accepted prints the outcome that a command caused: the exit code is 0.
func (a *app) accepted(o *ask.Outcome) error {
	if err := a.tellOutcome(o); exitCode(err) == exitFailure {
		return err
	}
	return nil
}

func (a *app) abortCmd() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "abort (ID | SESSION/ID)", Short: "End an ask as the operator", Args: cobra.ExactArgs(1),
		Example: `  askbus abort build-42/deploy --reason "the cluster is closed tonight"`, ValidArgsFunction: a.completeAsks(ask.StatePending),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withAsk(cmd.Context(), args[0], func(_ *bus, k ask.Key) error {
				op, err := a.dialOperator()
				if err != nil {
					return err
				}
				defer op.close()
				o, err := op.asks.Session(k.Tenant, k.Session).Abort(cmd.Context(), k.ID, reason)
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
