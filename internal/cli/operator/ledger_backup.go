package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/server/storecheck"
	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
)

// ledgerBackupCmd saves a ledger while it is in use.
func ledgerBackupCmd(a *cli.App) *cobra.Command {
	var url, creds string
	cmd := &cobra.Command{
		Use: "backup FILE|-", Short: "Save the ledger to a file while everything runs", Args: cobra.ExactArgs(1),
		Long: `Saves every ask, outcome and receipt, the progress of each posting surface, and shared
state (tokens, sign-ins, leases) to FILE, which must not exist yet. Brokers, agents and
surfaces keep running: an ask that was acknowledged before the backup began is in it, as
pending or with its outcome. The file is read again and checked before the command
succeeds. With - it goes to standard output, after it was checked in a temporary file
(TMPDIR), so that it can be encrypted or sent away without lying anywhere.

It contains questions and answers, and only its owner can read it. It does not contain keys:
copy the directory "auth" of --dir to a safe place of its own.

It saves the store in --dir, whether its server runs or not; for another server give
--admin-url and --admin-creds, which "askbus auth maintenance" makes.`,
		Example: `  askbus ledger backup /backup/askbus-$(date +%F)
  askbus ledger backup bus.backup --admin-url nats://bus:4222 --admin-creds admin.creds
  askbus ledger backup - | age -r age1… > bus.backup.age`,
		RunE: func(cmd *cobra.Command, args []string) error {
			nc, end, err := ledgerReader(a, url, creds)
			if err != nil {
				return err
			}
			defer end()
			saved, err := saveLedger(cmd.Context(), a, nc, args[0])
			if err != nil {
				return err
			}
			ledgerSaved(cmd.Context(), a, url == "", saved)
			if args[0] == "-" {
				a.Note("askbus: %s", summaryText(saved, "written to standard output"))
				return nil
			}
			return printBackup(a, saved, "saved to "+args[0])
		},
	}
	cmd.Flags().StringVar(&url, "admin-url", "", "a nats-server of your own, instead of the store in --dir")
	cmd.Flags().StringVar(&creds, "admin-creds", "", "its credential for maintenance: a NATS .creds file")
	return cmd
}

// ledgerSaved reports a backup to the audit: through the list of the store in --dir, or as the operator
// of an external server.
func ledgerSaved(ctx context.Context, a *cli.App, own bool, s ledger.Summary) {
	note := fmt.Sprintf("a backup of %d pending asks and %d ended ones", s.Pending, s.Ended)
	if own {
		noteMaintenance(a, storecheck.Maintenance{Saved: true, Note: note})
		return
	}
	reportToAudit(ctx, a, audit.Report{Action: audit.LedgerSaved, Object: &audit.Object{Kind: "ledger", Note: note}})
}

// ledgerReader is ledgerAdmin, or a connection to the server of the directory if it runs.
func ledgerReader(a *cli.App, url, creds string) (nc *nats.Conn, end func(), err error) {
	if url != "" || creds != "" {
		return ledgerAdmin(a, url, creds)
	}
	cred, err := a.Local(rights.Role{Name: rights.RoleMaintenance})
	if err == nil {
		nc, err = connection.Connect(connection.Credential(a.Trust(cred)), a.Logger(), nats.RetryOnFailedConnect(false))
		if err == nil {
			return nc, nc.Close, nil
		}
		if !errors.Is(err, nats.ErrNoServers) && !errors.Is(err, syscall.ECONNREFUSED) {
			return nil, nil, fmt.Errorf("connect to %s: %w", cred.URL, err)
		}
	}
	return ledgerAdmin(a, "", "")
}

// ledgerWriter connects with the rights of a broker's ledger connection: with a credential, else to
// the store of this directory, which it then starts.
func ledgerWriter(a *cli.App) (nc *nats.Conn, end func(), err error) {
	if a.Creds == "" {
		if a.NATS.URL != "" {
			return nil, nil, cli.Usage("give --creds as well: a file with the output of \"askbus auth broker\"")
		}
		return ledgerStore(a, rights.RoleLedger)
	}
	c, err := LoadBrokerCreds(a)
	if err != nil {
		return nil, nil, err
	}
	if nc, err = connection.Connect(connection.Credential(a.Trust(c.Ledger)), a.Logger(), nats.RetryOnFailedConnect(false)); err != nil {
		return nil, nil, fmt.Errorf("connect to %s: %w", c.Ledger.URL, err)
	}
	return nc, nc.Close, nil
}

