package role

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/askbus/askbus/internal/answering/pagerduty"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/process/daemon"
	"github.com/askbus/askbus/internal/process/finding"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
)

// pagerDutySettings are the settings of "askbus pagerduty".
type pagerDutySettings struct {
	config.Listen
	config.PagerDuty
}

// PagerDutyCmd is "askbus pagerduty".
func PagerDutyCmd(a *cli.App) *cobra.Command {
	var s pagerDutySettings
	cmd := &cobra.Command{
		Use: "pagerduty", Short: "Open an incident in PagerDuty for steps of ladders; any number of replicas", Args: cobra.NoArgs,
		Example: "  ASKBUS_PAGERDUTY_ROUTING_KEY_FILE=key askbus pagerduty",
		Long: `Opens an incident for each step of an ask's ladder that has "via": ["pagerduty"], acknowledges
it when somebody looks at the ask, and resolves it when the ask ends. Nobody answers there. "askbus up"
does the same if the integration key is set; see docs/approvals-operator.md.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := NewRunning(cmd.Context(), a)
			defer r.Close()
			nc, app, err := r.pagerDuty(s.PagerDuty, "")
			if err != nil {
				return err
			}
			return r.serve(cmd.Context(), "pagerduty", s.OpsAddr, func() error { return errors.Join(natsReady(nc), app.Ready()) }, "telling PagerDuty")
		},
	}
	cli.Load(&s, cmd)
	opsFlag(cmd, &s.OpsAddr)
	cmd.AddCommand(&cobra.Command{
		Use: "doctor", Short: "Check the integration key, without an incident", Args: cobra.NoArgs, Example: "  askbus pagerduty doctor",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printFindings(a, pagerDutyFindings(cmd.Context(), a, s.PagerDuty))
		},
	})
	return cmd
}

// pagerDuty makes the surface on its own connection.
func (r *Process) pagerDuty(s config.PagerDuty, own string) (*nats.Conn, *pagerduty.App, error) {
	opts, err := pagerDutyOptions(r.a, s)
	if err != nil {
		return nil, nil, err
	}
	nc, role, err := r.as(rights.Role{Name: rights.RoleResponder, Type: pagerduty.Type})
	if err != nil {
		return nil, nil, err
	}
	opts.Tenant, opts.Logger, opts.Link = role.Tenant, r.Log, askLink(chatInbox(r.a, s.Pagerduty.Inbox, own))
	app, err := pagerduty.New(nc, opts)
	if err != nil {
		return nil, nil, &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	r.parts = append(r.parts, daemon.Part{Name: pagerduty.Type, Run: app.Run})
	return nc, app, nil
}

func pagerDutyOptions(a *cli.App, s config.PagerDuty) (pagerduty.Options, error) {
	c := &s.Pagerduty
	key, err := cli.SecretOf("ASKBUS_PAGERDUTY_ROUTING_KEY", c.RoutingKey, c.RoutingKeyFile)
	if err != nil {
		return pagerduty.Options{}, &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	if info, err := os.Stat(c.RoutingKeyFile); err == nil && info.Mode().Perm()&0o007 != 0 {
		a.Logger().Warn("everybody on this machine can read a secret: change its mode to 0600", slog.String("file", c.RoutingKeyFile))
	}
	return pagerduty.Options{RoutingKey: key, URL: c.URL}, nil
}

// pagerDutySet reports whether the integration key is given.
func pagerDutySet(s config.PagerDuty) bool {
	return s.Pagerduty.RoutingKey != "" || s.Pagerduty.RoutingKeyFile != ""
}

// pagerDutyFindings returns the findings of PagerDuty's doctor.
func pagerDutyFindings(ctx context.Context, a *cli.App, s config.PagerDuty) (found finding.List) {
	opts, err := pagerDutyOptions(a, s)
	var app *pagerduty.App
	if err == nil {
		app, err = pagerduty.New(nil, opts)
	}
	if err != nil {
		return finding.List{{What: pagerduty.Type, State: finding.Broken, Words: err.Error()}}
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for _, one := range app.Doctor(ctx) {
		one.What = pagerduty.Type + " " + one.What
		found = append(found, one)
	}
	return found
}
