package operator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/client"
	"github.com/spf13/cobra"
)

// BrokerCreds are a broker's credentials, one for each of its connections.
type BrokerCreds struct {
	Service client.Credential `json:"service"`
	Ledger  client.Credential `json:"ledger"`
	Clock   client.Credential `json:"clock,omitzero"` // asks the servers for their time; it may be missing
	Account string            `json:"account"`        // the account's JWT, with the keys that sign credentials
}

// MakeBrokerCreds makes the credentials, each with give.
func MakeBrokerCreds(give func(rights.Role) (client.Credential, error)) (c BrokerCreds, err error) {
	for role, cred := range map[string]*client.Credential{rights.RoleBroker: &c.Service, rights.RoleLedger: &c.Ledger, rights.RoleClock: &c.Clock} {
		if *cred, err = give(rights.Role{Name: role}); err != nil {
			return c, err
		}
	}
	return c, nil
}

// LoadBrokerCreds returns the credentials of ASKBUS_CREDS, which are read again when
// they are renewed, or makes them with the directory's keys.
func LoadBrokerCreds(a *cli.App) (BrokerCreds, error) {
	if a.Creds == "" {
		return MakeBrokerCreds(a.Local)
	}
	c, err := ReadBrokerCreds(a.Creds)
	if err != nil {
		return c, err
	}
	for cred, again := range map[*client.Credential]func(*BrokerCreds) string{
		&c.Service: func(c *BrokerCreds) string { return c.Service.Creds },
		&c.Ledger:  func(c *BrokerCreds) string { return c.Ledger.Creds },
		&c.Clock:   func(c *BrokerCreds) string { return c.Clock.Creds },
	} {
		cred.URL = cmp.Or(a.NATS.URL, cred.URL)
		cred.Renew = func() (string, error) {
			c, err := ReadBrokerCreds(a.Creds)
			return again(&c), err
		}
	}
	return c, nil
}

// ReadBrokerCreds reads a broker's credentials from a file.
func ReadBrokerCreds(path string) (c BrokerCreds, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("a broker's ASKBUS_CREDS is a file, as \"askbus auth broker\" prints it: %w", err)
	}
	if err := json.Unmarshal(data, &c); err != nil || c.Service.Creds == "" || c.Ledger.Creds == "" {
		return c, fmt.Errorf("%s does not hold what \"askbus auth broker\" prints: service and ledger", path)
	}
	return c, nil
}

// AuthCmd groups the commands that make, list and revoke NATS credentials.
func AuthCmd(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "auth", Short: "Make, list and revoke NATS credentials",
		Example: "  askbus auth agent --session s1 --output text > s1.creds\n  askbus auth list\n  askbus auth revoke agent/default/s1",
		Long: `Every NATS credential is a user's signed JWT and key, with the rights of one role; it
expires and can be revoked. The signing keys are in the directory "auth" inside
--dir: a process that can read them can act as anybody. Processes that use the same --dir make
their own credentials and need none of these.`,
	}
	cmd.AddCommand(authInitCmd(a), authListCmd(a), authRevokeCmd(a), authRotateCmd(a), authConfigCmd(a), authRolesCmd(a))
	for _, r := range handedOut() {
		cmd.AddCommand(authRoleCmd(a, r))
	}
	return cmd
}

// handed is a role for which credentials are issued.
type handed struct {
	role, short, example   string
	typ, allowAll, asserts bool
	asks                   bool
}

func handedOut() []handed {
	return []handed{
		{role: rights.RoleAgent, short: "Asks in one --session, or with --all-sessions in every session of a tenant; never answers", example: "askbus auth agent --session s1 --expires 24h\n  askbus auth agent --session s1 --asker oidc:id.example.com#mei@example.com", allowAll: true, asks: true},
		{role: rights.RoleResponder, short: "Answers as one --type; limited to --tenant and --session if given", example: "askbus auth responder --type slack --output json\n  askbus auth responder --type teams --asserts 'oidc=oidc:*' --group platform", typ: true, asserts: true},
		{role: rights.RoleHost, short: "Answers at the dialog of an agent's own host, for one --session", example: "askbus auth host --session s1 --asserts host-dialog=os:mei", asserts: true},
		{role: rights.RoleGateway, short: "Serves the HTTP API", example: "askbus auth gateway --output text > gateway.creds", asserts: true},
		{role: rights.RoleIssuer, short: "Exchanges tokens for credentials; the signing keys stay in its --dir", example: "askbus auth issuer --output text > issuer.creds"},
		{role: rights.RoleOperator, short: "Everything but the ledger; answers as itself", example: "askbus auth operator --expires 8h --asserts os=os:mei", asserts: true, asks: true},
		{role: rights.RoleAuditor, short: "Only reads the audit, of all tenants or of one --tenant", example: "askbus auth auditor --output json > auditor.json\n  askbus auth auditor --tenant acme --expires 720h"},
		{role: rights.RoleBroker, short: "Reads and writes the ledger and answers everybody, as a broker", example: "askbus auth broker > broker.json"},
		{role: rights.RoleMaintenance, short: "Saves, restores, changes and moves the ledger's streams; short-lived", example: "askbus auth maintenance --output text > admin.creds"},
		{role: rights.RoleLeaf, short: "Connects a NATS server of another region, and can ask and abort for everybody on the bus", example: "askbus auth leaf --output text > leaf.creds"},
		{role: rights.RoleBackup, short: "Reads the ledger for backups, and says so in the audit", example: "askbus auth backup > backup.json"},
	}
}

// credFlags are the flags of commands that issue a credential.
type credFlags struct {
	typ, note       string
	asserts, groups []string
	asker           []string
	all             bool
	expires         time.Duration
}

