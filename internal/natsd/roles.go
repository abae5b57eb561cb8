package natsd

import (
	"fmt"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats-server/v2/server"
)

// Role is what a connection is, and so what it may do (docs/protocol.md,
// section 7). Type, Tenant and Session narrow it, as far as the role has them.
type Role struct {
	Name    string // one of the Role constants
	Type    string // responder
	Tenant  string // agent; responder: optional
	Session string // agent; responder: optional, needs Tenant
}

// The roles. The broker has two connections: its service answers requests, its
// ledger connection alone may touch the streams.
const (
	RoleAgent     = "agent"
	RoleResponder = "responder"
	RoleGateway   = "gateway"
	RoleOperator  = "operator"
	RoleBroker    = "broker"
	RoleLedger    = "ledger"
)

// User is the NATS user name of the role; [ParseUser] reads it back.
func (r Role) User() string {
	parts := []string{r.Name}
	for _, part := range []string{r.Type, r.Tenant, r.Session} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "/")
}

// Validate says what the role lacks, has too much of, or has wrong.
func (r Role) Validate() error {
	for _, v := range []struct{ name, value string }{{"type", r.Type}, {"tenant", r.Tenant}, {"session", r.Session}} {
		if v.value != "" && !ask.ValidToken(v.value) {
			return fmt.Errorf("%s %q is no token: use 1 to %d of A-Z a-z 0-9 _ -", v.name, v.value, ask.MaxToken)
		}
	}
	switch r.Name {
	case RoleAgent:
		if r.Tenant == "" || r.Session == "" || r.Type != "" {
			return fmt.Errorf("an agent has a tenant and a session, and no type")
		}
	case RoleResponder:
		if r.Type == "" || r.Tenant == "" && r.Session != "" {
			return fmt.Errorf("a responder has a type; with a session it needs the tenant too")
		}
	case RoleGateway, RoleOperator, RoleBroker, RoleLedger:
		if r.Type != "" || r.Tenant != "" || r.Session != "" {
			return fmt.Errorf("%s has no type, tenant or session", r.Name)
		}
	default:
		return fmt.Errorf("no role %q: use agent, responder, gateway, operator or broker", r.Name)
	}
	return nil
}

// ParseUser reads a user name.
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

// InboxPrefix is the prefix of the only inboxes that the role may subscribe to.
func (r Role) InboxPrefix() string {
	switch r.Name {
	case RoleAgent:
		return subject.InboxAgent(r.Tenant, r.Session)
	case RoleResponder:
		return subject.InboxResponder(r.Type, r.Tenant, r.Session)
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

// Rights are the subjects that the role may use, and the replies it may send.
type Rights struct {
	Publish, Subscribe, DenyPublish []string
	Replies                         bool // one reply to each request received, within 5 s
}

// Rights are exactly those of docs/protocol.md, section 7.
func (r Role) Rights() Rights {
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
			Publish:   []string{dots(subject.Agents, r.Tenant, r.Session, ">")},
			Subscribe: append(out(subject.Outcome), inbox),
		}
	case RoleResponder:
		here := dots(subject.Presence, r.Tenant, ">")
		if r.Session != "" {
			here = subject.Here(r.Tenant, r.Session)
		}
		return Rights{
			Publish:   []string{dots(subject.Responders, r.Type, r.Tenant, r.Session, ">")},
			Subscribe: append(out(subject.Question, subject.Outcome), here, inbox),
			Replies:   true,
		}
	case RoleGateway:
		return Rights{
			Publish:   []string{dots(subject.Agents, ">"), dots(subject.Responders, "gateway", ">")},
			Subscribe: []string{dots(subject.Out, ">"), dots(subject.Presence, ">"), inbox},
			Replies:   true,
		}
	case RoleOperator:
		return Rights{
			Publish:   []string{dots(subject.Operators, ">"), dots(subject.Agents, ">"), dots(subject.Responders, ">"), "$SRV.>"},
			Subscribe: []string{dots(subject.Out, ">"), inbox},
		}
	case RoleBroker:
		var replies []string
		for _, p := range []string{"a", "r", "rt", "rs", "op", "g"} {
			replies = append(replies, dots("_INBOX", p, ">"))
		}
		return Rights{
			Publish:   append(replies, dots(subject.Presence, ">")),
			Subscribe: []string{dots(subject.Agents, ">"), dots(subject.Responders, ">"), dots(subject.Operators, ">"), dots(subject.Out, ">"), "$SRV.>", inbox},
		}
	case RoleLedger:
		return Rights{
			Publish:   []string{dots(subject.LedgerRoot, ">"), "$JS.API.>", "$JS.ACK.>"},
			Subscribe: []string{inbox},
			DenyPublish: []string{
				"$JS.API.STREAM.DELETE.>", "$JS.API.STREAM.UPDATE.>", "$JS.API.STREAM.RESTORE.>", "$JS.API.STREAM.SNAPSHOT.>",
				"$JS.API.STREAM.MSG.DELETE.>", "$JS.API.CONSUMER.DELETE.>",
			},
		}
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

func (r Rights) permissions() *server.Permissions {
	p := &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: r.Publish, Deny: r.DenyPublish},
		Subscribe: &server.SubjectPermission{Allow: r.Subscribe},
	}
	if r.Replies {
		p.Response = &server.ResponsePermission{MaxMsgs: 1, Expires: 5 * time.Second}
	}
	return p
}
