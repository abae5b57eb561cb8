package rights

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/servertime"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/identity"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/jwt/v2"
)

// SubjectConnections is where the server reports an account's connections.
const SubjectConnections = "$SYS.ACCOUNT.%s.*"

// Subjects of the system account.
const (
	SubjectMembers = subject.Servers
	SubjectRemove  = "$JS.API.SERVER.REMOVE"

	// SubjectRevocations is where those who follow a directory of keys tell each
	// other what is revoked there (ADR 0187).
	SubjectRevocations = "revokedv1"
)

// Probe is in every subject on which "askbus doctor" tries what a role must not do. No ask, stream or surface has this
// name, so the server's log has such a refusal only at debug.
const Probe = "doctor-probe"

// Role is the role of a connection, which determines its permissions
// (docs/protocol.md, section 7). Type, Tenant and Session restrict it, as far
// as the role has them.
type Role struct {
	Name    string // one of the Role constants
	Type    string // responder
	Tenant  string // agent, host; responder, auditor: optional
	Session string // host; agent: optional; responder: optional, needs Tenant
}

// The roles. The broker has two connections: its service answers requests, and
// only its ledger connection may write to the streams. Only maintenance may
// change their settings and move their leaders; it reads all of them, as does
// backup, which may nothing else, in an account of its own, because JetStream
// replies to any subject of the ledger's account that a request names. It has a
// second connection, saved, that says so in the audit. Cluster and
// clock are in the system account; the first is not handed out, it exists for
// natsd.RemoveNode, and the second is a broker's third connection. The
// administrators exist only on servers of tests and benchmarks.
const (
	RoleAgent       = "agent"
	RoleResponder   = "responder"
	RoleHost        = "host"
	RoleGateway     = "gateway"
	RoleOperator    = "operator"
	RoleBroker      = "broker"
	RoleLedger      = "ledger"
	RoleIssuer      = "issuer"  // exchanges tokens for credentials
	RoleAuditor     = "auditor" // reads the audit, and nothing else
	RoleMaintenance = "maintenance"
	RoleBackup      = "backup"       // reads the ledger, from an account of its own
	RoleSaved       = "saved"        // reports a backup to the audit, and nothing else; it comes with backup
	RoleLeaf        = "leaf"         // a NATS server of another region, for whose clients it speaks
	RoleCluster     = "cluster"      // lists and removes the nodes of a cluster; in the servers' account, and never handed out
	RoleClock       = "clock"        // asks the servers for their time and for what is revoked
	RoleRevocations = "revocations"  // tells the servers what an issuer's directory has revoked; in the servers' account
	RoleGuard       = "guard"        // watches connections and follows revocations; of the server's own process
	RoleAdmin       = "admin"        // everything in the account of clients
	RoleLedgerAdmin = "ledger-admin" // everything in the account of the ledger
)

// User returns the NATS user name of the role; [ParseUser] parses it.
func (r Role) User() string {
	parts := []string{r.Name}
	for _, part := range []string{r.Type, r.Tenant, r.Session} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "/")
}

