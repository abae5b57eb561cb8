package operator

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/auditlog"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"
)

// auditKeyCmd is "askbus audit key".
func auditKeyCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "key NAME FILE", Short: "Make the key that signs the log of the audit", Args: cobra.ExactArgs(2),
		Long: `Writes a new signing key to FILE, which only you can read, and prints the public key with which
everybody can check the log. NAME says whose log it is, such as bus.example.com/audit; it is in
every checkpoint. Keep FILE away from the machines of the bus: who has it can make another log.`,
		Example: "  askbus audit key bus.example.com/audit audit.key > audit.pub",
		RunE: func(_ *cobra.Command, args []string) error {
			secret, public, err := note.GenerateKey(rand.Reader, args[0])
			if err != nil {
				return cli.Usage("invalid NAME %q: use one such as bus.example.com/audit, without spaces and +", args[0])
			}
			f, err := os.OpenFile(args[1], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return cli.Usage("%w", err)
			}
			_, err = fmt.Fprintln(f, secret)
			if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
				return err
			}
			fmt.Fprintln(a.Stdout, public)
			return nil
		},
	}
}

// maxKeyFile bounds a file with a public key.
const maxKeyFile = 4 << 10

// publicKey reads the public key of a log, or of a file.
func publicKey(text string) (note.Verifier, error) {
	if text == "" {
		return nil, cli.Usage("missing --key: give the public key that \"askbus audit key\" printed, or a file with it")
	}
	if !strings.Contains(text, "+") {
		data, err := cli.ReadFile(text, os.Stdin, maxKeyFile)
		if err != nil {
			return nil, cli.Usage("--key: %w", err)
		}
		text = string(data)
	}
	by, err := note.NewVerifier(strings.TrimSpace(text))
	if err != nil {
		return nil, cli.Usage("--key: this is not the public key of a log, which looks like bus.example.com/audit+1234abcd+AZ…")
	}
	return by, nil
}

const keyHelp = "public key of the log, or a file with it"

// maxEvidence bounds a file with evidence.
const maxEvidence = 256 << 20

// auditVerifyCmd is "askbus audit verify".
func auditVerifyCmd(a *cli.App) *cobra.Command {
	var key, evidence string
	var older []string
	var kept time.Duration
	cmd := &cobra.Command{
		Use: "verify [DIR]", Short: "Check that no record of the audit was changed or removed", Args: cobra.MaximumNArgs(1),
		Long: `Checks the log in DIR ("askbus audit log"): the signature, every hash of the tree, and each record
that the audit holds against its leaf. With --checkpoint it also checks that the log has grown out of
a checkpoint that was published before, and with --kept that nothing younger is gone from the audit.

With --evidence it checks one file from "askbus audit evidence" instead, with the public key and nothing
else: no bus, no log. Exit code 1: something was changed.`,
		Example: `  askbus audit verify /srv/audit-log --key audit.pub --checkpoint june.txt --kept 8760h
  askbus audit verify --evidence deploy-42.json --key audit.pub`,
		RunE: func(cmd *cobra.Command, args []string) error {
			by, err := publicKey(key)
			if err != nil {
				return err
			}
			if (evidence != "") == (len(args) == 1) {
				return cli.Usage("name the log's directory, or a file with --evidence")
			}
			if evidence != "" {
				return checkEvidence(a, evidence, by)
			}
			var signed [][]byte
			for _, name := range older {
				data, err := cli.ReadFile(name, os.Stdin, maxKeyFile)
				if err != nil {
					return cli.Usage("--checkpoint: %w", err)
				}
				signed = append(signed, data)
			}
			b, err := dialWide(a)
			if err != nil {
				return err
			}
			defer b.Close()
			r, err := auditlog.Verify(cmd.Context(), args[0], by, func(ctx context.Context, from uint64, most int) ([]audit.Raw, error) {
				return audit.ReadRaw(ctx, b.NC, from, most)
			}, signed, kept)
			if err != nil {
				return err
			}
			return printVerified(a, &r)
		},
	}
	cmd.Flags().StringVar(&key, "key", "", keyHelp)
	cmd.Flags().StringVar(&evidence, "evidence", "", "file to check, from \"askbus audit evidence\"; - is standard input")
	cmd.Flags().StringSliceVar(&older, "checkpoint", nil, "files with checkpoints that were published before")
	cmd.Flags().DurationVar(&kept, "kept", 0, "how long the audit keeps records: younger ones must be there")
	return cmd
}

// dialWide connects as an auditor of every tenant, or an operator: the log is of all records.
func dialWide(a *cli.App) (*cli.Bus, error) {
	b, err := dialAuditor(a)
	if err == nil && b.Role.Tenant != "" {
		b.Close()
		return nil, cli.Usage("the log is of every tenant's records, and this credential is limited to %s; use one of \"askbus auth auditor\" without --tenant. A file with evidence needs none", b.Role.Tenant)
	}
	return b, err
}

