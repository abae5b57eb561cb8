package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/askbus/askbus/internal/config"
	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/internal/web"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/spf13/cobra"
)

// brokerCreds are the two credentials of a broker.
type brokerCreds struct {
	Service client.Credential `json:"service"`
	Ledger  client.Credential `json:"ledger"`
}

func (a *app) brokerCreds() (service, led client.Credential, err error) {
	if a.Creds == "" {
		if service, err = a.local(natsd.Role{Name: natsd.RoleBroker}); err == nil {
			led, err = a.local(natsd.Role{Name: natsd.RoleLedger})
		}
		return service, led, err
	}
	data, err := os.ReadFile(a.Creds)
	if err != nil {
		return service, led, fmt.Errorf("a broker's ASKBUS_CREDS is a file, as \"askbus creds broker --output json\" prints it: %w", err)
	}
	var c brokerCreds
	if err := json.Unmarshal(data, &c); err != nil || c.Service.InboxPrefix == "" || c.Ledger.InboxPrefix == "" {
		return service, led, fmt.Errorf("%s does not hold what \"askbus creds broker --output json\" prints: service and ledger", a.Creds)
	}
	if a.NATS.URL != "" {
		c.Service.URL, c.Ledger.URL = a.NATS.URL, a.NATS.URL
	}
	return c.Service, c.Ledger, nil
}

func (a *app) credsCmd() *cobra.Command {
	var typ string
	cmd := &cobra.Command{
		Use:   "creds (agent | responder | gateway | broker | operator) [--tenant T] [--session S] [--type TYPE]",
		Short: "Print a NATS credential of the embedded server",
		Long: `Prints URL, user, password and inbox prefix of a role. They are derived from the key
in --dir, so the same call prints the same again. A NATS client must set the inbox
prefix, else its requests are not answered.

  agent       asks for one session; never answers
  responder   answers, for one --type; with --tenant and --session for those only
  gateway     the HTTP doors
  broker      the two connections of a broker
  operator    everything but the ledger`,
		Example: `  askbus creds agent --session s1
  askbus creds responder --type slack --output json`,
		Args: cobra.ExactArgs(1), ValidArgs: []string{natsd.RoleAgent, natsd.RoleResponder, natsd.RoleGateway, natsd.RoleBroker, natsd.RoleOperator},
		RunE: func(cmd *cobra.Command, args []string) error {
			role := natsd.Role{Name: args[0], Type: typ}
			switch role.Name {
			case natsd.RoleAgent:
				role.Tenant, role.Session = a.Tenant, a.session
				if role.Session == "" {
					role.Session = terminalSession()
				}
			case natsd.RoleResponder:
				if cmd.Flags().Changed("tenant") || a.session != "" {
					role.Tenant, role.Session = a.Tenant, a.session
				}
			}
			if role.Name == natsd.RoleLedger {
				return usage("the ledger's credential comes with the broker's")
			}
			if err := role.Validate(); err != nil {
				return usage("%w", err)
			}
			return a.tellCreds(role)
		},
	}
	cmd.Flags().StringVar(&typ, "type", "", "responder type, such as web or slack")
	return cmd
}

func (a *app) tellCreds(role natsd.Role) error {
	c, err := a.local(role)
	if err != nil {
		return err
	}
	if role.Name != natsd.RoleBroker {
		if a.json() {
			return json.NewEncoder(a.out).Encode(c) //nolint:gosec // printing the password is what it is for
		}
		a.tellCred("", c)
		return nil
	}
	led, err := a.local(natsd.Role{Name: natsd.RoleLedger})
	if err != nil {
		return err
	}
	if a.json() {
		return json.NewEncoder(a.out).Encode(brokerCreds{c, led})
	}
	a.tellCred("service ", c)
	a.tellCred("ledger ", led)
	return nil
}

func (a *app) tellCred(of string, c client.Credential) {
	fmt.Fprintf(a.out, "%surl           %s\n%suser          %s\n%spassword      %s\n%sinbox prefix  %s\n",
		of, c.URL, of, c.User, of, c.Password, of, c.InboxPrefix)
}

func (a *app) loginCmd() *cobra.Command {
	var w config.Web
	cmd := &cobra.Command{
		Use: "login [ID | SESSION/ID]", Short: "Print a fresh link that signs you in at the web inbox", Args: cobra.MaximumNArgs(1),
		Long: "Prints a link to the web inbox, or to one ask in it, that signs you in as os:<user>: good for 10 minutes, once.",
		RunE: func(cmd *cobra.Command, args []string) error {
			url := a.inboxURL()
			if url == "" {
				return fmt.Errorf("no web inbox known in %s; start one with \"askbus up\", or set ASKBUS_HTTP_URL", a.Dir)
			}
			key, err := a.cookieKey(w)
			if err != nil {
				return err
			}
			link, err := web.LoginLink(key, url, localUser(w.Groups), time.Now())
			if err != nil {
				return err
			}
			if len(args) == 1 {
				if err := a.withAsk(cmd.Context(), args[0], func(_ *bus, k ask.Key) error {
					link += "&to=" + "/ask/" + k.String()
					return nil
				}); err != nil {
					return err
				}
			}
			if a.json() {
				return json.NewEncoder(a.out).Encode(map[string]string{"url": link})
			}
			fmt.Fprintln(a.out, link)
			return nil
		},
	}
	load(&w, cmd)
	return cmd
}