// Validate returns an error if a field of the role is missing, not allowed or
// invalid.
func (r Role) Validate() error {
	for _, v := range []struct{ name, value string }{{"type", r.Type}, {"tenant", r.Tenant}, {"session", r.Session}} {
		if v.value != "" && !ask.ValidToken(v.value) {
			return fmt.Errorf("%s %q is invalid: use 1 to %d of A-Z a-z 0-9 _ -", v.name, v.value, ask.MaxToken)
		}
	}
	switch r.Name {
	case RoleAgent:
		if r.Tenant == "" || r.Type != "" {
			return fmt.Errorf("an agent needs a tenant, usually a session, and no type")
		}
	case RoleResponder:
		if r.Type == "" || r.Tenant == "" && r.Session != "" {
			return fmt.Errorf("a responder needs a type; with a session it also needs the tenant")
		}
		if r.Type == subject.TypeGateway || r.Type == subject.TypeOperator || r.Type == subject.TypeAgent {
			return fmt.Errorf("the type %s is reserved for a role; use \"askbus auth %s\"", r.Type, r.Type)
		}
	case RoleHost:
		if r.Tenant == "" || r.Session == "" || r.Type != "" {
			return fmt.Errorf("a host needs a tenant and a session, and no type")
		}
	case RoleAuditor:
		if r.Type != "" || r.Session != "" {
			return fmt.Errorf("an auditor has no type or session; with a tenant it reads only that tenant's records")
		}
	case RoleGateway, RoleOperator, RoleBroker, RoleLedger, RoleIssuer, RoleMaintenance, RoleBackup, RoleSaved, RoleLeaf, RoleCluster, RoleClock, RoleRevocations, RoleGuard, RoleAdmin, RoleLedgerAdmin:
		if r.Type != "" || r.Tenant != "" || r.Session != "" {
			return fmt.Errorf("%s has no type, tenant or session", r.Name)
		}
	default:
		return fmt.Errorf("no role %q: use agent, responder, host, gateway, operator, auditor, broker, issuer, backup or maintenance", r.Name)
	}
	return nil
}

// ParseUser parses a user name.
func ParseUser(user string) (Role, error) {
	parts := strings.Split(user, "/")
	r := Role{Name: parts[0]}
	rest := parts[1:]
	if r.Name == RoleResponder && len(rest) > 0 {
		r.Type, rest = rest[0], rest[1:]
	}
	if len(rest) > 2 {
		return Role{}, fmt.Errorf("user %q has too many parts", user)
	}
	if len(rest) > 0 {
		r.Tenant = rest[0]
	}
	if len(rest) > 1 {
		r.Session = rest[1]
	}
	if err := r.Validate(); err != nil {
		return Role{}, fmt.Errorf("user %q: %w", user, err)
	}
	if r.User() != user {
		return Role{}, fmt.Errorf("user %q is malformed", user)
	}
	return r, nil
}

// InboxPrefix returns the prefix of the only inboxes that the role may
// subscribe to.
func (r Role) InboxPrefix() string {
	switch r.Name {
	case RoleAgent:
		return subject.InboxAgent(r.Tenant, r.Session)
	case RoleIssuer:
		return subject.InboxIssuer
	case RoleAuditor:
		return subject.InboxAuditor(r.Tenant)
	case RoleMaintenance:
		return subject.InboxMaintenance
	case RoleBackup:
		return subject.InboxBackup
	case RoleSaved:
		return subject.InboxSaved
	case RoleCluster, RoleRevocations, RoleGuard:
		return subject.InboxCluster
	case RoleClock:
		return subject.InboxClock
	case RoleAdmin, RoleLedgerAdmin:
		return "_INBOX.admin"
	case RoleResponder:
		return subject.InboxResponder(r.Type, r.Tenant, r.Session)
	case RoleHost:
		return subject.InboxHost(r.Tenant, r.Session)
	case RoleGateway:
		return subject.InboxGateway
	case RoleOperator:
		return subject.InboxOperator
	case RoleBroker:
		return subject.InboxBroker
	default:
		return subject.InboxLedger
	}
}

// Rights are the subjects that a role may use, and the replies it may send.
type Rights struct {
	Publish, Subscribe, DenyPublish []string
	Replies                         bool // one reply to each request received, within 5 s
}

// userKey is a template that the server replaces with the credential's public
// key.
const userKey = "{{subject()}}"

// Rights returns exactly the permissions of docs/protocol.md, sections 7 and
// 10.
func (r Role) Rights() Rights {
	rights := r.rights()
	if r.Name == RoleHost {
		return rights
	}
	session := r.Session
	if r.Name == RoleAgent && session == "" {
		session = "*"
	}
	publish, subscribe := subject.StateRights(subject.StateRole(r.Name), r.Type, r.Tenant, session)
	rights.Publish, rights.Subscribe = append(rights.Publish, publish...), append(rights.Subscribe, subscribe...)
	rights.Publish = append(rights.Publish, r.audits()...)
	return rights
}

