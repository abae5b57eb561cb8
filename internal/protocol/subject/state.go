package subject

import (
	"fmt"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// The subjects of shared state (docs/protocol.md, section 10). Requests have
// their own first token: below that of asks, a bucket could not be
// distinguished from a tenant, and a permission ending in ">" would cover every
// bucket.
const (
	State       = "kvv1"                // requests to the broker
	StateOut    = "statev1"             // changes, republished
	StateLedger = LedgerRoot + ".state" // the entries; for the broker only
	StateStream = "STATE"               // the name of their stream
)

// noTenant replaces the tenant in the key of an entry without one. It is not a
// valid tenant name.
const noTenant = "~"

// Verbs of shared state, in addition to [VerbGet] and [VerbList]. Watching is
// not a request but the right to subscribe to changes.
const (
	VerbPut    Verb = "put"
	VerbDelete Verb = "delete"
	VerbWatch  Verb = "watch"
)

// StateRole is the sender's role of a request about shared state.
type StateRole string

// The roles, as used in subjects.
const (
	StateAgent     StateRole = "agent"
	StateResponder StateRole = "responder"
	StateGateway   StateRole = "gateway"
	StateOperator  StateRole = "operator"
	StateIssuer    StateRole = "issuer"
	StateSaved     StateRole = "saved" // reports backups to the audit; it has no shared state
)

// StateKey names one entry of a bucket. An empty Tenant means no tenant.
type StateKey struct {
	Tenant string
	Name   string // one to four tokens separated by dots
}

// Bounds of a key.
const (
	maxKeyTokens = 4
	maxStateKey  = 200
)

// Valid reports whether k is the key of an entry.
func (k StateKey) Valid() bool {
	return (k.Tenant == "" || ask.ValidToken(k.Tenant)) && validName(k.Name)
}

func validName(name string) bool {
	if len(name) > maxStateKey || strings.Count(name, ".") >= maxKeyTokens {
		return false
	}
	for token := range strings.SplitSeq(name, ".") {
		if !ask.ValidToken(token) {
			return false
		}
	}
	return true
}

// String returns the key as used in subjects.
func (k StateKey) String() string { return k.scope() + "." + k.Name }

func (k StateKey) scope() string {
	if k.Tenant == "" {
		return noTenant
	}
	return k.Tenant
}

// StateRequest is a parsed request about shared state.
type StateRequest struct {
	Role    StateRole
	Type    string // responders: the responder type
	Tenant  string // agents: the tenant of the credential
	Session string // agents: its session
	Bucket  string
	Verb    Verb
	Every   bool     // list: of every tenant
	Key     StateKey // list: only its Tenant
}

// ParseState reads a request subject:
//
//	kvv1.agent.<tenant>.<session>.<bucket>.<verb>           the key is the session
//	kvv1.responder.<type>.<bucket>.<verb>.<tenant or ~>.<key>
//	kvv1.gateway.<bucket>.<verb>.<tenant or ~>.<key>
//	kvv1.operator.<bucket>.<verb>.<tenant or ~>.<key>
//	kvv1.issuer.<bucket>.<verb>.<tenant or ~>.<key>
//
// A list has no key, and without a tenant it is about all of them.
func ParseState(subject string) (StateRequest, error) {
	wrong := fmt.Errorf("subject %q: not a request about shared state", subject)
	t := strings.Split(subject, ".")
	if len(t) < 4 || t[0] != State {
		return StateRequest{}, wrong
	}
	r := StateRequest{Role: StateRole(t[1])}
	rest := t[2:]
	switch r.Role {
	case StateAgent:
		if len(rest) != 4 || !ask.ValidToken(rest[0]) || !ask.ValidToken(rest[1]) {
			return StateRequest{}, wrong
		}
		r.Tenant, r.Session = rest[0], rest[1]
		rest = append(rest[2:4:4], r.Tenant, r.Session)
	case StateResponder:
		if !ask.ValidToken(rest[0]) {
			return StateRequest{}, wrong
		}
		r.Type, rest = rest[0], rest[1:]
	case StateGateway, StateOperator, StateIssuer:
	case StateSaved:
		return StateRequest{}, wrong
	default:
		return StateRequest{}, wrong
	}
	if len(rest) < 2 || !ask.ValidToken(rest[0]) {
		return StateRequest{}, wrong
	}
	r.Bucket, r.Verb, rest = rest[0], Verb(rest[1]), rest[2:]
	if len(rest) > 0 && rest[0] != noTenant {
		if r.Key.Tenant = rest[0]; !ask.ValidToken(r.Key.Tenant) {
			return StateRequest{}, wrong
		}
	}
	switch r.Verb {
	case VerbList:
		if r.Every = len(rest) == 0; len(rest) > 1 {
			return StateRequest{}, wrong
		}
	case VerbGet, VerbPut, VerbDelete:
		if len(rest) < 2 {
			return StateRequest{}, wrong
		}
		if r.Key.Name = strings.Join(rest[1:], "."); !validName(r.Key.Name) {
			return StateRequest{}, wrong
		}
	default:
		return StateRequest{}, wrong
	}
	return r, nil
}

// String returns the subject that [ParseState] parses to r.
func (r StateRequest) String() string {
	switch begin := r.upToVerb(); {
	case r.Role == StateAgent, r.Verb == VerbList && r.Every:
		return begin
	case r.Verb == VerbList:
		return begin + "." + r.Key.scope()
	default:
		return begin + "." + r.Key.String()
	}
}

func (r StateRequest) upToVerb() string {
	parts := []string{State, string(r.Role)}
	switch r.Role {
	case StateAgent:
		parts = append(parts, r.Tenant, r.Session)
	case StateResponder:
		parts = append(parts, r.Type)
	case StateGateway, StateOperator, StateIssuer, StateSaved:
	}
	return strings.Join(append(parts, r.Bucket, string(r.Verb)), ".")
}

// Allowed reports whether [Buckets] allows the request.
func (r StateRequest) Allowed() bool {
	b, ok := FindBucket(r.Bucket)
	return ok && b.May(r.Role, r.Type, r.Verb) && (r.Verb == VerbList || strings.HasPrefix(r.Key.Name, b.begins(r.Role, r.Type)))
}

// StateReplyAllowed reports whether the broker may reply to the request at
// reply.
func StateReplyAllowed(r StateRequest, reply string) bool {
	if r.Role == StateAgent {
		return inInbox(reply, []string{InboxAgent(r.Tenant, r.Session), InboxAgent(r.Tenant, "")})
	}
	return inInbox(reply, inboxes(r.Role, r.Type, r.Key.Tenant))
}

// inboxes returns the inbox prefixes of a role other than an agent's: of a responder those of its type, in every
// tenant and in one.
func inboxes(role StateRole, typ, tenant string) []string {
	switch role {
	case StateResponder:
		if tenant == "" {
			return []string{InboxResponder(typ, "", "")}
		}
		return []string{InboxResponder(typ, "", ""), InboxResponder(typ, tenant, "")}
	case StateGateway:
		return []string{InboxGateway}
	case StateOperator:
		return []string{InboxOperator}
	case StateIssuer:
		return []string{InboxIssuer}
	case StateSaved:
		return []string{InboxSaved}
	case StateAgent:
	}
	return nil
}

// LedgerState returns the ledger subject of an entry.
func LedgerState(bucket string, k StateKey) string {
	return StateLedger + "." + bucket + "." + k.String()
}

// LedgerStateAll returns the wildcard over a bucket's entries: of one tenant
// (empty: of no tenant), or of all.
func LedgerStateAll(bucket, tenant string, every bool) string {
	return StateLedger + "." + below(bucket, tenant, every)
}

// OutState returns the wildcard over a bucket's republished changes, likewise.
func OutState(bucket, tenant string, every bool) string {
	return StateOut + "." + below(bucket, tenant, every)
}

func below(bucket, tenant string, every bool) string {
	if every {
		return bucket + ".>"
	}
	return bucket + "." + StateKey{Tenant: tenant}.scope() + ".>"
}

// ParseStateEntry parses the subject of an entry, in the ledger or republished.
func ParseStateEntry(subject string) (bucket string, k StateKey, ok bool) {
	rest, ok := strings.CutPrefix(subject, StateOut+".")
	if !ok {
		if rest, ok = strings.CutPrefix(subject, StateLedger+"."); !ok {
			return "", StateKey{}, false
		}
	}
	t := strings.SplitN(rest, ".", 3)
	if len(t) != 3 {
		return "", StateKey{}, false
	}
	k = StateKey{Name: t[2]}
	if t[1] != noTenant {
		k.Tenant = t[1]
	}
	return t[0], k, k.Valid()
}
