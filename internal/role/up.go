package role

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/internal/answering/webhooks"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/cli/operator"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/process/daemon"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/server/storecheck"
	"github.com/spf13/cobra"
)

// upSettings are the settings of "askbus up".
type upSettings struct {
	config.Listen
	config.Ledger
	config.Web
	config.Push
	config.PagerDuty
	config.Gateway
	config.Webhook
	config.SSH
	config.Types
	config.Issuer
	noOpen bool
	noLink bool
	keyOf  string
}

// UpCmd is "askbus up".
func UpCmd(a *cli.App) *cobra.Command {
	var s upSettings
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start everything in one process: NATS, broker, web inbox and HTTP API",
		Long: `Starts an embedded NATS server with JetStream, the broker, the web inbox and the HTTP
API in one process. All data is in --dir and survives a kill at any moment. It prints a
link to the inbox and a command to try; SIGTERM or Ctrl-C drains and stops.

With --tls it makes a certificate in --dir and prints its SHA-256 fingerprint, which a browser
shows in its warning: compare them, or let a device trust tls-ca.crt of that directory. Commands
with the same --dir trust it. With your own certificate use --tls-cert-file and --tls-key-file.
It refuses addresses that other machines can reach without TLS, except with --insecure.`,
		Example: `  askbus up
  askbus up --dir ./state --http-addr 127.0.0.1:0 --no-open
  askbus up --tls --http-addr 0.0.0.0:8420`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runUp(cmd.Context(), a, s) },
	}
	cli.Load(&s, cmd)
	s.natsFlag(cmd)
	s.httpFlag(cmd)
	opsFlag(cmd, &s.OpsAddr)
	s.ledgerFlags(cmd)
	gatewayFlags(&s.Gateway, cmd)
	sshFlags(&s.SSH, cmd)
	webhookFlag(cmd, &s.Webhook)
	issuerFlags(&s.Issuer, cmd)
	tlsFlags(&s.Listen, cmd)
	clientCAFlag(&s.Listen, cmd)
	cmd.Flags().BoolVar(&s.TLS.Own, "tls", s.TLS.Own, "use TLS with a certificate made in --dir")
	cmd.Flags().StringVar(&s.keyOf, "key-of", "", "directory from which to copy the key, on the same machine")
	cmd.Flags().BoolVar(&s.noOpen, "no-open", false, "do not open the browser")
	cmd.Flags().BoolVar(&s.noLink, "no-link", false, "do not print a sign-in link, because others read the output; does not open the browser")
	return cmd
}

func (s *upSettings) natsFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.NATSAddr, "nats-addr", s.NATSAddr, "NATS address; port 0 picks a free one and keeps it")
	cmd.Flags().StringVar(&s.LeafAddr, "leaf-addr", s.LeafAddr, "address for leaf nodes, NATS servers of other regions (default: none)")
	cmd.Flags().IntVar(&s.NATSMessages, "nats-messages", s.NATSMessages, "messages a second that one credential of a tenant may send to NATS; one that sends more is cut off, and kept out for 10s or longer; -1: no limit")
}

func (s *upSettings) httpFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.HTTPAddr, "http-addr", s.HTTPAddr, "web address; port 0 picks a free one and keeps it")
}

func (s *upSettings) ledgerFlags(cmd *cobra.Command) {
	operator.PartitionsFlag(cmd, &s.Partitions)
	operator.LedgerSettingFlags(cmd, &s.Retention, &s.Margin)
	s.storeFlag(cmd)
	cmd.Flags().DurationVar(&s.AuditRetention, "audit-retention", s.AuditRetention, "how long a new audit keeps records (default 8760h)")
	cmd.Flags().StringVar(&s.AuditBytes, "audit-bytes", s.AuditBytes, "bytes of --max-store for a new audit (default an eighth of it, at most 1GiB)")
	cmd.Flags().StringVar(&s.AuditFull, "audit-full", s.AuditFull, "what a new audit does when it is full: drop the oldest records, or refuse new ones")
	cli.Fixed(cmd, "audit-full", "drop\tthe oldest records are dropped", "refuse\tnothing more is recorded")
	s.policyFlag(cmd)
	s.approvalsFlag(cmd)
	cmd.Flags().StringSliceVar(&s.ResponderTypes, "responder-types", s.ResponderTypes, "responder types whose work is queued from the start, even while they have no replicas")
}