// audits returns the audit's subjects for the role. A responder of a single
// session has none: an agent's screen may not write to it.
func (r Role) audits() []string {
	at := subject.AuditRequest{User: userKey, Tenant: r.Tenant, Type: r.Type, Verb: subject.VerbReport, Role: subject.StateRole(r.Name)}
	switch r.Name {
	case RoleAuditor:
		at.Verb, at.Role = subject.VerbRead, ""
		if own := at.String(); r.Tenant != "" {
			return []string{own}
		}
		one := at
		one.Tenant, one.Wide = "*", true
		return []string{one.String(), at.String()}
	case RoleOperator:
		read := at
		read.Verb = subject.VerbRead
		one := read
		one.Tenant = "*"
		return []string{read.String(), one.String(), at.String()}
	case RoleResponder:
		if r.Session == "" {
			return []string{at.String()}
		}
	case RoleGateway, RoleIssuer, RoleSaved:
		return []string{at.String()}
	}
	return nil
}

// rights returns the permissions for asks.
func (r Role) rights() Rights {
	out := func(kinds ...string) []string {
		var s []string
		for _, kind := range kinds {
			s = append(s, subject.OutAll(r.Tenant, r.Session, kind))
		}
		return s
	}
	inbox := r.InboxPrefix() + ".>"
	switch r.Name {
	case RoleAgent:
		return Rights{
			Publish:   []string{dots(subject.Agents, r.Tenant, r.Session, ">"), subject.AskedByAgent(userKey, r.Tenant, r.Session)},
			Subscribe: append(out(subject.Outcome), inbox),
		}
	case RoleResponder:
		here := dots(subject.Presence, r.Tenant, ">")
		if r.Session != "" {
			here = subject.Here(r.Tenant, r.Session)
		}
		publish := []string{dots(subject.Responders, r.Type, userKey, r.Tenant, r.Session, ">")}
		if r.Type == subject.TypeWeb && r.Session == "" { // it signs people in
			publish = append(publish, subject.Person(userKey, r.Tenant))
		}
		return Rights{
			Publish:   publish,
			Subscribe: append(out(subject.Question, subject.Outcome), subject.AttentionAll(r.Tenant, r.Session), here, inbox),
		}
	case RoleHost:
		return Rights{
			Publish:   []string{dots(subject.Hosts, userKey, r.Tenant, r.Session, ">")},
			Subscribe: []string{inbox},
		}
	case RoleGateway:
		return Rights{
			Publish:   []string{dots(subject.Responders, subject.TypeGateway, userKey, ">"), subject.Exchange},
			Subscribe: []string{dots(subject.Out, ">"), dots(subject.Presence, ">"), subject.AttentionAll("", ""), inbox},
		}
	case RoleAuditor, RoleSaved:
		return Rights{Subscribe: []string{inbox}}
	case RoleIssuer:
		return Rights{Subscribe: []string{subject.Exchange, subject.PersonAll, subject.PersonOfTenants, inbox}, Replies: true}
	case RoleOperator:
		return Rights{
			Publish:   []string{dots(subject.Operators, ">"), dots(subject.Responders, subject.TypeOperator, userKey, ">"), "$SRV.>"},
			Subscribe: []string{dots(subject.Out, ">"), inbox},
		}
	case RoleBroker:
		var replies []string
		for _, p := range []string{"a", "at", "r", "rt", "rs", "h", "op", "g", "i", "u", "ut", "sr"} {
			replies = append(replies, dots("_INBOX", p, ">"))
		}
		return Rights{
			Publish:   append(replies, dots(subject.Presence, ">"), subject.BrokerStats, dots(subject.BrokerSettings, "*")),
			Subscribe: []string{dots(subject.Agents, ">"), dots(subject.Responders, ">"), dots(subject.Hosts, ">"), dots(subject.Operators, ">"), dots(subject.State, ">"), dots(subject.Audit, ">"), dots(subject.Out, ">"), "$SRV.>", inbox},
		}
	case RoleLedger:
		return Rights{
			Publish:   []string{dots(subject.LedgerRoot, ">"), "$JS.API.>", "$JS.ACK.>", subject.Servers},
			Subscribe: []string{inbox},
			DenyPublish: []string{
				"$JS.API.STREAM.DELETE.>", "$JS.API.STREAM.UPDATE.>", "$JS.API.STREAM.RESTORE.>", "$JS.API.STREAM.SNAPSHOT.>",
				"$JS.API.STREAM.MSG.DELETE.>", "$JS.API.CONSUMER.DELETE.>",
			},
		}
	case RoleMaintenance:
		return Rights{
			Publish: []string{
				"$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST", "$JS.API.STREAM.INFO.*", "$JS.API.STREAM.UPDATE.*",
				"$JS.API.STREAM.SNAPSHOT.*", "$JS.API.STREAM.RESTORE.*", "$JS.SNAPSHOT.>",
				"$JS.API.DIRECT.GET.>", "$JS.API.STREAM.MSG.GET.*", "$JS.API.CONSUMER.LIST.*", "$JS.API.CONSUMER.INFO.*.*",
				"$JS.API.STREAM.PEER.REMOVE.*", "$JS.API.STREAM.LEADER.STEPDOWN.*", "$JS.API.CONSUMER.LEADER.STEPDOWN.*.*",
			},
			Subscribe: []string{inbox},
		}
	case RoleBackup:
		return Rights{
			Publish:   identity.Reading(),
			Subscribe: []string{inbox},
		}
	case RoleLeaf: // what agents and surfaces send and receive, but no reply in a broker's name, and nothing of the ledger
		var inboxes []string
		for _, p := range []string{"a", "at", "r", "rt", "rs", "h", "op", "g", "u", "ut"} {
			inboxes = append(inboxes, dots("_INBOX", p, ">"))
		}
		return Rights{
			Publish: []string{
				dots(subject.Agents, ">"), dots(subject.Responders, ">"), dots(subject.Hosts, ">"), dots(subject.Operators, ">"),
				dots(subject.State, ">"), dots(subject.Audit, ">"), dots(subject.Issue, ">"), "$SRV.>",
			},
			Subscribe: append(inboxes, dots(subject.Out, ">"), dots(subject.StateOut, ">"), dots(subject.Presence, ">"), subject.AttentionAll("", "")),
			// The broker believes the subject of shared state: what makes somebody else of a person, a token for years, or an end of a tenant is made at home.
			DenyPublish: []string{
				dots(subject.State, string(subject.StateOperator), "*", string(subject.VerbPut), ">"),
				dots(subject.Responders, subject.TypeOperator, "*", "*", string(subject.VerbRemove)),
				dots(subject.Responders, subject.TypeOperator, "*", "*", string(subject.VerbReadmit)),
				dots(subject.State, string(subject.StateResponder), subject.TypeWeb, subject.BucketPasskeys, string(subject.VerbPut), ">"),
			},
		}
	case RoleCluster:
		return Rights{Publish: []string{SubjectMembers, SubjectRemove}, Subscribe: []string{inbox}}
	case RoleClock:
		return Rights{Publish: []string{servertime.Subject, SubjectRevocations + ".digest"}, Subscribe: []string{SubjectRevocations + ".list", inbox}}
	case RoleGuard:
		return Rights{Publish: []string{dots(SubjectRevocations, "*")}, Subscribe: []string{fmt.Sprintf(SubjectConnections, "*"), dots(SubjectRevocations, "*")}}
	case RoleRevocations:
		return Rights{Publish: []string{dots(SubjectRevocations, "*")}, Subscribe: []string{dots(SubjectRevocations, "*")}}
	case RoleAdmin, RoleLedgerAdmin:
		return Rights{Publish: []string{">"}, Subscribe: []string{">"}}
	}
	return Rights{DenyPublish: []string{">"}}
}

