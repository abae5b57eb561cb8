package role

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/auditlog"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/process/daemon"
	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/internal/process/webhook"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"
)

// auditLogSettings are the settings of "askbus audit log".
type auditLogSettings struct {
	config.Listen
	config.AuditLog
}

// AuditLogCmd is "askbus audit log".
func AuditLogCmd(a *cli.App) *cobra.Command {
	var s auditLogSettings
	var begin, rejoin, once bool
	cmd := &cobra.Command{
		Use: "log DIR", Short: "Keep a signed log of the audit, which proves that nothing was changed or removed", Args: cobra.ExactArgs(1),
		Long: `Adds the hash of each record of the audit to a Merkle tree in DIR, and signs its size and root every
minute: DIR/checkpoint, and the tiles beside it, can be published (C2SP tlog-tiles). They hold no text
of the records. "askbus audit verify" checks the audit against them.

Run it with an auditor's credential, on a machine that the administrators of the bus's servers
cannot reach. One process extends a log; a second one ends at once. --begin makes the log; without
it an empty DIR is refused, so that a lost volume does not begin another log unnoticed.`,
		Example: `  askbus audit key bus.example.com/audit audit.key > audit.pub
  ASKBUS_CREDS=auditor.json askbus audit log /srv/audit-log --key audit.key --begin --publish https://witness.example.com/checkpoint`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runAuditLog(cmd.Context(), a, &s, args[0], begin, rejoin, once)
		},
	}
	cli.Load(&s, cmd)
	f := cmd.Flags()
	f.StringVar(&s.Audit.LogKey, "key", s.Audit.LogKey, "file with the signing key, from \"askbus audit key\"")
	f.DurationVar(&s.Audit.LogEvery, "every", s.Audit.LogEvery, "how often it takes new records and signs a checkpoint")
	f.StringSliceVar(&s.Audit.LogPublish, "publish", s.Audit.LogPublish, "files, and http or https URLs, to which each checkpoint goes as well")
	f.BoolVar(&begin, "begin", false, "begin a log in an empty directory")
	f.BoolVar(&rejoin, "rejoin", false, "continue although the audit lost its end or was restored, and say so in the log")
	f.BoolVar(&once, "once", false, "end when the log is current")
	opsFlag(cmd, &s.OpsAddr)
	return cmd
}

func runAuditLog(ctx context.Context, a *cli.App, s *auditLogSettings, dir string, begin, rejoin, once bool) error {
	if s.Audit.LogKey == "" {
		return cli.Usage("missing --key: name the file with the signing key, from \"askbus audit key\"")
	}
	if s.Audit.LogEvery <= 0 {
		return cli.Usage("invalid --every %s: use more than 0", s.Audit.LogEvery)
	}
	secret, err := cli.SecretOf("ASKBUS_AUDIT_LOG_KEY", "", s.Audit.LogKey)
	if err != nil {
		return cli.Usage("--key: %w", err)
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		return cli.Usage("--key: %s holds no signing key of a log; \"askbus audit key\" makes one", s.Audit.LogKey)
	}
	for _, to := range s.Audit.LogPublish {
		if strings.Contains(to, "://") && webhook.CheckURL(to) != nil {
			return cli.Usage("--publish: %w", webhook.CheckURL(to))
		}
	}
	r := NewRunning(ctx, a)
	defer r.Close()
	nc, _, err := r.as(rights.Role{Name: rights.RoleAuditor})
	if err != nil {
		return err
	}
	l, err := auditlog.Open(dir, begin)
	switch {
	case errors.Is(err, auditlog.ErrNoLog):
		return cli.Usage("%w; begin one with --begin, or find the volume that holds it", err)
	case errors.Is(err, auditlog.ErrOpen):
		return fmt.Errorf("%w: leave it to that one", err)
	case err != nil:
		return err
	}
	defer l.Close()
	read := func(ctx context.Context, from uint64, most int) ([]audit.Raw, error) {
		return audit.ReadRaw(ctx, nc, from, most)
	}
	if rejoin {
		at, err := l.RejoinAt(ctx, read)
		if err != nil {
			return err
		}
		a.Note("askbus: the log continues with record %d, and says that it was rejoined there", at)
	}
	var current, size atomic.Int64
	o := auditlog.Options{
		Read: read, Signer: signer, Every: s.Audit.LogEvery, Logger: r.Log, Publish: publisher(s.Audit.LogPublish),
		Current: func(n int64) {
			size.Store(n)
			current.Store(time.Now().Unix())
		},
	}
	if once {
		o.Settle = -1
		return l.Once(ctx, o)
	}
	r.metrics.AuditLog(size.Load, current.Load)
	r.parts = append(r.parts, daemon.Part{Name: "audit log", Run: func(ctx context.Context) error { return l.Follow(ctx, o) }})
	return r.serve(ctx, "audit-log", s.OpsAddr, connected(nc), "keeping the log of the audit in "+dir+" as "+signer.Name())
}

// publishLimit bounds one publication.
const publishLimit = 15 * time.Second

// publisher returns a function that publishes a checkpoint to files and URLs, unless it was published there.
func publisher(to []string) func(context.Context, []byte) error {
	client := &http.Client{Timeout: publishLimit, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	last := make([][]byte, len(to))
	return func(ctx context.Context, checkpoint []byte) error {
		var failed error
		for i, place := range to {
			if bytes.Equal(last[i], checkpoint) {
				continue
			}
			var err error
			if strings.Contains(place, "://") {
				err = post(ctx, client, place, checkpoint)
			} else {
				err = file.Replace(place, checkpoint, 0o644)
			}
			if err == nil {
				last[i] = checkpoint
			}
			failed = errors.Join(failed, err)
		}
		return failed
	}
}

// post posts a checkpoint. The error does not name the URL, which may hold a secret.
func post(ctx context.Context, c *http.Client, to string, checkpoint []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(checkpoint))
	if err != nil {
		return errors.New("invalid URL")
	}
	req.Header.Set("Content-Type", "text/plain; charset=utf-8")
	resp, err := c.Do(req)
	if err != nil {
		if os.IsTimeout(err) {
			return fmt.Errorf("%s: nothing came within %s", req.URL.Host, publishLimit)
		}
		return fmt.Errorf("%s cannot be reached", req.URL.Host)
	}
	defer resp.Body.Close() //nolint:errcheck // read as far as it matters
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s answered %d", req.URL.Host, resp.StatusCode)
	}
	return nil
}
