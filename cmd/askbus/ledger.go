package main

import (
	"fmt"
	"strings"

	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// ledgerCmd groups the commands that maintain the ledger.
func (a *app) ledgerCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ledger", Short: "Save, restore, check and repair the ledger, and change its settings", Args: noCommand,
		Example: "  askbus ledger check --dir ./state",
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.ledgerCheckCmd(), a.ledgerRepairCmd(), a.ledgerNewKeyCmd(), a.ledgerSetCmd(), a.ledgerBackupCmd(), a.ledgerRestoreCmd())
	return cmd
}

func (a *app) ledgerCheckCmd() *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "Report damage in the store, and which asks would be lost", Args: cobra.NoArgs,
		Long: `Reads the whole store in --dir, changes nothing, and reports what is damaged or missing:
files, sequences, and asks as tenant/session/id, as far as the rest of the store shows.
The server must be stopped. Exit code 1: something is damaged.`,
		RunE: func(*cobra.Command, []string) error {
			r, err := natsd.Check(a.Dir)
			if err != nil {
				return err
			}
			if err := a.tellReport(r); err != nil || len(r.Damages) == 0 {
				return err
			}
			if !a.json() {
				how := "--accept-loss"
				if r.Cluster {
					how = "--from-peers"
				}
				fmt.Fprintf(a.out, "\nRestore the directory from a backup, or continue without it: askbus ledger repair %s --dir %s\n", how, quote(a.Dir))
			}
			return exit(exitFailure)
		},
	}
}

func (a *app) ledgerRepairCmd() *cobra.Command {
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
				return usage(`give --accept-loss to continue without what is lost, or --from-peers on a node of a cluster; "askbus ledger check" lists what is lost`)
			}
			r, err := natsd.Repair(a.Dir, peers)
			if err != nil {
				return err
			}
			if err := a.tellReport(r); err != nil {
				return err
			}
			if r.Aside != "" && !a.json() {
				fmt.Fprintf(a.out, "\nRepaired. The damaged files are in %s; remove it when it is no longer needed.\n", r.Aside)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&accept, "accept-loss", false, "keep what can be read; the rest is lost")
	cmd.Flags().BoolVar(&peers, "from-peers", false, "in a cluster: let the other nodes replace the damaged streams")
	return cmd
}

func (a *app) ledgerNewKeyCmd() *cobra.Command {
	return &cobra.Command{
		Use: "new-key", Short: "Make new keys for a store that lost its own; invalidates every credential", Args: cobra.NoArgs,
		Long: `Makes new keys for the store in --dir, which has none. Every NATS credential and every
sign-in at the web inbox came from the old ones and becomes invalid; issue new ones with
"askbus auth". Asks, answers and bearer tokens stay. The server must be stopped. In a
cluster copy the directory "auth" of another node instead: all nodes share it.`,
		RunE: func(*cobra.Command, []string) error {
			if err := natsd.NewKey(a.Dir); err != nil {
				return err
			}
			a.noteMaintenance("new keys: every credential is void")
			a.say("askbus: new keys are in %s/auth; issue new credentials with \"askbus auth\"", a.Dir)
			return nil
		},
	}
}

// tellReport prints the damage.
func (a *app) tellReport(r natsd.Report) error {
	if a.json() {
		if r.Damages == nil {
			r.Damages = []natsd.Damage{}
		}
		return a.tellJSON(r)
	}
	if len(r.Damages) == 0 {
		fmt.Fprintf(a.out, "The store in %s is whole.\n", r.Dir)
		return nil
	}
	for _, d := range r.Damages {
		fmt.Fprintln(a.out, ask.CleanLine(d.Words()))
		tellAsks(a, "lost", d.Asks)
		tellAsks(a, "lost, unless they ended and expired shortly before the crash", d.Uncertain)
		if len(d.Asks)+len(d.Uncertain) == 0 {
			fmt.Fprintln(a.out, "  the affected asks are unknown: the server's index does not list them, or there are none")
		}
	}
	return nil
}

func tellAsks(a *app, what string, asks []string) {
	if len(asks) > 0 {
		fmt.Fprintf(a.out, "  %d asks %s:\n    %s\n", len(asks), what, ask.CleanLine(strings.Join(asks, "\n    ")))
	}
}
