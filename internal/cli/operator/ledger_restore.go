package operator

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
)

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
	if nc, err = a.Connect(c.Ledger); err != nil {
		return nil, nil, err
	}
	return nc, nc.Close, nil
}

// openBackup opens a backup, of a place the newest; of standard input and of an object store it makes a temporary file,
// because it is read several times.
func openBackup(ctx context.Context, path string) (f *os.File, end func(), name string, err error) {
	fill := func(w io.Writer) error {
		_, err := io.Copy(w, os.Stdin)
		return err
	}
	if name = path; path != "-" {
		p, base, err := placeOf(path)
		if err == nil && base == "" {
			base, err = newest(ctx, p, path)
		}
		if err != nil {
			return nil, nil, "", err
		}
		if folder, ok := p.(inFolder); ok {
			if f, err = os.Open(filepath.Join(string(folder), base)); err != nil {
				return nil, nil, "", cli.Usage("%w", err)
			}
			return f, func() { _ = f.Close() }, f.Name(), nil
		}
		name = path[:strings.LastIndex(path, "/")+1] + base
		fill = func(w io.Writer) error { return p.get(ctx, base, w) }
	}
	if f, err = os.CreateTemp("", ".askbus-restore-*"); err != nil { // mode 0600
		return nil, nil, "", err
	}
	end = func() {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}
	if err = fill(f); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		end()
		return nil, nil, "", fmt.Errorf("read the backup: %w", err)
	}
	return f, end, name, nil
}

// ledgerRestoreCmd fills an empty ledger.
func ledgerRestoreCmd(a *cli.App) *cobra.Command {
	var check bool
	var opts ledger.Options
	cmd := &cobra.Command{
		Use: "restore FILE|DIR|s3://BUCKET/KEY|-", Short: "Fill an empty ledger from a backup, even with other partitions or replicas", Args: cobra.ExactArgs(1),
		Long: `Writes a backup into an empty ledger and then compares it with the file: every
ask exists, pending or with the same outcome. Asks that fell due meanwhile expire at once.
Posting surfaces continue where they were when the backup was made, and do not post twice.

It fills the store in --dir, whose server must be stopped; for another server give
--nats-url and a broker's credential in --creds or ASKBUS_CREDS. No broker may run.

--partitions and --replicas may differ from the backup's (by default they are the same; a
store in --dir has one replica), so this also moves a ledger from the embedded server to a
cluster (--replicas 3), or to more partitions. --check only reads the file; - is standard input.
Of a directory, or a bucket's prefix that ends in a slash, it takes the newest backup.`,
		Example: `  askbus ledger restore --check bus.backup
  askbus ledger restore bus.backup --dir ./fresh
  askbus ledger restore s3://backups/askbus/ --dir ./fresh
  askbus ledger restore bus.backup --replicas 3 --nats-url nats://bus:4222 --creds broker.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			warnClear(a, args[0])
			f, end, name, err := openBackup(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer end()
			back, err := ledger.ReadBackup(f)
			if err != nil {
				return err
			}
			if check {
				return printBackup(a, back.Summary, "in "+name+", made "+back.Head.At.Format(time.RFC3339))
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
			unrecorded(a, ledger.Record(cmd.Context(), nc, &audit.Record{
				ID: cloudevent.NewID(), Time: time.Now().UTC(), Action: audit.LedgerChanged, Actor: &audit.Actor{Role: rights.RoleOperator}, Object: &audit.Object{Kind: "ledger", Note: note},
			}))
			if done.Expired > 0 {
				a.Note("askbus: %d outcomes and entries were past their retention and are omitted", done.Expired)
			}
			return printBackup(a, done.Summary, "restored from "+name+" and compared")
		},
	}
	PartitionsFlag(cmd, &opts.Partitions)
	ReplicasFlag(cmd, &opts.Replicas)
	cmd.Flags().BoolVar(&check, "check", false, "only read the file and summarize it")
	return cmd
}