func dots(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, ".")
}

func (r Rights) permissions() jwt.Permissions {
	p := jwt.Permissions{
		Pub: jwt.Permission{Allow: r.Publish, Deny: r.DenyPublish},
		Sub: jwt.Permission{Allow: r.Subscribe},
	}
	if r.Replies {
		p.Resp = &jwt.ResponsePermission{MaxMsgs: 1, Expires: 5 * time.Second}
	}
	return p
}

// inProcess is appended to the scope of a broker that runs in the server's own
// process: its credentials are not valid outside.
const inProcess = "-in-process"

// ofBroker reports whether a broker connects as the role.
func (r Role) ofBroker() bool {
	return r.Name == RoleBroker || r.Name == RoleLedger || r.Name == RoleClock
}

// scope returns the name of the role's scope. Each width is a separate scope,
// so that a missing tag never widens a permission.
func (r Role) scope() string {
	name := r.Name
	switch {
	case r.Name == RoleAgent && r.Session == "", r.Name == RoleAuditor && r.Tenant != "":
		name += "-tenant"
	case r.Name == RoleResponder && r.Session != "":
		return name + "-session"
	case r.Name == RoleResponder && r.Tenant != "":
		name += "-tenant"
	}
	if r.Name == RoleResponder && slices.Contains(special(), r.Type) {
		name += "-" + r.Type
	}
	return name
}

