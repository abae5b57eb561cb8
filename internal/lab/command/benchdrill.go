package command

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/cli/operator"
	"github.com/askbus/askbus/internal/lab/bench"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
)

// errDrill ends a drill in which a promise broke: its report says which.
var errDrill = errors.New("something was lost or doubled; see above")

// benchDrillCmd is the load of hack/kube-drill and hack/compose-drill.
func benchDrillCmd(a *cli.App) *cobra.Command {
	o := bench.DrillOptions{Rate: 50, For: time.Minute, Sessions: 20, SlackTenant: "chat"}
	var w config.Web
	var inbox, caFile string
	cmd := &cobra.Command{
		Use: "drill", Short: "Ask a deployment at a steady pace, answer in its inbox and in a fake Slack, and account for every ask", Args: cobra.NoArgs, Hidden: true,
		Long: `Asks at a steady pace, whatever happens to the deployment meanwhile, and has people answer in its
web inbox and, with --slack-addr, in a fake Slack that the Slack surface of --slack-tenant is
pointed at (ASKBUS_SLACK_URL=http://HOST/api/, tokens xoxb-fake and xapp-fake, channel C0ASKS).
It prints what was lost, what was doubled and the longest time in which nothing went through, and
exits non-zero when a promise broke. The keys in --dir make a credential for each agent.`,
		Example: "  askbus-lab bench drill --dir keys --nats-url nats://bus:4280 --inbox-url http://bus:8420 --rate 50 --for 5m",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.NATS.URL == "" || inbox == "" || o.Plain > 0 && o.Gateway == "" || o.Rate <= 0 || o.For <= 0 {
				return cli.Usage("give --nats-url and --inbox-url, with --plain --gateway-url, and a --rate and --for of more than 0")
			}
			keys, err := operator.ExistingKeys(a.Dir)
			if err != nil {
				return err
			}
			cookieKey, err := a.CookieKey(w)
			if err != nil {
				return err
			}
			pages, err := web.PagesAt(cookieKey, inbox)
			if err != nil {
				return err
			}
			var trust *tls.Config
			if caFile != "" {
				pem, err := os.ReadFile(caFile)
				if err != nil {
					return cli.Usage("--inbox-ca-file: %w", err)
				}
				trust = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
				trust.RootCAs.AppendCertsFromPEM(pem)
			}
			o.NewTransport = func() *http.Transport {
				transport := httpserver.LocalTransport()
				transport.MaxIdleConnsPerHost, transport.TLSClientConfig = 64, trust.Clone()
				return transport
			}
			o.Inbox, o.Tenant, o.Logger = o.NewTransport(), a.Tenant, tortureLog(a)
			o.Progress = func(what string) { a.Note("askbus: %s", what) }
			o.Link = func(person int) (string, error) {
				return web.LoginLink(cookieKey, pages, ask.By{Principal: "os:person" + strconv.Itoa(person), Proof: ask.ProofOS}, time.Now())
			}
			o.Dial = func(r rights.Role) (*nats.Conn, error) {
				c, err := keys.Asserting(a.NATS.URL, r, assertion.Anything())
				if err != nil {
					return nil, err
				}
				return connection.Connect(connection.Credential(a.Trust(client.Credential(c))), o.Logger)
			}
			o.Token = func(ctx context.Context) (string, error) {
				nc, err := o.Dial(rights.Role{Name: rights.RoleOperator})
				if err != nil {
					return "", err
				}
				defer nc.Close()
				_, secret, err := token.NewIssuer(nc).Issue(ctx, token.Token{Role: token.Agent, Tenant: a.Tenant, Sessions: []string{token.Every}})
				return secret, err
			}
			d, err := bench.MeasureDrill(cmd.Context(), o)
			if err != nil {
				return err
			}
			if err := printReport(a, &d); err != nil || !d.Failed() {
				return err
			}
			return errDrill
		},
	}
	cli.Load(&w, cmd)
	f := cmd.Flags()
	f.Float64Var(&o.Rate, "rate", o.Rate, "asks a second")
	f.DurationVar(&o.For, "for", o.For, "how long it asks")
	f.IntVar(&o.Sessions, "sessions", o.Sessions, "agents, each with a connection of its own")
	f.StringVar(&inbox, "inbox-url", "", "web inbox in which people answer")
	f.IntVar(&o.Plain, "plain", 0, "clients of the gateway, and as many of the inbox, that send each request once")
	f.StringVar(&o.Gateway, "gateway-url", "", "the gateway, for --plain")
	f.StringVar(&caFile, "inbox-ca-file", "", "CAs of the certificates of inbox and gateway (default: the system's)")
	f.StringVar(&o.SlackAddr, "slack-addr", "", "address at which the fake Slack listens (default: there is none)")
	f.StringVar(&o.SlackHost, "slack-host", "", "host:port by which the Slack surface reaches it (default: --slack-addr)")
	f.StringVar(&o.SlackTenant, "slack-tenant", o.SlackTenant, "tenant of the asks that are answered there")
	f.DurationVar(&o.SlackEvery, "slack-every", 2*time.Second, "time between two of them: Slack takes one message a second in a channel")
	return cmd
}