// saveLedger writes a backup to a temporary file next to its path, verifies it, and renames it; or copies
// it to standard output.
func saveLedger(ctx context.Context, a *cli.App, nc *nats.Conn, path string) (s ledger.Summary, err error) {
	dir := filepath.Dir(path)
	if path == "-" {
		dir = ""
	} else if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return s, errors.Join(cli.Usage("%s already exists; give another name", path), err)
	}
	f, err := os.CreateTemp(dir, ".askbus-"+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return s, fmt.Errorf("write the backup: %w", err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // renamed, or useless
	defer f.Close()           //nolint:errcheck // synced before
	if _, err := ledger.Backup(ctx, nc, f, a.Logger()); err != nil {
		return s, err
	}
	if err := f.Sync(); err != nil {
		return s, fmt.Errorf("write the backup: %w", err)
	}
	back, err := ledger.ReadBackup(f)
	if err != nil {
		return s, err
	}
	if path != "-" {
		return back.Summary, os.Rename(f.Name(), path)
	}
	_, err = f.Seek(0, io.SeekStart)
	if err == nil {
		_, err = io.Copy(a.Stdout, f)
	}
	if err != nil {
		return s, fmt.Errorf("write the backup: %w", err)
	}
	return back.Summary, nil
}

// openBackup opens a backup; of standard input it makes a temporary file, because it is read several
// times.
func openBackup(name string) (f *os.File, end func(), err error) {
	if name != "-" {
		if f, err = os.Open(name); err != nil {
			return nil, nil, cli.Usage("%w", err)
		}
		return f, func() { _ = f.Close() }, nil
	}
	if f, err = os.CreateTemp("", ".askbus-restore-*"); err != nil { // mode 0600
		return nil, nil, err
	}
	end = func() {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}
	if _, err = io.Copy(f, os.Stdin); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		end()
		return nil, nil, fmt.Errorf("read the backup: %w", err)
	}
	return f, end, nil
}

// ledgerRestoreCmd fills an empty ledger.
func ledgerRestoreCmd(a *cli.App) *cobra.Command {
	var check bool
	var opts ledger.Options
	cmd := &cobra.Command{
		Use: "restore FILE|-", Short: "Fill an empty ledger from a backup, even with other partitions or replicas", Args: cobra.ExactArgs(1),
		Long: `Writes a backup into an empty ledger and then compares it with the file: every
ask exists, pending or with the same outcome. Asks that fell due meanwhile expire at once.
Posting surfaces continue where they were when the backup was made, and do not post twice.

It fills the store in --dir, whose server must be stopped; for another server give
--nats-url and a broker's credential in --creds or ASKBUS_CREDS. No broker may run.

--partitions and --replicas may differ from the backup's (by default they are the same; a
store in --dir has one replica), so this also moves a ledger from the embedded server to a
cluster (--replicas 3), or to more partitions. --check only reads the file; - is standard input.`,
		Example: `  askbus ledger restore --check bus.backup
  askbus ledger restore bus.backup --dir ./fresh
  askbus ledger restore bus.backup --replicas 3 --nats-url nats://bus:4222 --creds broker.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f, end, err := openBackup(args[0])
			if err != nil {
				return err
			}
			defer end()
			back, err := ledger.ReadBackup(f)
			if err != nil {
				return err
			}
			if check {
				return printBackup(a, back.Summary, "in "+args[0]+", made "+back.Head.At.Format(time.RFC3339))
			}
			nc, leave, err := ledgerWriter(a)
			if err != nil {
				return err
			}
			defer leave()
			opts.Logger = a.Logger()
			if a.Creds == "" && opts.Replicas == 0 {
				opts.Replicas = 1 // the store of a directory is a single server's, whatever the backup comes from
			}
			done, err := ledger.Restore(cmd.Context(), nc, back, opts)
			if err != nil {
				return err
			}
			note := fmt.Sprintf("restored from a backup of %s: %d pending asks, %d ended ones", back.Head.At.Format(time.RFC3339), done.Pending, done.Ended)
			if err := ledger.Record(cmd.Context(), nc, &audit.Record{
				ID: cloudevent.NewID(), Time: time.Now().UTC(), Action: audit.LedgerChanged, Actor: &audit.Actor{Role: rights.RoleOperator}, Object: &audit.Object{Kind: "ledger", Note: note},
			}); err != nil {
				a.Note("askbus: warning: the audit has no record of this: %v", err)
			}
			if done.Expired > 0 {
				a.Note("askbus: %d outcomes and entries were past their retention and are omitted", done.Expired)
			}
			return printBackup(a, done.Summary, "restored and compared")
		},
	}
	PartitionsFlag(cmd, &opts.Partitions)
	ReplicasFlag(cmd, &opts.Replicas)
	cmd.Flags().BoolVar(&check, "check", false, "only read the file and summarize it")
	return cmd
}

func printBackup(a *cli.App, s ledger.Summary, what string) error {
	if a.JSON() {
		return a.TellJSON(s)
	}
	fmt.Fprintln(a.Stdout, summaryText(s, what))
	return nil
}

func summaryText(s ledger.Summary, what string) string {
	return fmt.Sprintf("%d pending asks, %d ended ones, %d receipts, %d entries of shared state: %s", s.Pending, s.Ended, s.Receipts, s.State, what)
}
