package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/server/storecheck"
	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
)

// ledgerBackupCmd saves a ledger while it is in use.
func ledgerBackupCmd(a *cli.App) *cobra.Command {
	var url, creds string
	var keep int
	cmd := &cobra.Command{
		Use: "backup FILE|DIR|s3://BUCKET/KEY|-", Short: "Save the ledger to a file or an object store while everything runs", Args: cobra.ExactArgs(1),
		Long: `Saves every ask, outcome and receipt, the progress of each posting surface, and shared
state (tokens, sign-ins, leases) to FILE, which must not exist yet. Brokers, agents and
surfaces keep running: an ask that was acknowledged before the backup began is in it, as
pending or with its outcome. The file is read again and checked before the command
succeeds. With - it goes to standard output, after it was checked in a temporary file
(TMPDIR), so that it can be encrypted or sent away without lying anywhere.

Into a directory, or a bucket's prefix that ends in a slash, it writes a file named by the
time, and --keep removes all but the newest of these. An object store is reached with
AWS_ENDPOINT_URL_S3 (left out: Amazon's), AWS_REGION, AWS_ACCESS_KEY_ID and
AWS_SECRET_ACCESS_KEY; it checks the file's digest. A file there has at most 5 GiB.

It contains questions and answers, and only its owner can read it. It does not contain keys:
copy the directory "auth" of --dir to a safe place of its own.

It saves the store in --dir, whether its server runs or not. For another server give
--creds with what "askbus auth backup" prints, which can read the ledger and nothing else; or
--admin-url and --admin-creds, which "askbus auth maintenance" makes.`,
		Example: `  askbus ledger backup /backup/askbus-$(date +%F)
  askbus ledger backup /backup --keep 14 --creds backup.json
  askbus ledger backup s3://backups/askbus/ --keep 14 --creds backup.json
  askbus ledger backup - | age -r age1… > bus.backup.age`,
		RunE: func(cmd *cobra.Command, args []string) error {
			to, name, err := backupTo(args[0], keep)
			if err != nil {
				return err
			}
			warnClear(a, args[0])
			nc, end, report, err := backupReader(a, url, creds)
			if err != nil {
				return err
			}
			defer end()
			saved, name, err := saveLedger(cmd.Context(), a, nc, to, name)
			if err != nil {
				return err
			}
			report(cmd.Context(), saved)
			if to == nil {
				a.Note("askbus: %s", summaryText(saved, "written to standard output"))
				return nil
			}
			if keep > 0 {
				removed, err := retain(cmd.Context(), to, keep, name)
				if err != nil {
					return fmt.Errorf("the backup %s was made; older ones were not removed: %w", name, err)
				}
				a.Note("askbus: older backups removed: %d; at most %d stay", removed, keep)
			}
			where := args[0]
			if name != filepath.Base(where) {
				where = strings.TrimSuffix(where, "/") + "/" + name
			}
			return printBackup(a, saved, "saved to "+where)
		},
	}
	cmd.Flags().StringVar(&url, "admin-url", "", "a nats-server of your own, instead of the store in --dir")
	cmd.Flags().StringVar(&creds, "admin-creds", "", "its credential for maintenance: a NATS .creds file")
	cmd.Flags().IntVar(&keep, "keep", 0, "how many backups stay in the directory or below the prefix; 0: all")
	return cmd
}

// backupTo returns where a backup goes; to is nil for standard output, and name empty for one with its time.
func backupTo(path string, keep int) (to place, name string, err error) {
	if keep < 0 {
		return nil, "", cli.Usage("invalid --keep %d: use 1 or more, or 0 for all", keep)
	}
	if path != "-" {
		if to, name, err = placeOf(path); err != nil {
			return nil, "", err
		}
	}
	if keep > 0 && (to == nil || name != "") {
		return nil, "", cli.Usage("--keep needs a directory, or a bucket's prefix that ends in a slash; %s is neither", path)
	}
	return to, name, nil
}

// backupReader connects to the ledger, and returns how its backup is reported to the audit.
func backupReader(a *cli.App, url, creds string) (nc *nats.Conn, end func(), report func(context.Context, ledger.Summary), err error) {
	own, given, err := loadBackupCreds(a)
	if err != nil {
		return nil, nil, nil, err
	}
	if a.Creds != "" && !given && url == "" { // the store of --dir is not meant
		return nil, nil, nil, cli.Usage("--creds: %s does not hold what \"askbus auth backup\" prints", a.Creds)
	}
	if given && url == "" {
		if nc, err = a.Connect(own.Ledger); err != nil {
			return nil, nil, nil, err
		}
		return nc, nc.Close, func(ctx context.Context, s ledger.Summary) { own.report(ctx, a, s) }, nil
	}
	nc, end, err = ledgerReader(a, url, creds)
	return nc, end, func(ctx context.Context, s ledger.Summary) {
		maintained(ctx, a, url == "", storecheck.Maintenance{Saved: true, Note: savedNote(s)})
	}, err
}

func savedNote(s ledger.Summary) string {
	return fmt.Sprintf("a backup of %d pending asks and %d ended ones", s.Pending, s.Ended)
}

func savedReport(s ledger.Summary) audit.Report {
	return audit.Report{Action: audit.LedgerSaved, Object: &audit.Object{Kind: "ledger", Note: savedNote(s)}}
}

// ledgerReader is ledgerAdmin, or a connection to the server of the directory if it runs.
func ledgerReader(a *cli.App, url, creds string) (nc *nats.Conn, end func(), err error) {
	if url != "" || creds != "" {
		return ledgerAdmin(a, url, creds)
	}
	cred, err := a.Local(rights.Role{Name: rights.RoleMaintenance})
	if err == nil {
		nc, err = a.Connect(cred)
		if err == nil {
			return nc, nc.Close, nil
		}
		if !errors.Is(err, nats.ErrNoServers) && !errors.Is(err, syscall.ECONNREFUSED) {
			return nil, nil, err
		}
	}
	return ledgerAdmin(a, "", "")
}

// saveLedger writes a backup to a temporary file, verifies it, and puts it where it belongs, or copies it to standard
// output. It returns its name, which has the time by the servers' clocks unless one is given.
func saveLedger(ctx context.Context, a *cli.App, nc *nats.Conn, to place, name string) (s ledger.Summary, _ string, err error) {
	dir := ""
	if folder, ok := to.(inFolder); ok {
		if dir = string(folder); name != "" {
			if err := folder.free(name); err != nil {
				return s, "", err
			}
		}
	}
	f, err := os.CreateTemp(dir, temporary+"*") // mode 0600
	if err != nil {
		return s, "", fmt.Errorf("write the backup: %w", err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // renamed, or useless
	defer f.Close()           //nolint:errcheck // synced before
	if _, err := ledger.Backup(ctx, nc, f, a.Logger()); err != nil {
		return s, "", err
	}
	back, err := ledger.ReadBackup(f)
	if err != nil {
		return s, "", err
	}
	if name == "" {
		name = back.Head.At.Format(backupName)
	}
	if to == nil {
		if _, err = f.Seek(0, io.SeekStart); err == nil {
			_, err = io.Copy(a.Stdout, f)
		}
	} else {
		err = to.put(ctx, name, f)
	}
	if err != nil {
		return s, "", fmt.Errorf("write the backup: %w", err)
	}
	return back.Summary, name, nil
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