func (s *upSettings) approvalsFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.Approvals, "approvals", s.Approvals, "approvals file (YAML): named policies that say whose votes asks need, and which principals are one person; read again when it changes")
}

func (s *upSettings) policyFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.Policy, "policy", s.Policy, "policy file (YAML): what each tenant and each of its sessions may use; read again when it changes")
}

func (s *upSettings) storeFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.MaxStore, "max-store", s.MaxStore, "bytes on disk, at least 64MiB; new asks are refused at 80 %")
}

func runUp(ctx context.Context, a *cli.App, s upSettings) error {
	r := NewRunning(ctx, a)
	defer r.Close()
	if err := r.secureOwn(ctx, &s); err != nil {
		return err
	}
	r.first = true
	if s.keyOf != "" {
		if err := rights.ShareKey(s.keyOf, a.Dir); err != nil {
			return err
		}
	}
	// Open the listeners first: a taken port must fail before the store starts.
	ln, err := r.listen(ctx, "web", s.HTTPAddr, r.before.HTTPURL)
	if err != nil {
		if storecheck.InUse(a.Dir) {
			return fmt.Errorf("askbus already runs in %s: \"%s\" prints a link to its inbox; a second one needs a --dir of its own, and other addresses (%w)", a.Dir, a.Hint("login"), err)
		}
		return err
	}
	srv, err := r.server(&s, nil) //nolint:contextcheck // it compares clocks until it is closed
	if err != nil {
		_ = ln.Close()
		return err
	}
	creds, err := operator.MakeBrokerCreds(r.credential)
	if err != nil {
		return err
	}
	b, err := r.broker(ctx, creds, s.Ledger, s.ResponderTypes)
	if err != nil {
		return err
	}
	if _, _, err := r.issuer(r.keys, s.Issuer); err != nil {
		return err
	}
	cookieKey, err := a.CookieKey(s.Web)
	if err != nil {
		return err
	}
	if err := r.mountGateway(ctx, ln, s.Gateway, s.Web, &s.Listen); err != nil {
		return err
	}
	if s.Webhook.Webhook.File != "" {
		_, answers, err := r.webhooks(s.Webhook, cmp.Or(s.Webhook.Webhook.URL, r.base(ln)))
		if err != nil {
			return err
		}
		r.mount(webhooks.PathAnswer, answers)
	}
	if _, err := r.inbox(ln, s.Web, s.Push, &s.Listen, cookieKey); err != nil {
		return err
	}
	r.connectedChats(r.base(ln))
	if _, err := r.push(s.Push, cookieKey); err != nil {
		return err
	}
	if pagerDutySet(s.PagerDuty) {
		if _, _, err := r.pagerDuty(s.PagerDuty, r.base(ln)); err != nil {
			return err
		}
	}
	if s.SSHAddr != "" {
		_, at, err := r.ssh(ctx, s.SSH)
		if err != nil {
			return err
		}
		if err := noSSHKeys(a, s.SSH); err != nil {
			a.Note("askbus: warning: nobody can sign in over SSH yet: %v", err)
		}
		a.Note("askbus: inbox over SSH at %s", at)
	}
	if err := r.opsWith(ctx, "up", s.OpsAddr, operator.WithBacklog(b, srv.Healthy, r.metrics.Handler(), a.Pprof)); err != nil {
		return err
	}
	link, err := web.LoginLink(cookieKey, r.pages, cli.LocalUser(s.Groups), time.Now())
	if err != nil {
		return err
	}
	page := cli.SignInPage(a.Dir)
	r.Closes = append(r.Closes, func() { _ = os.Remove(page) }) // usually gone already, or never written
	return r.Run(ctx, func() { greet(ctx, a, r, s, link, page, b.Ready) })
}