// special returns the responder types with permissions of their own.
func special() []string {
	var types []string
	for _, b := range subject.Buckets() {
		for _, g := range b.Grants {
			if g.Type != "" && !slices.Contains(types, g.Type) {
				types = append(types, g.Type)
			}
		}
	}
	return types
}

func (r Role) account() string {
	switch r.Name {
	case RoleLedger, RoleMaintenance, RoleLedgerAdmin:
		return identity.Ledger
	case RoleBackup:
		return identity.Backup
	case RoleCluster, RoleClock, RoleRevocations, RoleGuard:
		return identity.System
	}
	return identity.Bus
}

// tags returns the values for the template of the role's scope.
func (r Role) tags() map[string]string {
	t := map[string]string{}
	for name, value := range map[string]string{"type": r.Type, "tenant": r.Tenant, "session": r.Session} {
		if value != "" {
			t[name] = value
		}
	}
	return t
}

// Scopes returns all scopes of a bus, derived from the permissions.
func Scopes(admin bool) []identity.Scope {
	const typ, tenant, session = "{{tag(type)}}", "{{tag(tenant)}}", "{{tag(session)}}"
	roles := []Role{
		{Name: RoleAgent, Tenant: tenant, Session: session},
		{Name: RoleAgent, Tenant: tenant},
		{Name: RoleResponder, Type: typ},
		{Name: RoleResponder, Type: typ, Tenant: tenant},
		{Name: RoleResponder, Type: typ, Tenant: tenant, Session: session},
		{Name: RoleHost, Tenant: tenant, Session: session},
		{Name: RoleGateway},
		{Name: RoleIssuer},
		{Name: RoleOperator},
		{Name: RoleAuditor},
		{Name: RoleAuditor, Tenant: tenant},
		{Name: RoleBroker},
		{Name: RoleLedger},
		{Name: RoleMaintenance},
		{Name: RoleBackup},
		{Name: RoleSaved},
		{Name: RoleLeaf},
		{Name: RoleCluster},
		{Name: RoleClock},
		{Name: RoleRevocations},
	}
	for _, t := range special() {
		roles = append(roles, Role{Name: RoleResponder, Type: t}, Role{Name: RoleResponder, Type: t, Tenant: tenant})
	}
	if admin {
		roles = append(roles, Role{Name: RoleAdmin}, Role{Name: RoleLedgerAdmin})
	}
	guard := Role{Name: RoleGuard}
	all := []identity.Scope{{Name: guard.scope() + inProcess, Account: guard.account(), Permissions: guard.Rights().permissions(), Subscriptions: guard.subscriptions(), InProcess: true}}
	for _, r := range roles {
		s := identity.Scope{Name: r.scope(), Account: r.account(), Permissions: r.Rights().permissions(), Subscriptions: r.subscriptions(), Leaf: r.Name == RoleLeaf}
		all = append(all, s)
		if r.ofBroker() {
			s.Name, s.InProcess = s.Name+inProcess, true
			all = append(all, s)
		}
	}
	return all
}
