package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/server/storecheck"
	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
)

// ledgerSetCmd changes the settings on which all brokers agree.
func ledgerSetCmd(a *cli.App) *cobra.Command {
	var change ledger.Settings
	var url, creds, auditBytes, auditFull, maxStore string
	var auditRetention time.Duration
	cmd := &cobra.Command{
		Use: "set [--retention …] [--margin …] [--replicas …] [--max-store …] [--audit-…]", Short: "Show or change the settings on which all brokers agree", Args: cobra.NoArgs,
		Long: `Changes settings that are stored in the ledger, because all brokers must agree on them: a
broker with other values does not start. Without a flag it shows them. Brokers read
them at start: stop them all before. Only --replicas can change while they run:
it returns when every copy is current; start brokers with the new number from then on. The
audit gets as many, unless a single server made it: then it keeps one copy. --replicas, --retention
and --margin also restore what somebody changed of the streams with other tools.

--audit-retention, --audit-bytes and --audit-full apply to the audit and take effect at
once; lower values remove the oldest records. --max-store gives uploaded files and shared
state the shares that a new ledger with servers of this --max-store would give them: raise it
there first. Quotas of files follow when brokers start.

The server of --dir must be stopped. A ledger on a nats-server of your own is reached with
--admin-url and --admin-creds, which "askbus auth maintenance" makes; give it to no broker.`,
		Example: `  askbus ledger set --retention 2160h
  askbus ledger set --replicas 3 --admin-url nats://bus:4222 --admin-creds admin.creds`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			audited, err := AuditSettings(auditRetention, auditBytes, cmp.Or(auditFull, "drop")) // before anything is changed
			if err != nil {
				return err
			}
			var budget int64
			if maxStore != "" {
				if budget, err = file.ParseSize(maxStore); err == nil {
					err = natsd.CheckBudget(budget)
				}
				if err != nil {
					return cli.Usage("--max-store: %w", err)
				}
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), time.Minute)
			defer cancel()
			nc, end, err := ledgerAdmin(a, url, creds)
			if err != nil {
				return err
			}
			defer end()
			before, after, err := ledger.Set(ctx, nc, change)
			if err != nil && before == after {
				return err
			}
			var kept ledger.AuditSettings
			var copies int
			var shares ledger.Shares
			if err == nil {
				kept, err = ledger.SetAudit(ctx, nc, audited, auditFull != "")
			}
			if err == nil {
				copies, err = ledger.SetAuditCopies(ctx, nc, change.Replicas)
			}
			if errors.Is(err, ledger.ErrAuditCopies) {
				a.Note("askbus: warning: %v", err)
				err = nil
			}
			if err == nil {
				shares, err = ledger.SetShares(ctx, nc, budget)
			}
			if note := changedSettings(&before, &after, cmd); note != "" {
				if err != nil {
					note += "; not to the end: " + err.Error()
				}
				maintained(cmd.Context(), a, url == "", storecheck.Maintenance{Note: note})
			}
			if err != nil {
				return err
			}
			return printSettings(a, before, after, kept, copies, shares)
		},
	}
	LedgerSettingFlags(cmd, &change.Retention, &change.Margin)
	ReplicasFlag(cmd, &change.Replicas)
	cmd.Flags().StringVar(&maxStore, "max-store", "", "that of the servers, from which files and shared state get their shares, such as 20GiB")
	cmd.Flags().DurationVar(&auditRetention, "audit-retention", 0, "how long the audit keeps its records")
	cmd.Flags().StringVar(&auditBytes, "audit-bytes", "", "bytes of the ledger's budget that the audit may use, such as 2GiB")
	cmd.Flags().StringVar(&auditFull, "audit-full", "", "what a full audit does: drop the oldest records, or refuse new ones")
	cli.Fixed(cmd, "audit-full", "drop\tthe oldest records are dropped", "refuse\tnothing more is recorded")
	cmd.Flags().StringVar(&url, "admin-url", "", "a nats-server of your own, instead of the store in --dir")
	cmd.Flags().StringVar(&creds, "admin-creds", "", "its credential that may update streams: a NATS .creds file")
	return cmd
}

// setting is a setting of a ledger, before a change and after it.
type setting struct{ name, was, is string }

func compared(before, after *ledger.Settings) []setting {
	return []setting{
		{"partitions", strconv.Itoa(before.Partitions), strconv.Itoa(after.Partitions)},
		{"replicas", strconv.Itoa(before.Replicas), strconv.Itoa(after.Replicas)},
		{"retention", before.Retention.String(), after.Retention.String()},
		{"margin", before.Margin.String(), after.Margin.String()},
	}
}

// changedSettings describes a change of settings for the audit; empty if
// nothing changed.
func changedSettings(before, after *ledger.Settings, cmd *cobra.Command) string {
	var words []string
	for _, v := range compared(before, after) {
		if v.was != v.is {
			words = append(words, v.name+" "+v.is+" (was "+v.was+")")
		}
	}
	for _, name := range []string{"max-store", "audit-retention", "audit-bytes", "audit-full"} {
		if f := cmd.Flags().Lookup(name); f.Changed {
			words = append(words, name+" "+f.Value.String())
		}
	}
	return strings.Join(words, ", ")
}