// greet prints where everything is and what to try. It opens the link by the file page.
func greet(ctx context.Context, a *cli.App, r *Process, s upSettings, link, page string, ready func() bool) {
	go func() {
		for !ready() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
		try := `askbus ask --question "Which database?" --option "PostgreSQL|already deployed" --option "SQLite|one file"`
		if a.Dir != config.DefaultDir() {
			try += " --dir " + cli.Quote(a.Dir)
		}
		inbox := link + "\n          (this link signs you in once, within 10 minutes; \"askbus login\" makes another)"
		if s.noLink {
			inbox = r.pages + "  (\"askbus login\" makes a link that signs you in)"
		}
		if r.pages != r.After.HTTPURL {
			inbox += "\n          (if your browser does not find this host, use 127.0.0.1 instead)"
		}
		fmt.Fprintf(a.Stdout, `askbus is up.

  inbox   %s
  HTTP    %s/v1/asks  ("askbus token issue" makes a bearer token)
  NATS    %s  ("askbus auth agent" prints a credential)
  ops     %s
  data    %s
%s
Ask something from a second terminal:

  %s

`, inbox, r.After.HTTPURL, r.After.NATSURL, r.After.Ops["up"], a.Dir, certificateLines(a, r, s), try)
		if !s.noOpen && !s.noLink && cli.IsTerminal(a.Stdout) {
			// At the address itself, from which the inbox leads every browser to where it is found.
			to := r.After.HTTPURL + strings.TrimPrefix(link, r.pages)
			if r.before.HTTPURL == "" && r.setup(s.Web) != nil { // a new directory
				to += "&to=" + web.SetupPath
			}
			a.OpenSecret(ctx, page, to, r.signedIn)
		}
	}()
}

// ServerCmd is "askbus server".
func ServerCmd(a *cli.App) *cobra.Command {
	var s upSettings
	var nodes []string
	var node, listen string
	cmd := &cobra.Command{
		Use: "server", Short: "Start the embedded NATS server alone, or as a node of a cluster", Args: cobra.NoArgs,
		Example: `  askbus server --nats-addr 127.0.0.1:4280
  askbus server --cluster n1=10.0.0.1:6222,n2=10.0.0.2:6222,n3=10.0.0.3:6222 --node n1`,
		Long: `Starts a NATS server that syncs every write. With --cluster it is one node of several,
which keep copies of each other's streams: start each with the same list, its own --node and
directory, and the same keys (copy the directory "auth", or use --key-of). Use three nodes:
all must run for the cluster to begin, and later two for anything to be stored.

A node is ready (/readyz) when it has caught up with the others. For a rolling restart, stop one,
start it, and wait until it is ready before the next. To replace one whose disk is lost, start it
under the same name with a directory that has only "auth". While one is down, the other two
keep working.
Remove a node for good with "askbus server remove-node".`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := NewRunning(cmd.Context(), a)
			defer r.Close()
			var cluster *natsd.Cluster
			if len(nodes) > 0 {
				var err error
				if cluster, err = natsd.ParseCluster(nodes, node, listen); err != nil {
					return cli.Usage("--cluster: %w", err)
				}
			} else if node != "" || listen != "" {
				return cli.Usage("--node and --cluster-addr need --cluster, the list of all nodes")
			}
			if err := r.secure(&s.Listen); err != nil {
				return err
			}
			if s.keyOf != "" {
				if err := rights.ShareKey(s.keyOf, a.Dir); err != nil {
					return err
				}
			}
			srv, err := r.server(&s, cluster)
			if err != nil {
				return err
			}
			r.parts = append(r.parts, daemon.Part{Name: "room on the disk", Run: srv.AwaitRoom})
			return r.serve(cmd.Context(), "server", s.OpsAddr, srv.Healthy, "NATS at "+r.After.NATSURL)
		},
	}
	cli.Load(&s, cmd)
	s.natsFlag(cmd)
	opsFlag(cmd, &s.OpsAddr)
	s.storeFlag(cmd)
	s.policyFlag(cmd)
	tlsFlags(&s.Listen, cmd)
	clientCAFlag(&s.Listen, cmd)
	cmd.Flags().StringSliceVar(&nodes, "cluster", nil, "all nodes of a cluster, as name=host:port of their cluster addresses")
	cmd.Flags().StringVar(&node, "node", "", "which of them this is")
	cmd.Flags().StringVar(&listen, "cluster-addr", "", "address to listen on for the other nodes (default: the one in --cluster)")
	cmd.Flags().StringVar(&s.keyOf, "key-of", "", "directory from which to copy the key, on the same machine")
	cmd.AddCommand(operator.RemoveNodeCmd(a))
	return cmd
}

