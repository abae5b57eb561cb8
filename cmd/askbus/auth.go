package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/askbus/askbus/internal/config"
	"github.com/askbus/askbus/internal/identity"
	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/pkg/client"
	"github.com/spf13/cobra"
)

// brokerCreds are a broker's two credentials.
type brokerCreds struct {
	Service client.Credential `json:"service"`
	Ledger  client.Credential `json:"ledger"`
	Account string            `json:"account"` // the account's JWT, with the keys that sign credentials
}

func (a *app) brokerCreds() (service, led client.Credential, err error) {
	if a.Creds == "" {
		if service, err = a.local(natsd.Role{Name: natsd.RoleBroker}); err == nil {
			led, err = a.local(natsd.Role{Name: natsd.RoleLedger})
		}
		return service, led, err
	}
	c, err := readBrokerCreds(a.Creds)
	if err != nil {
		return service, led, err
	}
	if a.NATS.URL != "" {
		c.Service.URL, c.Ledger.URL = a.NATS.URL, a.NATS.URL
	}
	c.Service.Renew = func() (string, error) {
		c, err := readBrokerCreds(a.Creds)
		return c.Service.Creds, err
	}
	c.Ledger.Renew = func() (string, error) {
		c, err := readBrokerCreds(a.Creds)
		return c.Ledger.Creds, err
	}
	return c.Service, c.Ledger, nil
}

func readBrokerCreds(path string) (c brokerCreds, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("a broker's ASKBUS_CREDS is a file, as \"askbus auth broker\" prints it: %w", err)
	}
	if err := json.Unmarshal(data, &c); err != nil || c.Service.Creds == "" || c.Ledger.Creds == "" {
		return c, fmt.Errorf("%s does not hold what \"askbus auth broker\" prints: service and ledger", path)
	}
	return c, nil
}

// authCmd groups the commands that make, list and revoke NATS credentials.
func (a *app) authCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "auth", Short: "Make, list and revoke NATS credentials", Args: cobra.NoArgs,
		Example: "  askbus auth agent --session s1 --output text > s1.creds\n  askbus auth list\n  askbus auth revoke agent/default/s1",
		Long: `Every NATS credential is a user's signed JWT and key, with the rights of one role; it
expires and can be revoked. The signing keys are in the directory "auth" inside
--dir: a process that can read them can act as anybody. Processes that use the same --dir make
their own credentials and need none of these.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.authInitCmd(), a.authListCmd(), a.authRevokeCmd(), a.authRotateCmd(), a.authConfigCmd(), a.authRolesCmd())
	for _, r := range handedOut() {
		cmd.AddCommand(a.authRoleCmd(r))
	}
	return cmd
}

// handed is a role for which credentials are issued.
type handed struct {
	role, short, example   string
	typ, allowAll, asserts bool
}

func handedOut() []handed {
	return []handed{
		{role: natsd.RoleAgent, short: "Asks in one --session, or with --all-sessions in every session of a tenant; never answers", example: "askbus auth agent --session s1 --expires 24h", allowAll: true},
		{role: natsd.RoleResponder, short: "Answers as one --type; limited to --tenant and --session if given", example: "askbus auth responder --type slack --output json\n  askbus auth responder --type teams --asserts 'oidc=oidc:*' --group platform", typ: true, asserts: true},
		{role: natsd.RoleHost, short: "Answers at the dialog of an agent's own host, for one --session", example: "askbus auth host --session s1 --asserts host-dialog=os:mei", asserts: true},
		{role: natsd.RoleGateway, short: "Serves the HTTP API", example: "askbus auth gateway --output text > gateway.creds", asserts: true},
		{role: natsd.RoleIssuer, short: "Swaps tokens for credentials; the signing keys stay in its --dir", example: "askbus auth issuer --output text > issuer.creds"},
		{role: natsd.RoleOperator, short: "Everything but the ledger; answers as itself", example: "askbus auth operator --expires 8h --asserts os=os:mei", asserts: true},
		{role: natsd.RoleAuditor, short: "Only reads the audit, of all tenants or of one --tenant", example: "askbus auth auditor --output json > auditor.json\n  askbus auth auditor --tenant acme --expires 720h"},
		{role: natsd.RoleBroker, short: "The two connections of a broker (printed as JSON)", example: "askbus auth broker > broker.json"},
		{role: natsd.RoleMaintenance, short: "Saves, restores, changes and moves the ledger's streams; short-lived", example: "askbus auth maintenance --output text > admin.creds"},
	}
}

// credFlags are the flags of commands that issue a credential.
type credFlags struct {
	typ, note       string
	asserts, groups []string
	all             bool
	expires         time.Duration
}

func (a *app) authRoleCmd(h handed) *cobra.Command {
	var f credFlags
	cmd := &cobra.Command{
		Use: h.role, Short: "Print a credential: " + h.short, Args: cobra.NoArgs, Example: "  " + h.example,
		Long: `Prints a credential and records it in the list ("askbus auth list").
