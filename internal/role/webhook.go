package role

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/webhooks"
	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/process/daemon"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
)

// webhookSettings are the settings of "askbus webhook".
type webhookSettings struct {
	config.Listen
	config.Webhook
}

// WebhookCmd is "askbus webhook".
func WebhookCmd(a *cli.App) *cobra.Command {
	var s webhookSettings
	cmd := &cobra.Command{
		Use: "webhook", Short: "Call agents back and send asks to programs, as signed webhooks; any number of replicas", Args: cobra.NoArgs,
		Example: "  askbus webhook --webhooks webhooks.yaml",
		Long: `Sends the outcome of an ask that names a callback to the address that a file registers under
that name, and every ask of a tenant to the programs that the file names, which may answer at the
address that comes with it. "askbus up --webhooks" does the same in its own process.

Requests are signed by Standard Webhooks 1.0.0 and repeated for three days; see docs/webhooks.md
for the file. Answers come to --http-addr, which a proxy must make reachable as
ASKBUS_WEBHOOK_URL; callbacks alone need no address.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runWebhook(cmd.Context(), a, s) },
	}
	cli.Load(&s, cmd)
	webhookFlag(cmd, &s.Webhook)
	cmd.Flags().StringVar(&s.Webhook.Webhook.HTTPAddr, "http-addr", s.Webhook.Webhook.HTTPAddr, "address of the answers of programs")
	opsFlag(cmd, &s.OpsAddr)
	tlsFlags(&s.Listen, cmd)
	return cmd
}

func webhookFlag(cmd *cobra.Command, s *config.Webhook) {
	cmd.Flags().StringVar(&s.Webhook.File, "webhooks", s.Webhook.File, "file (YAML) of the callbacks that agents may name and of the programs that get asks; read again when it changes")
}

func runWebhook(ctx context.Context, a *cli.App, s webhookSettings) error {
	c := &s.Webhook.Webhook
	if c.File == "" {
		return cli.Usage("no file: give --webhooks, or set ASKBUS_WEBHOOK_FILE; docs/webhooks.md has an example")
	}
	r := NewRunning(ctx, a)
	defer r.Close()
	if err := r.secure(&s.Listen); err != nil {
		return err
	}
	base := c.URL
	if base == "" { // of another process: only if receivers elsewhere can reach it
		if link := askLink(chatInbox(a, "", "")); link != nil {
			base = r.before.HTTPURL
		}
	}
	nc, answers, err := r.webhooks(s.Webhook, base)
	if err != nil {
		return err
	}
	if c.HTTPAddr != "" {
		ln, err := r.listen(ctx, "webhook", c.HTTPAddr, "")
		if err != nil {
			return err
		}
		r.parts = append(r.parts, daemon.HTTP("http", ln, answers, httpserver.Limits{}, 5*time.Second))
		a.Note("askbus: answers of programs at %s", httpURL(ln))
	}
	return r.serve(ctx, "webhook", s.OpsAddr, connected(nc), "sending webhooks")
}

// webhooks makes the surface on its own connection, and returns the handler of its answer addresses.
func (r *Process) webhooks(s config.Webhook, base string) (*nats.Conn, http.Handler, error) {
	nc, of, err := r.as(rights.Role{Name: rights.RoleResponder, Type: webhooks.Type})
	if err != nil {
		return nil, nil, err
	}
	to := r.reports(nc, webhooks.Type, audit.Surface(webhooks.Type, of.Tenant))
	app, err := webhooks.New(nc, webhooks.Options{
		File: s.Webhook.File, Tenant: of.Tenant, BaseURL: strings.TrimRight(base, "/"), Logger: r.Log, TracerProvider: r.tracing,
		Failed: func(f webhooks.Failure) {
			to.Report(audit.Report{
				Action: audit.WebhookFailed, Tenant: f.Ask.Tenant, Session: f.Ask.Session,
				Object: &audit.Object{Kind: "webhook", ID: f.Receiver, Note: "ask " + f.Ask.ID + ": " + f.Why},
			})
		},
	})
	if err != nil {
		return nil, nil, &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	r.parts = append(r.parts, daemon.Part{Name: webhooks.Type, Run: app.Run})
	return nc, app.Handler(), nil
}
