package agent

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/spf13/cobra"
)

// GetCmd is "askbus get".
func GetCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "get (ID | SESSION/ID)", Short: "Show an ask: its state, outcome and receipts", Long: "Shows an ask.\n\n" + cli.ExitCodes, Args: cobra.ExactArgs(1),
		Example: "  askbus get deploy-42", ValidArgsFunction: a.CompleteAsks(""),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithAsk(cmd.Context(), args[0], func(b *cli.Bus, k ask.Key) error {
				rec, err := a.Record(cmd.Context(), b, k)
				if err != nil {
					return err
				}
				return a.TellRecord(b, k, &rec)
			})
		},
	}
}

// WaitCmd is "askbus wait".
func WaitCmd(a *cli.App) *cobra.Command {
	var wait string
	cmd := &cobra.Command{
		Use: "wait (ID | SESSION/ID)", Short: "Wait for an earlier ask", Long: "Waits for the outcome of an ask, and prints it like \"askbus ask\".\n\n" + cli.ExitCodes, Args: cobra.ExactArgs(1),
		Example: "  askbus wait build-42/deploy --wait 10m", ValidArgsFunction: a.CompleteAsks(ask.StatePending),
		RunE: func(cmd *cobra.Command, args []string) error {
			limit, err := parseWait(wait)
			if err != nil {
				return err
			}
			return a.WithAsk(cmd.Context(), args[0], func(b *cli.Bus, k ask.Key) error {
				asks, err := b.Session(k.Tenant, k.Session)
				if err != nil {
					return err
				}
				rec, err := asks.Get(cmd.Context(), k.ID)
				if errors.Is(err, ask.ErrNotFound) {
					return a.NoAsk(k)
				}
				if err != nil {
					return err
				}
				if rec.Outcome != nil {
					return a.TellOutcome(rec.Outcome, ask.By{})
				}
				w := waiting{a: a, asks: asks, asked: asks.Asked(k.ID), k: k, deadline: rec.Ask.Deadline, heading: card.Heading(&rec.Ask)}
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

// WithdrawCmd is "askbus withdraw".
func WithdrawCmd(a *cli.App) *cobra.Command {
	var reason string
	var all bool
	cmd := &cobra.Command{
		Use: "withdraw (ID | SESSION/ID | --all --session S)", Short: "Withdraw an ask", Args: cobra.MaximumNArgs(1),
		Example: `  askbus withdraw deploy-42 --reason "the build failed"
  askbus withdraw --all --session build-42`,
		ValidArgsFunction: a.CompleteAsks(ask.StatePending),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case all && (a.Session == "" || len(args) > 0):
				return cli.Usage("--all needs --session and takes no ID")
			case !all && len(args) == 0:
				return cli.Usage("name an ask, or give --all --session S")
			case all:
				return withdrawAll(cmd.Context(), a, reason)
			}
			return a.WithAsk(cmd.Context(), args[0], func(b *cli.Bus, k ask.Key) error {
				asks, err := b.Session(k.Tenant, k.Session)
				if err != nil {
					return err
				}
				o, err := asks.Withdraw(cmd.Context(), k.ID, reason)
				if err != nil {
					return err
				}
				return a.Accepted(&o, ask.By{})
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the people who saw the question")
	cmd.Flags().BoolVar(&all, "all", false, "every pending ask of --session")
	return cmd
}

func withdrawAll(ctx context.Context, a *cli.App, reason string) error {
	b, err := a.Dial()
	if err != nil {
		return err
	}
	defer b.Close()
	pending, err := a.Records(ctx, b, a.Session, "", ask.StatePending)
	if err != nil {
		return err
	}
	done := []json.RawMessage{}
	for rec, err := range pending {
		if err != nil {
			return err
		}
		asks, err := b.Session(rec.Ask.Tenant, rec.Ask.Session)
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
	if a.JSON() {
		if err := a.TellJSON(map[string]any{"withdrawn": done}); err != nil {
			return err
		}
	}
	a.Note("%d withdrawn", len(done))
	return nil
}