func authRoleCmd(a *cli.App, h handed) *cobra.Command {
	var f credFlags
	form := `

On a terminal, and with --output text, it is a NATS .creds file, and the rest goes
to standard error. A NATS client must set the inbox prefix, or its requests get no
replies; askbus clients read it from the credential.`
	if h.role == rights.RoleBroker || h.role == rights.RoleBackup {
		form = "\n\nIt is printed as JSON, with a credential for each connection."
	}
	cmd := &cobra.Command{
		Use: h.role, Short: "Print a credential: " + h.short, Args: cobra.NoArgs, Example: "  " + h.example,
		Long: "Prints a credential and records it in the list (\"askbus auth list\"). Its rights:\n" + h.short + "." + form,
		RunE: func(cmd *cobra.Command, _ []string) error { return handOut(a, cmd, h.role, f) },
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
	if h.asks {
		flags.StringArrayVar(&f.asker, "asker", nil, "a principal of the person for whom it asks, such as oidc:id.example.com#mei@example.com: exclude_asker and policies count them")
	}
	flags.DurationVar(&f.expires, "expires", rights.Role{Name: h.role}.Life(), "how long it is valid")
	flags.StringVar(&f.note, "note", "", "note for the list, such as who it is for")
}

// handOut prints a credential.
func handOut(a *cli.App, cmd *cobra.Command, name string, f credFlags) error {
	role := rights.Role{Name: name, Type: f.typ}
	switch role.Name {
	case rights.RoleAgent:
		role.Tenant, role.Session = a.Tenant, a.Session
		if role.Session == "" {
			role.Session = cli.TerminalSession()
		}
		if f.all {
			role.Session = ""
		}
	case rights.RoleAuditor:
		if cmd.Flags().Changed("tenant") {
			role.Tenant = a.Tenant
		}
	case rights.RoleResponder:
		if cmd.Flags().Changed("tenant") || a.Session != "" {
			role.Tenant, role.Session = a.Tenant, a.Session
		}
	case rights.RoleHost:
		role.Tenant, role.Session = a.Tenant, a.Session
	}
	if err := role.Validate(); err != nil {
		return cli.Usage("%w", err)
	}
	may, err := f.assertions(cmd, role)
	if err != nil {
		return err
	}
	if most := role.MostLife(); f.expires < time.Second || f.expires > most {
		return cli.Usage("invalid --expires %s: use 1s to %s", f.expires, most)
	}
	keys, url, err := a.Keys()
	if err != nil {
		return err
	}
	give := func(r rights.Role) (client.Credential, error) {
		c, err := keys.HandOut(url, r, may, f.expires, f.note)
		return client.Credential(a.CarryTrust(c)), err
	}
	c, err := credsOf(keys.Dir(), role, give)
	if err != nil {
		return err
	}
	if one, ok := c.(client.Credential); ok {
		return printCred(a, one)
	}
	return a.TellJSON(c)
}

// credsOf makes what the file of a role holds: its credential, or all of those that a broker or a backup needs.
func credsOf(dir string, r rights.Role, give func(rights.Role) (client.Credential, error)) (any, error) {
	switch r.Name {
	case rights.RoleBroker:
		c, err := MakeBrokerCreds(give)
		if err == nil {
			c.Account, err = rights.BusAccount(dir)
		}
		return c, err
	case rights.RoleBackup:
		return makeBackupCreds(give)
	}
	return give(r)
}

// assertions returns the identities that a credential may assert: those of the flags, else the
// default of its role; and for whom it asks.
func (f *credFlags) assertions(cmd *cobra.Command, role rights.Role) (assertion.Set, error) {
	may := role.Assertions()
	if cmd.Flags().Changed("asserts") || cmd.Flags().Changed("group") {
		may = assertion.Set{Proven: f.asserts, Groups: f.groups}
		if slices.Equal(f.asserts, []string{"none"}) {
			may.Proven = nil
		}
	}
	may.Asker = f.asker
	if err := role.MayAssert(may); err != nil {
		return may, cli.Usage("--asserts, --group, --asker: %w", err)
	}
	return may, nil
}

func printCred(a *cli.App, c client.Credential) error {
	if a.JSON() {
		return a.TellJSON(c)
	}
	fmt.Fprint(a.Stdout, c.Creds)
	a.Note("role          %s\nurl           %s\ninbox prefix  %s\nexpires       %s", c.Name, c.URL, c.InboxPrefix, c.Expires.Format(time.RFC3339))
	return nil
}

// ExistingKeys reads the keys of a directory; it makes none.
func ExistingKeys(dir string) (*rights.Issuer, error) {
	if !rights.HasKeys(dir) {
		return nil, cli.Usage("there are no keys in %s; set --dir to the server's, or give --creds", dir)
	}
	return rights.LoadIssuer(dir)
}

func authInitCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "init", Short: "Make the keys of --dir, or sign the rights of this askbus with them", Args: cobra.NoArgs,
		Example: "  askbus auth init --dir /var/lib/askbus",
		Long: `Makes the operator's key, the accounts and the signing keys in --dir; "askbus up" and
"askbus server" do the same when they start with an empty directory. If the rights of this askbus
differ from its predecessor's, it signs the new ones. The server must be stopped.`,
		RunE: func(*cobra.Command, []string) error {
			did, err := natsd.Init(a.Dir)
			if err != nil {
				return err
			}
			switch did {
			case "adopted":
				a.Note("askbus: the keys are in %s/auth, and the store belongs to them; issue new credentials with \"askbus auth\"", a.Dir)
			case "made":
				a.Note("askbus: the keys are in %s/auth; keep a copy of that directory with the store's backup", a.Dir)
			default:
				a.Note("askbus: the keys in %s/auth are current", a.Dir)
			}
			return nil
		},
	}
}
