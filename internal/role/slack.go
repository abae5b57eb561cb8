package role

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/slack"
	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/process/daemon"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
)

// slackSettings are the settings of "askbus slack".
type slackSettings struct {
	config.Listen
	config.Slack
}

// SlackCmd is "askbus slack".
func SlackCmd(a *cli.App) *cobra.Command {
	var s slackSettings
	cmd := &cobra.Command{
		Use: "slack", Short: "Post asks to Slack, where people answer them with a click", Args: cobra.NoArgs,
		Example: "  ASKBUS_SLACK_BOT_TOKEN_FILE=bot ASKBUS_SLACK_APP_TOKEN_FILE=app askbus slack --channel C0123456789",
		Long: `Posts a card for each ask to a channel or a person, edits it to the outcome wherever
the ask was answered, and accepts clicks, forms and replies in threads.

With an app-level token it receives clicks over Socket Mode: no public address, at most
three replicas. With a signing secret it listens on --http-addr for Slack's requests to
/slack/interactions, /slack/events and /slack/commands: any number of replicas.

With --tenant it serves that tenant only. Tokens come from the environment or from files
that it names, never from flags; see "askbus settings" and docs/slack.md.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runSlack(cmd.Context(), a, s, cmd.Flags().Changed("tenant"))
		},
	}
	cli.Load(&s, cmd)
	f := cmd.PersistentFlags()
	f.StringVar(&s.Slack.Slack.Routes, "routes", s.Slack.Slack.Routes, "routing file")
	f.StringVar(&s.Slack.Slack.Channel, "channel", s.Slack.Slack.Channel, "id of the channel for all asks, without a routing file")
	cmd.Flags().StringVar(&s.Slack.Slack.HTTPAddr, "http-addr", s.Slack.Slack.HTTPAddr, "address for Slack's requests, with a signing secret")
	opsFlag(cmd, &s.OpsAddr)
	cmd.Flags().IntVar(&s.Slack.Slack.Replicas, "replicas", s.Slack.Slack.Replicas, "number of processes that may share the bot token")
	tlsFlags(&s.Listen, cmd)
	cmd.AddCommand(slackRouteCmd(a), slackDoctorCmd(a, &s))
	return cmd
}

// slackOptions reads the secrets and builds the surface's options.
func slackOptions(a *cli.App, s *config.Slack) (slack.Options, error) {
	c := &s.Slack
	o := slack.Options{
		Options:  chat.Options{RouteFile: c.Routes, Logger: a.Logger(), Link: slackLink(a, c.Inbox)},
		Replicas: c.Replicas, Connections: c.Connections, EmailPrefix: c.EmailPrefix, Strangers: c.Strangers, APIURL: c.URL,
	}
	o.Routes.Default.Channel = c.Channel
	for _, secret := range []struct {
		into       *string
		name       string
		text, file string
	}{
		{&o.BotToken, "BOT_TOKEN", c.BotToken, c.BotTokenFile},
		{&o.AppToken, "APP_TOKEN", c.AppToken, c.AppTokenFile},
		{&o.SigningSecret, "SIGNING_SECRET", c.SigningSecret, c.SigningSecretFile},
	} {
		text, err := cli.SecretOf("ASKBUS_SLACK_"+secret.name, secret.text, secret.file)
		if err != nil {
			return o, &cli.ExitError{Code: cli.ExitUsage, Err: err}
		}
		*secret.into = text
	}
	if o.AppToken != "" && c.Replicas > slack.MaxReplicas {
		return o, cli.Usage("invalid ASKBUS_SLACK_REPLICAS %d: Socket Mode allows at most %d; use HTTP (a signing secret instead of the app-level token) for more", c.Replicas, slack.MaxReplicas)
	}
	if err := o.Check(); err != nil {
		return o, &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	return o, nil
}

// slackLink returns a function for the URL at which an ask can be answered in a browser. Other
// machines cannot reach a loopback address, so it uses one only if it was configured.
func slackLink(a *cli.App, inbox string) func(ask.Key) string {
	if inbox == "" {
		inbox = a.HTTP.URL
	}
	if inbox == "" {
		before, err := cli.ReadContext(a.Dir)
		if err == nil {
			inbox = before.HTTPURL
		}
		if u, err := url.Parse(inbox); err != nil || u.Hostname() == "localhost" || strings.HasPrefix(u.Hostname(), "127.") || u.Hostname() == "::1" {
			return nil
		}
	}
	base := strings.TrimRight(inbox, "/")
	return func(k ask.Key) string { return base + "/ask/" + k.String() }
}

func slackCred(a *cli.App, opts *slack.Options, tenant string) (client.Credential, error) {
	if a.Creds == "" {
		role := rights.Role{Name: rights.RoleResponder, Type: slack.Type, Tenant: tenant}
		may := role.Assertions()
		if opts.EmailPrefix != "" {
			may.Proven = append(may.Proven, ask.ProofSlack+"-*="+opts.EmailPrefix+"*")
		}
		if opts.RouteFile != "" { // it may map members to any principal, and may change
			may.Proven = append(may.Proven, ask.ProofSlack+"-*=*")
		}
		return a.LocalAsserting(role, may)
	}
	return a.GivenCred()
}

func runSlack(ctx context.Context, a *cli.App, s slackSettings, oneTenant bool) error {
	opts, err := slackOptions(a, &s.Slack)
	if err != nil {
		return err
	}
	tenant := ""
	if oneTenant {
		tenant = a.Tenant
	}
	r := NewRunning(ctx, a)
	defer r.Close()
	app, nc, err := r.slack(opts, tenant)
	if err != nil {
		return err
	}
	// Posting and receiving stop together; then Drain finishes the work in progress.
	defer app.Drain()
	r.parts = append(r.parts, daemon.Part{Name: "slack", Run: func(ctx context.Context) error {
		return app.Serve(ctx, responder.ServeOptions{WorkOptions: responder.WorkOptions{Concurrency: 64, Grace: 10 * time.Second}})
	}}, daemon.Part{Name: "token", Run: func(ctx context.Context) error {
		err := app.Keep(ctx)
		<-ctx.Done()
		return err
	}})
	where := "over Socket Mode"
	if opts.AppToken != "" {
		r.parts = append(r.parts, daemon.Part{Name: "socket mode", Run: app.Listen})
	}
	if opts.SigningSecret != "" {
		if err := r.secure(&s.Listen); err != nil {
			return err
		}
		ln, err := r.listen(ctx, "slack", s.Slack.Slack.HTTPAddr, "")
		if err != nil {
			return err
		}
		r.parts = append(r.parts, daemon.HTTP("http", ln, app.Handler(), httpserver.Limits{}, 5*time.Second))
		where = "at " + httpURL(ln)
	}
	r.metrics.Text(app.WriteMetrics)
	if err := r.Ops(ctx, "slack", s.OpsAddr, func() error { return errors.Join(natsReady(nc), app.Ready()) }); err != nil {
		return err
	}
	return r.Run(ctx, func() { a.Note("askbus: connected to Slack, clicks %s, ops at %s", where, r.After.Ops["slack"]) })
}

// slack makes the surface on its own connection.
func (r *Process) slack(opts slack.Options, tenant string) (*slack.App, *nats.Conn, error) {
	cred, err := slackCred(r.a, &opts, tenant)
	if err != nil {
		return nil, nil, err
	}
	role, _ := rights.ParseUser(cred.Name) // unknown roles stay empty
	if role.Tenant != "" {
		tenant = role.Tenant
	}
	nc, err := r.connect(cred)
	if err != nil {
		return nil, nil, err
	}
	resp, err := responder.New(nc, slack.Type, responder.Options{Tenant: tenant, Logger: r.Log, TracerProvider: r.tracing})
	if err != nil {
		return nil, nil, err
	}
	if role.Session == "" { // others may not report
		opts.Refused = slackRefusals(r.reports(nc, "slack", audit.Surface(slack.Type, role.Tenant)))
	}
	app, err := slack.New(resp, opts)
	if err != nil {
		return nil, nil, &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	return app, nc, nil
}

func slackRouteCmd(a *cli.App) *cobra.Command {
	var explain string
	cmd := &cobra.Command{
		Use: "route FILE [--explain ask.json]", Short: "Check a routing file, and show where an ask would go", Args: cobra.ExactArgs(1),
		Example: `  askbus slack route routes.yaml
  askbus slack route routes.yaml --explain ask.json`,
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := os.ReadFile(args[0])
			if err != nil {
				return &cli.ExitError{Code: cli.ExitUsage, Err: err}
			}
			routes, err := slack.ParseRoutes(data)
			if err != nil {
				return cli.Usage("%s: %w", args[0], err)
			}
			if explain == "" {
				a.Note("askbus: %s is valid: %d routes and the default", args[0], len(routes.Rules))
				return nil
			}
			asked, err := readAsk(a, explain)
			if err != nil {
				return err
			}
			d := routes.Decide(&asked)
			if a.JSON() {
				return a.TellJSON(d)
			}
			to := "channel " + d.Channel
			if d.Person != "" {
				to = "direct message to " + d.Person
			}
			fmt.Fprintf(a.Stdout, "%s, by %s\n", to, d.Why)
			if len(d.Mention) > 0 {
				fmt.Fprintf(a.Stdout, "notifies %s\n", strings.Join(d.Mention, ", "))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&explain, "explain", "", "file with an ask (JSON); - is standard input")
	return cmd
}

// readAsk reads the ask for --explain. An ask has no tenant and session in its JSON; this file may
// name them, in addition to the settings.
func readAsk(a *cli.App, file string) (ask.Ask, error) {
	data, err := cli.ReadFile(file, os.Stdin, ask.MaxEventBytes)
	if err != nil {
		return ask.Ask{}, cli.Usage("--explain: %w", err)
	}
	var asked ask.Ask
	where := struct {
		Tenant  string `json:"tenant"`
		Session string `json:"session"`
	}{a.Tenant, a.Session}
	if err := errors.Join(json.Unmarshal(data, &asked), json.Unmarshal(data, &where)); err != nil {
		return ask.Ask{}, cli.Usage("--explain: %s is not an ask: %w", file, err)
	}
	asked.Tenant, asked.Session = where.Tenant, where.Session
	return asked, nil
}

func slackDoctorCmd(a *cli.App, s *slackSettings) *cobra.Command {
	var manifest string
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check token, scopes, channels, groups, manifest and connections", Args: cobra.NoArgs,
		Example: "  askbus slack doctor --routes routes.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts, err := slackOptions(a, &s.Slack)
			if err != nil {
				return err
			}
			app, err := slack.New(nil, opts)
			if err != nil {
				return &cli.ExitError{Code: cli.ExitUsage, Err: err}
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), time.Minute)
			defer cancel()
			return printFindings(a, app.Doctor(ctx, manifest))
		},
	}
	cmd.Flags().StringVar(&manifest, "manifest", "", "file with the app's manifest, as Slack's app page shows it (YAML or JSON)")
	return cmd
}