// BrokerCmd is "askbus broker".
func BrokerCmd(a *cli.App) *cobra.Command {
	var s upSettings
	var clockAhead time.Duration
	cmd := &cobra.Command{
		Use: "broker", Short: "Start a broker against a running server; any number of replicas", Args: cobra.NoArgs,
		Example: "  askbus broker --partitions 8",
		Long: `Starts a broker. With --dir of an "askbus server" it makes its credentials
with the keys there; elsewhere ASKBUS_CREDS is a file with what "askbus auth broker"
prints.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := NewRunning(cmd.Context(), a)
			defer r.Close()
			r.clockAhead = clockAhead
			creds, err := operator.LoadBrokerCreds(a)
			if err != nil {
				return err
			}
			b, err := r.broker(cmd.Context(), creds, s.Ledger, s.ResponderTypes)
			if err != nil {
				return err
			}
			if err := r.opsWith(cmd.Context(), "broker", s.OpsAddr, operator.WithBacklog(b, nil, r.metrics.Handler(), a.Pprof)); err != nil {
				return err
			}
			return r.Run(cmd.Context(), func() { a.Note("askbus: broker on %s, ops at %s", creds.Service.URL, r.After.Ops["broker"]) })
		},
	}
	cli.Load(&s, cmd)
	opsFlag(cmd, &s.OpsAddr)
	s.ledgerFlags(cmd)
	operator.ReplicasFlag(cmd, &s.Replicas)
	cmd.Flags().DurationVar(&clockAhead, "clock-ahead", 0, "clock offset, for torture")
	_ = cmd.Flags().MarkHidden("clock-ahead") // cannot fail: the flag exists
	return cmd
}

// WebCmd is "askbus web".
func WebCmd(a *cli.App) *cobra.Command {
	var s upSettings
	cmd := &cobra.Command{
		Use: "web", Short: "Start a web inbox against a running server; any number of replicas", Args: cobra.NoArgs,
		Example: "  askbus web --http-addr 127.0.0.1:8421",
		Long: `Starts a web inbox. With --dir of an "askbus server" it makes its credential and
the cookie key with the keys there; elsewhere set ASKBUS_CREDS (a responder's of type
web) and ASKBUS_WEB_COOKIE_KEY. Printed links lead to the first inbox of
a directory while it runs, such as the one of "askbus up".`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			r := NewRunning(ctx, a)
			defer r.Close()
			r.second = true
			cookieKey, err := a.CookieKey(s.Web)
			if err != nil {
				return err
			}
			if err := r.secure(&s.Listen); err != nil {
				return err
			}
			ln, err := r.listen(ctx, "web", s.HTTPAddr, r.before.HTTPURL)
			if err != nil {
				return err
			}
			ready, err := r.inbox(ln, s.Web, s.Push, &s.Listen, cookieKey)
			if err != nil {
				_ = ln.Close()
				return err
			}
			return r.serve(ctx, "web", s.OpsAddr, ready, "inbox at "+r.After.HTTPURL)
		},
	}
	cli.Load(&s, cmd)
	s.httpFlag(cmd)
	opsFlag(cmd, &s.OpsAddr)
	tlsFlags(&s.Listen, cmd)
	return cmd
}