// printVerified prints a report. The error says that something is wrong.
func printVerified(a *cli.App, r *auditlog.Report) error {
	if a.JSON() {
		if err := a.TellJSON(r); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.Stdout, "the log has %d leaves, root %s\n%d records are as they were", r.Size, r.Root, r.Same)
		if !r.Oldest.IsZero() {
			fmt.Fprintf(a.Stdout, ", the oldest of %s", r.Oldest.Local().Format("2006-01-02 15:04:05"))
		}
		fmt.Fprintln(a.Stdout)
		for _, v := range []struct {
			n    int64
			what string
		}{
			{r.Dropped, "older records are gone from the audit, by its retention unless somebody removed them (--kept tells); their hashes are in the log"},
			{r.Before, "records are of before the log began, and not proven"},
			{r.Newer, "records are newer than the checkpoint"},
		} {
			if v.n > 0 {
				fmt.Fprintf(a.Stdout, "%d %s\n", v.n, v.what)
			}
		}
		for _, run := range r.Breaks {
			fmt.Fprintf(a.Stdout, "%s before record %d, at %s\n", map[string]string{
				auditlog.Gap: "records were dropped before the log had them", auditlog.Rejoined: "an operator rejoined the log, because the audit had lost its end or was restored,",
			}[run.Why], run.Seq, run.At.Local().Format("2006-01-02 15:04:05"))
		}
		for _, fault := range r.Faults {
			fmt.Fprintln(a.Stdout, "WRONG: "+fault)
		}
	}
	if r.Faulty > 0 {
		return fmt.Errorf("the audit is not what the log says: %d faults", r.Faulty)
	}
	return nil
}

func checkEvidence(a *cli.App, name string, by note.Verifier) error {
	data, err := cli.ReadFile(name, os.Stdin, maxEvidence)
	if err != nil {
		return cli.Usage("--evidence: %w", err)
	}
	e, err := auditlog.ParseEvidence(data)
	if err == nil {
		err = e.Check(by)
	}
	if err != nil {
		return fmt.Errorf("it proves nothing: %w", err)
	}
	shown := 0
	for i := range e.Records {
		shown += len(e.Records[i].Fields)
	}
	if a.JSON() {
		return a.TellJSON(map[string]any{"records": len(e.Records), "values": shown, "key": by.Name()})
	}
	fmt.Fprintf(a.Stdout, "%d records with %d values are as %s signed them\n", len(e.Records), shown, by.Name())
	return nil
}

// maxProven bounds the records of one file of evidence.
const maxProven = 2000

// hidesAsk reports whether a part of the ask is to be left out.
func hidesAsk(hide []string) bool {
	return slices.ContainsFunc(hide, func(h string) bool { return h == "/ask" || strings.HasPrefix(h, "/ask/") })
}

// auditEvidenceCmd is "askbus audit evidence".
func auditEvidenceCmd(a *cli.App) *cobra.Command {
	var key string
	var hide []string
	cmd := &cobra.Command{
		Use: "evidence DIR [SESSION/]ASK", Short: "Print what proves the records of one ask, for somebody without the bus", Args: cobra.ExactArgs(2),
		Long: `Prints a file with every record about an ask: the question, receipts, votes, the outcome, each with
its place in the log of DIR. "askbus audit verify --evidence" checks it with the public key alone.

Each value can be checked by itself. --hide leaves out those at a path and below it, such as
/ask/questions, /answers, /by or "header ce-authid", which removes personal text and keeps the proof
of the rest. A path at which no record has a value is an error. With a part of the ask its digests are
left out as well: with them, a guess of the hidden text could be confirmed.`,
		Example: "  askbus audit evidence /srv/audit-log build-42/deploy-42 --key audit.pub --hide /ask --hide /on_deadline > deploy-42.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			by, err := publicKey(key)
			if err != nil {
				return err
			}
			k := ask.Key{Tenant: a.Tenant, Session: a.Session, ID: args[1]}
			if session, id, ok := strings.Cut(args[1], "/"); ok {
				k.Session, k.ID = session, id
			}
			b, err := dialWide(a)
			if err != nil {
				return err
			}
			defer b.Close()
			var found []audit.Raw
			for from := uint64(1); ; {
				page, err := audit.ReadRaw(cmd.Context(), b.NC, from, 0)
				if err != nil {
					return err
				}
				for i := range page {
					from = page[i].Seq + 1
					if about := page[i].About(); about.Tenant == k.Tenant && about.ID == k.ID && (k.Session == "" || about.Session == k.Session) {
						found = append(found, page[i])
					}
				}
				if len(found) > maxProven {
					return fmt.Errorf("there are more than %d records about %s", maxProven, args[1])
				}
				if len(page) == 0 {
					break
				}
			}
			if len(found) == 0 {
				return fmt.Errorf("the audit has no record of %s in tenant %s", args[1], k.Tenant)
			}
			hidden := map[string]bool{}
			e, err := auditlog.Prove(args[0], by, found, func(path string) bool {
				hides := false
				for _, h := range hide {
					if path == h || strings.HasPrefix(path, h+"/") {
						hides, hidden[h] = true, true
					}
				}
				return hides || hidesAsk(hide) && (path == "/digest" || path == "header "+cloudevent.HeaderDigest)
			})
			if err != nil {
				return err
			}
			for _, h := range hide {
				if !hidden[h] {
					return cli.Usage("--hide %q: no record of %s has a value there, so nothing would be left out; without --hide this command prints the paths, such as /ask/questions/0/text", h, args[1])
				}
			}
			return a.TellJSON(e)
		},
	}
	cmd.Flags().StringVar(&key, "key", "", keyHelp)
	cmd.Flags().StringSliceVar(&hide, "hide", nil, "paths of values to leave out, with those below")
	return cmd
}
