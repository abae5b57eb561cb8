package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"time"

	"github.com/askbus/askbus/internal/config"
	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/internal/web"
	"github.com/askbus/askbus/pkg/client"
	"github.com/spf13/cobra"
)

// upSettings are the settings of "askbus up".
type upSettings struct {
	config.Listen
	config.Ledger
	config.Web
	config.Doors
	noOpen bool
}

func (a *app) upCmd() *cobra.Command {
	var s upSettings
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start everything in one process: NATS, broker, web inbox and HTTP doors",
		Long: `Starts an embedded NATS server with JetStream, the broker, the web inbox and the HTTP
doors in one process. Everything is kept in --dir and survives a kill at any moment. It prints a
link to the inbox and a command to try; SIGTERM or Ctrl-C drains and stops.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runUp(cmd.Context(), s) },
	}
	load(&s, cmd)
	s.natsFlag(cmd)
	s.httpFlag(cmd)
	s.opsFlag(cmd)
	s.ledgerFlags(cmd)
	doorFlags(&s.Doors, cmd)
	cmd.Flags().BoolVar(&s.noOpen, "no-open", false, "do not open the browser")
	return cmd
}

// load fills settings from the environment; a bad variable is reported when the
// command runs, so that help always works.
func load(into any, cmd *cobra.Command) {
	if err := config.Load(into); err != nil {
		cmd.PreRunE = func(*cobra.Command, []string) error { return &exitError{exitUsage, err} }
	}
}

func (s *upSettings) natsFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.NATSAddr, "nats-addr", s.NATSAddr, "NATS address; port 0 picks a free one and keeps it")
}

func (s *upSettings) httpFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.HTTPAddr, "http-addr", s.HTTPAddr, "web address; port 0 picks a free one and keeps it")
}

func (s *upSettings) opsFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.OpsAddr, "ops-addr", s.OpsAddr, "address of /healthz, /readyz and pprof")
}

func (s *upSettings) ledgerFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&s.Partitions, "partitions", s.Partitions, "partitions, fixed when the ledger is created")
	f.DurationVar(&s.Retention, "retention", s.Retention, "how long an outcome is kept after its ask's deadline")
	f.DurationVar(&s.Margin, "margin", s.Margin, "how much longer an outcome lives than its timer; at least 5s")
	s.storeFlag(cmd)
}

func (s *upSettings) storeFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.MaxStore, "max-store", s.MaxStore, "bytes on disk; new asks are refused from 80 % on")
}

func (a *app) runUp(ctx context.Context, s upSettings) error {
	r := a.newRunning()
	defer r.close()
	// The listeners first: a taken port must not cost a start of the store.
	ln, err := a.listen(ctx, "web", s.HTTPAddr, "--http-addr", r.before.HTTPURL)
	if err != nil {
		return err
	}
	srv, err := r.server(s.NATSAddr, s.MaxStore)
	if err != nil {
		_ = ln.Close()
		return err
	}
	service, err := derived(srv.Key(), srv.URL(), natsd.Role{Name: natsd.RoleBroker})
	if err != nil {
		return err
	}
	led, err := derived(srv.Key(), srv.URL(), natsd.Role{Name: natsd.RoleLedger})
	if err != nil {
		return err
	}
	b, err := r.broker(ctx, service, led, s.Ledger)
	if err != nil {
		return err
	}
	cookieKey, err := a.cookieKey(s.Web)
	if err != nil {
		return err
	}
	webCred, err := derived(srv.Key(), srv.URL(), natsd.Role{Name: natsd.RoleResponder, Type: "web"})
	if err != nil {
		return err
	}
	gatewayCred, err := derived(srv.Key(), srv.URL(), natsd.Role{Name: natsd.RoleGateway})
	if err != nil {
		return err
	}
	if err := r.mountDoors(gatewayCred, ln, s.Doors, s.Web); err != nil { //nolint:contextcheck // requests bring their own
		return err
	}
	if _, err := r.inbox(webCred, ln, s.Web, cookieKey); err != nil {
		return err
	}
	if err := r.ops(ctx, "up", s.OpsAddr, func() error { return errors.Join(srv.Healthy(), notReady("the broker", b.Ready())) }); err != nil {
		return err
	}
	link, err := web.LoginLink(cookieKey, r.after.HTTPURL, localUser(s.Groups), time.Now())
	if err != nil {
		return err
	}
	return r.run(ctx, func() { a.greet(ctx, r, s, link, b.Ready) })
}

// greet says where everything is and what to try.
func (a *app) greet(ctx context.Context, r *running, s upSettings, link string, ready func() bool) {
	go func() {
		for !ready() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
		try := `askbus ask --question "Which database?" --option "PostgreSQL|operated already" --option "SQLite|one file"`
		if a.Dir != config.DefaultDir() {
			try += " --dir " + quote(a.Dir)
		}
		fmt.Fprintf(a.out, `askbus is up.

  inbox   %s
          (this link signs you in once, within 10 minutes; "askbus login" makes another)
  HTTP    %s/v1/asks  ("askbus token issue" makes a bearer token)
  NATS    %s  ("askbus creds agent" prints a credential)
  ops     %s
  data    %s

Ask something from a second terminal:

  %s

`, link, r.after.HTTPURL, r.after.NATSURL, r.after.Ops["up"], a.Dir, try)
		if !s.noOpen && isTerminal(a.out) {
			openBrowser(ctx, link)
		}
	}()
}

func openBrowser(ctx context.Context, link string) {
	name := "xdg-open"
	if runtime.GOOS == "darwin" {
		name = "open"
	}
	if path, err := exec.LookPath(name); err == nil {
		_ = exec.CommandContext(ctx, path, link).Start() //nolint:gosec // our own link; nobody waits for a browser
	}
}

func (a *app) serverCmd() *cobra.Command {
	var s upSettings
	cmd := &cobra.Command{
		Use: "server", Short: "Start the embedded NATS server alone", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := a.newRunning()
			defer r.close()
			srv, err := r.server(s.NATSAddr, s.MaxStore)
			if err != nil {
				return err
			}
			if err := r.ops(cmd.Context(), "server", s.OpsAddr, srv.Healthy); err != nil {
				return err
			}
			return r.run(cmd.Context(), func() { a.say("askbus: NATS at %s, ops at %s", r.after.NATSURL, r.after.Ops["server"]) })
		},
	}
	load(&s, cmd)
	s.natsFlag(cmd)
	s.opsFlag(cmd)
	s.storeFlag(cmd)
	return cmd
}

func (a *app) brokerCmd() *cobra.Command {
	var s upSettings
	cmd := &cobra.Command{
		Use: "broker", Short: "Start a broker against a running server; any number of replicas", Args: cobra.NoArgs,
		Long: `Starts a broker. With --dir of an "askbus server" it derives its two credentials from
the key there; elsewhere ASKBUS_CREDS is a file with what "askbus creds broker
--output json" prints.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := a.newRunning()
			defer r.close()
			service, led, err := a.brokerCreds()
			if err != nil {
				return err
			}
			b, err := r.broker(cmd.Context(), service, led, s.Ledger)
			if err != nil {
				return err
			}
			if err := r.ops(cmd.Context(), "broker", s.OpsAddr, func() error { return notReady("the broker", b.Ready()) }); err != nil {
				return err
			}
			return r.run(cmd.Context(), func() { a.say("askbus: broker on %s, ops at %s", service.URL, r.after.Ops["broker"]) })
		},
	}
	load(&s, cmd)
	s.opsFlag(cmd)
	s.ledgerFlags(cmd)
	cmd.Flags().IntVar(&s.Replicas, "replicas", s.Replicas, "copies of each stream, when the ledger is created: 3 in a cluster")
	return cmd
}

