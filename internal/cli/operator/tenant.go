package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// TenantCmd is "askbus tenant".
func TenantCmd(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "tenant", Short: "Remove a tenant with everything that is stored of it, and list those that are removed",
		Example: "  askbus tenant remove acme\n  askbus tenant remove acme --yes",
	}
	cmd.AddCommand(tenantRemoveCmd(a), tenantListCmd(a), tenantReadmitCmd(a))
	return cmd
}

func tenantRemoveCmd(a *cli.App) *cobra.Command {
	var yes bool
	var grace time.Duration
	cmd := &cobra.Command{
		Use: "remove NAME", Short: "Show what is stored of a tenant, and with --yes delete it", Args: cobra.ExactArgs(1),
		Long: `Shows what is stored of a tenant. With --yes, brokers refuse whatever is new in the tenant, abort
its pending asks, give chats the time to close their cards (--grace), and then delete its
asks, outcomes, votes, files, API tokens and entries of shared state. The records of the
audit stay. Brokers continue if this command is stopped; run it again to wait for them.

From then on the tenant's credentials are refused everything, until
"askbus tenant readmit". They stay valid: revoke them with
"askbus auth revoke --tenant NAME".`,
		Example: "  askbus tenant remove acme\n  askbus tenant remove acme --yes --grace 5m",
		RunE: func(cmd *cobra.Command, args []string) error {
			tenant := args[0]
			b, err := operatorOf(a, tenant, "remove tenants")
			if err != nil {
				return err
			}
			defer b.Close()
			m, err := aboutTenant(cmd.Context(), b, tenant, subject.VerbRemove, wire.Remove{DryRun: !yes, Grace: wire.Duration(grace.Truncate(time.Second))})
			if err != nil {
				return err
			}
			if !yes {
				return printHoldings(a, tenant, &m)
			}
			if m.State == wire.RemovalDone {
				return printHeld(a, tenant, &m, fmt.Sprintf("Tenant %s is already removed, since %s; nothing is left of it. It had:", tenant, minute(m.Since)))
			}
			a.Note("askbus: removing tenant %s: pending asks are aborted (%d), and surfaces have at most %d s to close their cards", tenant, m.Had.Pending, m.Grace)
			if m, err = untilRemoved(cmd.Context(), b, tenant, m); err != nil {
				return fmt.Errorf("%w; the brokers continue: run the same command to wait for them", err)
			}
			return printHeld(a, tenant, &m, fmt.Sprintf("Tenant %s is removed. It had:", tenant))
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "delete it; there is no way back")
	cmd.Flags().DurationVar(&grace, "grace", time.Minute, "how long chats may take to close their cards, at most 1h; shorter if none is open")
	return cmd
}

func tenantReadmitCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "readmit NAME", Short: "Let a removed tenant be used again; what was in it stays deleted", Args: cobra.ExactArgs(1),
		Long: `Lets the name of a removed tenant be used again, with nothing in it. Credentials of the tenant
that were not revoked are served again, also those of its former people and agents: revoke them first, with "askbus auth revoke --tenant NAME".`,
		Example: "  askbus tenant readmit acme",
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := operatorOf(a, args[0], "readmit tenants")
			if err != nil {
				return err
			}
			defer b.Close()
			if _, err := aboutTenant(cmd.Context(), b, args[0], subject.VerbReadmit, struct{}{}); err != nil {
				return err
			}
			a.Note("askbus: tenant %s can be used again", args[0])
			return nil
		},
	}
}

func tenantListCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the tenants that are removed or being removed", Args: cobra.NoArgs,
		Example: "  askbus tenant list",
		RunE: asOperator(a, "see which tenants are removed", func(ctx context.Context, b *cli.Bus, _ []string) error {
			entries, err := state.Open(b.NC, state.Operator(), state.Removed).List(ctx)
			if err != nil {
				return err
			}
			type line struct {
				Tenant string `json:"tenant"`
				wire.Removal
			}
			lines := make([]line, len(entries))
			for i := range entries {
				lines[i].Tenant = entries[i].Key.Name
				lines[i].Removal, _ = wire.DecodeRemoval(entries[i].Value) // one that cannot be read is listed as such
			}
			return cli.TellList(a, lines, "TENANT\tSTATE\tSINCE\tBY", lines, func(l *line) []string {
				return []string{l.Tenant, string(l.State), minute(l.Since), l.Credential}
			})
		}),
	}
}

