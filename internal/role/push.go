package role

import (
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/push"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/process/daemon"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
)

// pushSettings are the settings of "askbus push".
type pushSettings struct {
	config.Listen
	config.Web
	config.Push
}

// PushCmd is "askbus push".
func PushCmd(a *cli.App) *cobra.Command {
	var s pushSettings
	cmd := &cobra.Command{
		Use: "push", Short: "Notify phones and browsers whose page is closed, by web push; any number of replicas", Args: cobra.NoArgs,
		Example: "  askbus push",
		Long: `Sends notifications to browsers where people enabled them in the web inbox. "askbus up"
does the same. It needs the inboxes' cookie key: with --dir of an "askbus server" it is
derived there; elsewhere set ASKBUS_CREDS (a responder's of type push) and
ASKBUS_WEB_COOKIE_KEY.

It calls the push services of Chrome, Edge, Firefox and Safari over HTTPS, and no other
hosts except those in ASKBUS_PUSH_HOSTS.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := NewRunning(cmd.Context(), a)
			defer r.Close()
			cookieKey, err := a.CookieKey(s.Web)
			if err != nil {
				return err
			}
			nc, err := r.push(s.Push, cookieKey)
			if err != nil {
				return err
			}
			return r.serve(cmd.Context(), "push", s.OpsAddr, connected(nc), "notifying by web push")
		},
	}
	cli.Load(&s, cmd)
	opsFlag(cmd, &s.OpsAddr)
	return cmd
}

// push makes the push surface on its own connection.
func (r *Process) push(p config.Push, cookieKey []byte) (*nats.Conn, error) {
	keys, err := push.DeriveKeys(cookieKey)
	if err != nil {
		return nil, err
	}
	// Longer, and the work that waits would look as if push were dead (the alert AskbusSurfaceDead).
	if u := p.Push.Unseen; u != 0 && (u < time.Minute || u > 4*time.Minute) {
		return nil, cli.Usage("ASKBUS_PUSH_UNSEEN is %s; give 1m to 4m, or 0 for never", u)
	}
	if c := p.Push.Contact; c != "" && !strings.HasPrefix(c, "https://") && !strings.Contains(c, "@") {
		return nil, cli.Usage("ASKBUS_PUSH_CONTACT is %q; give an https URL or an e-mail address, or push services refuse to notify", c)
	}
	nc, role, err := r.as(rights.Role{Name: rights.RoleResponder, Type: push.Type})
	if err != nil {
		return nil, err
	}
	app, err := push.New(nc, keys, push.Options{Hosts: p.Push.Hosts, Contact: p.Push.Contact, Unseen: p.Push.Unseen, Tenant: role.Tenant, Logger: r.Log})
	if err != nil {
		return nil, &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	r.parts = append(r.parts, daemon.Part{Name: "push", Run: app.Run})
	return nc, nil
}