func (a *app) webCmd() *cobra.Command {
	var s upSettings
	cmd := &cobra.Command{
		Use: "web", Short: "Start a web inbox against a running server; any number of replicas", Args: cobra.NoArgs,
		Long: `Starts a web inbox. With --dir of an "askbus server" it derives its credential and
the cookie key from the key there; elsewhere set ASKBUS_CREDS (a responder's of type
web) and ASKBUS_WEB_COOKIE_KEY.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			r := a.newRunning()
			defer r.close()
			cred, err := a.webCred()
			if err != nil {
				return err
			}
			cookieKey, err := a.cookieKey(s.Web)
			if err != nil {
				return err
			}
			ln, err := a.listen(ctx, "web", s.HTTPAddr, "--http-addr", r.before.HTTPURL)
			if err != nil {
				return err
			}
			nc, err := r.inbox(cred, ln, s.Web, cookieKey)
			if err != nil {
				_ = ln.Close()
				return err
			}
			if err := r.ops(ctx, "web", s.OpsAddr, func() error { return notReady("NATS", nc.IsConnected()) }); err != nil {
				return err
			}
			return r.run(ctx, func() { a.say("askbus: inbox at %s, ops at %s", r.after.HTTPURL, r.after.Ops["web"]) })
		},
	}
	load(&s, cmd)
	s.httpFlag(cmd)
	s.opsFlag(cmd)
	return cmd
}

func (a *app) webCred() (client.Credential, error) {
	if a.Creds == "" {
		return a.local(natsd.Role{Name: natsd.RoleResponder, Type: "web"})
	}
	c, err := readCreds(a.Creds)
	if a.NATS.URL != "" {
		c.URL = a.NATS.URL
	}
	return c, err
}
