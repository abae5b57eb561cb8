package main

import (
	"github.com/askbus/askbus/internal/config"
	"github.com/askbus/askbus/internal/daemon"
	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/internal/push"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
)

// pushSettings are the settings of "askbus push".
type pushSettings struct {
	config.Listen
	config.Web
	config.Push
}

func (a *app) pushCmd() *cobra.Command {
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
			r := a.newRunning(cmd.Context())
			defer r.close()
			cred, err := a.credOf(natsd.Role{Name: natsd.RoleResponder, Type: push.Type})
			if err != nil {
				return err
			}
			cookieKey, err := a.cookieKey(s.Web)
			if err != nil {
				return err
			}
			nc, err := r.push(cred, s.Push, cookieKey)
			if err != nil {
				return err
			}
			if err := r.ops(cmd.Context(), "push", s.OpsAddr, func() error { return natsReady(nc) }); err != nil {
				return err
			}
			return r.run(cmd.Context(), func() { a.say("askbus: notifying by web push, ops at %s", r.after.Ops["push"]) })
		},
	}
	load(&s, cmd)
	opsFlag(cmd, &s.OpsAddr)
	return cmd
}

// push makes the push surface on its own connection.
func (r *running) push(c client.Credential, p config.Push, cookieKey []byte) (*nats.Conn, error) {
	keys, err := push.DeriveKeys(cookieKey)
	if err != nil {
		return nil, err
	}
	nc, err := r.connect(c)
	if err != nil {
		return nil, err
	}
	role, _ := natsd.ParseUser(c.Name) // unknown roles stay empty
	app, err := push.New(nc, keys, push.Options{Hosts: p.Push.Hosts, Contact: p.Push.Contact, Tenant: role.Tenant, Logger: r.log})
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	r.parts = append(r.parts, daemon.Part{Name: "push", Run: app.Run})
	return nc, nil
}