// ledgerAdmin connects with the right to update streams: to an external server, or to the store of
// this directory, which it then starts.
func ledgerAdmin(a *cli.App, url, creds string) (nc *nats.Conn, end func(), err error) {
	if (url == "") != (creds == "") {
		return nil, nil, cli.Usage("give --admin-url and --admin-creds together, or neither for the store in --dir")
	}
	if url != "" {
		cred, err := cli.ReadCreds(creds) // a .creds file, or JSON
		if err != nil {
			return nil, nil, cli.Usage("--admin-creds: %w", err)
		}
		cred.URL = url
		nc, err := a.Connect(cred)
		if err != nil {
			return nil, nil, err
		}
		return nc, nc.Close, nil
	}
	if err := storecheck.Exists(a.Dir); err != nil { // starting the server would make one
		return nil, nil, err
	}
	return ledgerStore(a, rights.RoleMaintenance)
}

// ledgerStore starts the store of this directory and connects to it with a role of the ledger's
// account. The --max-store of its server is not known here, so it has no limit: a backup of any size
// can be restored.
func ledgerStore(a *cli.App, role string) (nc *nats.Conn, end func(), err error) {
	srv, err := natsd.Start(natsd.Options{Dir: a.Dir, Addr: "127.0.0.1:0", MaxStore: -1, Logger: a.Logger()})
	if err != nil {
		return nil, nil, err
	}
	cred, err := srv.Credential(rights.Role{Name: role})
	if err == nil {
		nc, err = connection.Connect(cred, a.Logger(), nats.InProcessServer(srv))
	}
	if err != nil {
		srv.Close()
		return nil, nil, fmt.Errorf("connect to the store: %w", err)
	}
	return nc, func() { nc.Close(); srv.Close() }, nil
}

func printSettings(a *cli.App, before, after ledger.Settings, audited ledger.AuditSettings, copies int, shares ledger.Shares) error {
	full := map[bool]string{false: "drop", true: "refuse"}[audited.Refuse]
	if a.JSON() {
		return a.TellJSON(map[string]any{
			"protocol": wire.Protocol(), "partitions": after.Partitions, "replicas": after.Replicas, "retention": after.Retention.String(), "margin": after.Margin.String(),
			"audit_retention": audited.Retention.String(), "audit_bytes": audited.Bytes, "audit_full": full, "audit_replicas": copies,
			"file_bytes": shares.Files, "state_bytes": shares.State,
		})
	}
	for _, row := range compared(&before, &after) {
		was := ""
		if row.was != row.is {
			was = "  (was " + row.was + ")"
		}
		fmt.Fprintf(a.Stdout, "%-12s%s%s\n", row.name, row.is, was)
	}
	if audited.Bytes != 0 {
		fmt.Fprintf(a.Stdout, "%-12s%s, %d bytes; when full: %s; copies: %d\n", "audit", audited.Retention, audited.Bytes, full, copies)
	}
	fmt.Fprintf(a.Stdout, "%-12s%d bytes; shared state: %d\n", "files", shares.Files, shares.State)
	return nil
}

// AuditSettings parses the audit's flags or settings.
func AuditSettings(retention time.Duration, bytes, full string) (s ledger.AuditSettings, err error) {
	s = ledger.AuditSettings{Retention: retention, Refuse: full == "refuse"}
	if full != "drop" && full != "refuse" {
		return s, cli.Usage("invalid --audit-full %q: use drop or refuse", full)
	}
	if bytes != "" {
		if s.Bytes, err = file.ParseSize(bytes); err != nil {
			return s, cli.Usage("--audit-bytes: %w", err)
		}
	}
	if err := s.Check(); err != nil {
		return s, cli.Usage("%w", err)
	}
	return s, nil
}

// PartitionsFlag adds the flag with the number of partitions.
func PartitionsFlag(cmd *cobra.Command, into *int) {
	countFlag(cmd, into, "partitions", ledger.MaxPartitions, "`number` of partitions, fixed when the ledger is created; default: the ledger's, 4 for a new one")
}

// ReplicasFlag adds the flag with the number of replicas.
func ReplicasFlag(cmd *cobra.Command, into *int) {
	countFlag(cmd, into, "replicas", 5, "`number` of copies of each stream; default: the ledger's, for a new one 3 in a cluster, else 1")
}

// countFlag is a flag for a number from 1 on: an explicit 0 is an error, not the default.
func countFlag(cmd *cobra.Command, into *int, name string, most int, usage string) {
	cmd.Flags().Func(name, usage, func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > most {
			return fmt.Errorf("use 1 to %d, or omit it for the ledger's own", most)
		}
		*into = n
		return nil
	})
}

// LedgerSettingFlags adds the flags of the settings that the ledger stores.
func LedgerSettingFlags(cmd *cobra.Command, retention, margin *time.Duration) {
	for _, f := range []struct {
		into        *time.Duration
		name, usage string
	}{
		{retention, "retention", "`duration` for which an outcome is kept after its ask's deadline; default: the ledger's, 720h for a new one"},
		{margin, "margin", "`duration` by which an outcome outlives its timer, at least 5s; default: the ledger's, 24h for a new one"},
	} {
		cmd.Flags().Func(f.name, f.usage, func(s string) error {
			d, err := time.ParseDuration(s)
			if err != nil || d <= 0 {
				return errors.New(`use a duration such as "720h", or omit it for the ledger's own`)
			}
			*f.into = d
			return nil
		})
	}
}
