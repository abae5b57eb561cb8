package operator

import (
	"fmt"
	"strings"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/storecheck"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// LedgerCmd groups the commands that maintain the ledger.
func LedgerCmd(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "ledger", Short: "Save, restore, check and repair the ledger, and change its settings",
		Example: "  askbus ledger check --dir ./state",
	}
	cmd.AddCommand(ledgerCheckCmd(a), ledgerRepairCmd(a), ledgerNewKeyCmd(a), ledgerSetCmd(a), ledgerBackupCmd(a), ledgerRestoreCmd(a))
	return cmd
}

func ledgerCheckCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "Report damage in the store, and which asks would be lost", Args: cobra.NoArgs,
		Long: `Reads the whole store in --dir, changes nothing, and reports what is damaged or missing:
files, sequences, and asks as tenant/session/id, as far as the rest of the store shows.
The server must be stopped. Exit code 1: something is damaged.`,
		RunE: func(*cobra.Command, []string) error {
			r, err := storecheck.Check(a.Dir)
			if err != nil {
				return err
			}
			if err := printReport(a, r); err != nil || len(r.Damages) == 0 {
				return err
			}
			if !a.JSON() {
				how := "--accept-loss"
				if r.Cluster {
					how = "--from-peers"
				}
				fmt.Fprintf(a.Stdout, "\nRestore the directory from a backup, or continue without it: askbus ledger repair %s --dir %s\n", how, cli.Quote(a.Dir))
			}
			return cli.Exit(cli.ExitFailure)
		},
	}
}

func ledgerRepairCmd(a *cli.App) *cobra.Command {
	var accept, peers bool
	cmd := &cobra.Command{
		Use: "repair (--accept-loss | --from-peers)", Short: "Make a damaged store start again, and keep the damaged files", Args: cobra.NoArgs,
		Long: `Makes the store in --dir start again, and reports what is lost, as "check" does. Damaged
files are kept in a dated directory inside --dir. The server must be stopped.

  --accept-loss  keep every message that can still be read
  --from-peers   on one node of a cluster: move the damaged streams aside; when the node
                 starts again, the other nodes send them back and nothing is lost. One
                 node at a time: wait until it has caught up before the next is stopped.`,
		RunE: func(*cobra.Command, []string) error {
			if accept == peers {
				return cli.Usage(`give --accept-loss to continue without what is lost, or --from-peers on a node of a cluster; "askbus ledger check" lists what is lost`)
			}
			r, err := storecheck.Repair(a.Dir, peers)
			if err != nil {
				return err
			}
			if err := printReport(a, r); err != nil {
				return err
			}
			if r.Aside != "" && !a.JSON() {
				fmt.Fprintf(a.Stdout, "\nRepaired. The damaged files are in %s; remove it when it is no longer needed.\n", r.Aside)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&accept, "accept-loss", false, "keep what can be read; the rest is lost")
	cmd.Flags().BoolVar(&peers, "from-peers", false, "in a cluster: let the other nodes replace the damaged streams")
	return cmd
}

func ledgerNewKeyCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "new-key", Short: "Make new keys for a store that lost its own; invalidates every credential", Args: cobra.NoArgs,
		Long: `Makes new keys for the store in --dir, which has none. Every NATS credential and every
sign-in at the web inbox came from the old ones and becomes invalid; issue new ones with
"askbus auth". Asks, answers and bearer tokens stay. The server must be stopped. In a
cluster copy the directory "auth" of another node instead: all nodes share it.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := natsd.NewKey(a.Dir); err != nil {
				return err
			}
			maintained(cmd.Context(), a, true, storecheck.Maintenance{Note: "new keys: every credential is void"})
			a.Note("askbus: new keys are in %s/auth; issue new credentials with \"askbus auth\"", a.Dir)
			return nil
		},
	}
}

// printReport prints the damage.
func printReport(a *cli.App, r storecheck.Report) error {
	if a.JSON() {
		if r.Damages == nil {
			r.Damages = []storecheck.Damage{}
		}
		return a.TellJSON(r)
	}
	if len(r.Damages) == 0 {
		fmt.Fprintf(a.Stdout, "The store in %s is whole.\n", r.Dir)
		return nil
	}
	for _, d := range r.Damages {
		fmt.Fprintln(a.Stdout, ask.CleanLine(d.Words()))
		printAsks(a, "lost: neither question nor outcome is left", d.Asks)
		printAsks(a, "have lost their stored outcome; those that are not listed above are pending again, or expire at once", d.Outcomes)
		printAsks(a, "have lost votes: they are pending as they were before these, which the audit has; tell their people to vote again", d.Votes)
		printAsks(a, "lost, unless they ended and expired shortly before the crash", d.Uncertain)
		if len(d.Asks)+len(d.Outcomes)+len(d.Votes)+len(d.Uncertain) == 0 && !d.Whole {
			fmt.Fprintln(a.Stdout, "  the affected asks are unknown: the server's index does not list them, or there are none")
		}
	}
	return nil
}

func printAsks(a *cli.App, what string, asks []string) {
	if len(asks) > 0 {
		fmt.Fprintf(a.Stdout, "  %d asks %s:\n    %s\n", len(asks), what, ask.CleanLine(strings.Join(asks, "\n    ")))
	}
}