On a terminal, and with --output text, it is a NATS .creds file, and the rest goes
to standard error. A NATS client must set the inbox prefix, or its requests get no
replies; askbus clients read it from the credential.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.handOut(cmd, h.role, f) },
	}
	f.add(cmd, h)
	return cmd
}

func (f *credFlags) add(cmd *cobra.Command, h handed) {
	flags := cmd.Flags()
	if h.typ {
		flags.StringVar(&f.typ, "type", "", "responder type, such as web or slack")
	}
	if h.allowAll {
		flags.BoolVar(&f.all, "all-sessions", false, "valid for every session of --tenant")
	}
	if h.asserts {
		flags.StringArrayVar(&f.asserts, "asserts", nil, `PROOF=PRINCIPAL: for whom it may answer, and how that is proven, such as oidc=oidc:*; "none": only as itself (default: what surfaces of the type prove; nothing for a --session or an unknown type)`)
		flags.StringArrayVar(&f.groups, "group", nil, "a group that it may assert for people; may end in * (with --asserts)")
	}
	flags.DurationVar(&f.expires, "expires", 0, "how long it is valid (default 720h for an agent, 1h for maintenance, else 2160h)")
	flags.StringVar(&f.note, "note", "", "note for the list, such as who it is for")
}

func (a *app) credsCmd() *cobra.Command {
	var f credFlags
	cmd := &cobra.Command{
		Use:   "creds (agent | responder | host | gateway | broker | issuer | operator | auditor | maintenance) [--tenant T] [--session S] [--type TYPE]",
		Short: "Print a NATS credential; short for \"askbus auth ROLE\"",
		Example: `  askbus creds agent --session s1 > s1.creds
  askbus creds responder --type slack --output json`,
		Args: cobra.ExactArgs(1), ValidArgs: []string{natsd.RoleAgent, natsd.RoleResponder, natsd.RoleHost, natsd.RoleGateway, natsd.RoleBroker, natsd.RoleIssuer, natsd.RoleOperator, natsd.RoleAuditor, natsd.RoleMaintenance},
		RunE: func(cmd *cobra.Command, args []string) error { return a.handOut(cmd, args[0], f) },
	}
	f.add(cmd, handed{typ: true, allowAll: true, asserts: true})
	return cmd
}

// handOut prints a credential.
func (a *app) handOut(cmd *cobra.Command, name string, f credFlags) error {
	role := natsd.Role{Name: name, Type: f.typ}
	switch role.Name {
	case natsd.RoleAgent:
		role.Tenant, role.Session = a.Tenant, a.session
		if role.Session == "" {
			role.Session = terminalSession()
		}
		if f.all {
			role.Session = ""
		}
	case natsd.RoleAuditor:
		if cmd.Flags().Changed("tenant") {
			role.Tenant = a.Tenant
		}
	case natsd.RoleResponder:
		if cmd.Flags().Changed("tenant") || a.session != "" {
			role.Tenant, role.Session = a.Tenant, a.session
		}
	case natsd.RoleHost:
		role.Tenant, role.Session = a.Tenant, a.session
	case natsd.RoleLedger:
		return usage("the ledger's credential comes with the broker's")
	case natsd.RoleAdmin, natsd.RoleLedgerAdmin:
		return usage("there is no credential for %s", role.Name)
	}
	if err := role.Validate(); err != nil {
		return usage("%w", err)
	}
	may, err := f.assertions(cmd, role)
	if err != nil {
		return err
	}
	life := f.expires
	if life == 0 {
		life = role.Life()
	}
	if most := role.MostLife(); life < time.Second || life > most {
		return usage("invalid --expires %s: use 1s to %s", life, most)
	}
	keys, url, err := a.keys()
	if err != nil {
		return err
	}
	give := func(r natsd.Role) (client.Credential, error) {
		c, err := keys.HandOut(url, r, may, life, f.note)
		return client.Credential(a.carryTrust(c)), err
	}
	c, err := give(role)
	if err != nil {
		return err
	}
	if role.Name != natsd.RoleBroker {
		return a.tellCred(c)
	}
	led, err := give(natsd.Role{Name: natsd.RoleLedger})
	if err != nil {
		return err
	}
	account, err := natsd.BusAccount(keys.Dir())
	if err != nil {
		return err
	}
	return a.tellJSON(brokerCreds{c, led, account})
}