// operatorOf connects as an operator, for a command about one tenant.
func operatorOf(a *cli.App, tenant, what string) (*cli.Bus, error) {
	if !ask.ValidToken(tenant) {
		return nil, cli.Usage("invalid tenant %q: use 1 to %d of A-Z a-z 0-9 _ -", tenant, ask.MaxToken)
	}
	return operator(a, what)
}

func aboutTenant(ctx context.Context, b *cli.Bus, tenant string, verb subject.Verb, body any) (m wire.Removal, err error) {
	err = connection.JSON(ctx, connection.On(b.NC), string(verb)+" "+tenant, subject.OfTenant(tenant, verb), body, &m)
	return m, err
}

// untilRemoved waits until the brokers have removed a tenant.
func untilRemoved(ctx context.Context, b *cli.Bus, tenant string, m wire.Removal) (wire.Removal, error) {
	bucket := state.Open(b.NC, state.Operator(), state.Removed)
	for m.State != wire.RemovalDone {
		if err := backoff.Sleep(ctx, 500*time.Millisecond); err != nil {
			return m, err
		}
		e, err := bucket.Get(ctx, state.Key{Name: tenant})
		if err == nil {
			err = json.Unmarshal(e.Value, &m)
		}
		if err != nil {
			return m, err
		}
	}
	return m, nil
}

func printHoldings(a *cli.App, tenant string, m *wire.Removal) error {
	if a.JSON() {
		return a.TellJSON(map[string]any{"tenant": tenant, "state": m.State, "had": m.Had})
	}
	switch m.State {
	case wire.RemovalDone:
		fmt.Fprintf(a.Stdout, "Tenant %s was removed on %s.\n", tenant, minute(m.Since))
	case wire.RemovalClosing, wire.RemovalDeleting:
		fmt.Fprintf(a.Stdout, "Tenant %s is being removed since %s.\n", tenant, minute(m.Since))
	case wire.RemovalUnreadable:
		fmt.Fprintf(a.Stdout, "The bus cannot read how far the removal of tenant %s is. Nothing works in it until you remove it again: askbus tenant remove %s --yes\n", tenant, tenant)
	}
	if m.Had.Empty() {
		fmt.Fprintf(a.Stdout, "Nothing is stored of tenant %s.\n", tenant)
	} else {
		fmt.Fprintf(a.Stdout, "Stored of tenant %s:\n", tenant)
		printCounts(a, &m.Had)
	}
	if m.State == "" {
		fmt.Fprintf(a.Stdout, "Nothing was changed. To delete it, and to refuse its credentials from now on: askbus tenant remove %s --yes\n", tenant)
	}
	return nil
}

func printCounts(a *cli.App, h *wire.Holdings) {
	w := tabwriter.NewWriter(a.Stdout, 0, 4, 2, ' ', tabwriter.AlignRight)
	for _, row := range []struct {
		n    int
		what string
	}{
		{h.Pending, "pending asks, with their votes and steps"},
		{h.Ended, "ended asks, with their outcomes"},
		{h.Files, "files"},
		{h.Tokens, "API tokens"},
		{h.Consumers, "consumers of chats that serve only this tenant"},
	} {
		if row.n > 0 {
			fmt.Fprintf(w, "\t%d\t  %s\n", row.n, row.what)
		}
	}
	for _, of := range []struct {
		counts map[string]int
		what   string
	}{{h.Entries, "entries of "}, {h.Kept, "entries, which stay until they expire, of "}} {
		for _, name := range slices.Sorted(maps.Keys(of.counts)) {
			fmt.Fprintf(w, "\t%d\t  %s%s\n", of.counts[name], of.what, name)
		}
	}
	_ = w.Flush()
}

// printHeld prints what a removed tenant had, below a heading.
func printHeld(a *cli.App, tenant string, m *wire.Removal, heading string) error {
	if a.JSON() {
		return a.TellJSON(map[string]any{"tenant": tenant, "state": m.State, "withdrawn": m.Withdrawn, "had": m.Had})
	}
	fmt.Fprintln(a.Stdout, heading)
	printCounts(a, &m.Had)
	fmt.Fprintf(a.Stdout, `Its records in the audit stay, and so do backups. Its credentials are refused, and stay valid: revoke
them with "askbus auth revoke --tenant %s". Remove it also from your own files (policy, approvals,
issuer's rules).
`, tenant)
	return nil
}