// assertions returns the identities that a credential may assert: those of the flags, else the
// default of its role.
func (f *credFlags) assertions(cmd *cobra.Command, role natsd.Role) (identity.Assertions, error) {
	if !cmd.Flags().Changed("asserts") && !cmd.Flags().Changed("group") {
		return role.Assertions(), nil
	}
	may := identity.Assertions{Proven: f.asserts, Groups: f.groups}
	if slices.Equal(f.asserts, []string{"none"}) {
		may.Proven = nil
	}
	if err := role.MayAssert(may); err != nil {
		return may, usage("--asserts, --group: %w", err)
	}
	return may, nil
}

func (a *app) tellCred(c client.Credential) error {
	if a.json() {
		return a.tellJSON(c)
	}
	fmt.Fprint(a.out, c.Creds)
	a.say("role          %s\nurl           %s\ninbox prefix  %s\nexpires       %s", c.Name, c.URL, c.InboxPrefix, c.Expires.Format(time.RFC3339))
	return nil
}

// keys returns the directory's keys and, if known, its server's URL.
func (a *app) keys() (*natsd.Issuer, string, error) {
	ctx, err := config.ReadContext(a.Dir)
	if err != nil {
		return nil, "", err
	}
	url := a.NATS.URL
	if url == "" {
		url = ctx.NATSURL
	}
	keys, err := natsd.LoadIssuer(a.Dir)
	if errors.Is(err, identity.ErrNone) {
		err = fmt.Errorf("no server found in %s, and no keys; start \"askbus up\" or \"askbus server\" there, or run \"askbus auth init\", or set ASKBUS_NATS_URL and ASKBUS_CREDS", a.Dir)
	}
	return keys, url, err
}

// existingKeys reads the keys of a directory; it makes none.
func existingKeys(dir string) (*natsd.Issuer, error) {
	if !natsd.HasKeys(dir) {
		return nil, usage("there are no keys in %s; set --dir to the server's, or give --creds", dir)
	}
	return natsd.LoadIssuer(dir)
}

func (a *app) authInitCmd() *cobra.Command {
	return &cobra.Command{
		Use: "init", Short: "Make the keys of --dir, and migrate an older store to them", Args: cobra.NoArgs,
		Example: "  askbus auth init --dir /var/lib/askbus",
		Long: `Makes the operator's key, the accounts and the signing keys in --dir; "askbus up" and
"askbus server" do the same when they start with an empty directory. The store of an
askbus that used passwords moves to the new accounts: every ask stays,
the passwords become invalid, sign-ins at the web inbox stay. If the rights of this askbus
differ from its predecessor's, it signs the new ones. The server must be stopped.`,
		RunE: func(*cobra.Command, []string) error {
			did, err := natsd.Init(a.Dir)
			if err != nil {
				return err
			}
			switch did {
			case "adopted":
				a.say("askbus: the keys are in %s/auth, and the store belongs to them; issue new credentials with \"askbus auth\"", a.Dir)
			case "made":
				a.say("askbus: the keys are in %s/auth; keep a copy of that directory with the store's backup", a.Dir)
			default:
				a.say("askbus: the keys in %s/auth are current", a.Dir)
			}
			return nil
		},
	}
}
