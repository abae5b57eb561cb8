package subject

import (
	"fmt"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// The subjects of the audit. Requests carry the key of the credential, like
// those of responders. A request for one tenant has one token more than a
// request for all, so that no tenant's name can mean all of them.
const (
	Audit       = "auditv1"             // requests to the broker
	AuditLedger = LedgerRoot + ".audit" // the records; for the broker only
	AuditStream = "AUDIT"               // the name of their stream
)

// VerbRead reads the audit.
const VerbRead Verb = "read"

// VerbReport adds a record of what no broker sees.
const VerbReport Verb = "report"

// AuditRecord is the kind of records written by a broker. The server's copies
// have the kinds [Question] and [Outcome].
const AuditRecord = "a"

// AuditRequest is a parsed request about the audit.
type AuditRequest struct {
	User   string // the public key of the credential, which NATS checks
	Tenant string // empty: all
	Role   StateRole
	Type   string // of a reporting responder
	Wide   bool   // an auditor of every tenant reads Tenant
	Verb   Verb
}

// auditorOfAll is the token of an auditor of every tenant that reads one.
const auditorOfAll = "auditor"

// ParseAudit reads a request subject:
//
//	auditv1.<key>.read                       an auditor of every tenant
//	auditv1.<key>.read.auditor.<tenant>      the same, about one
//	auditv1.<key>.<tenant>.read              an auditor of one
//	auditv1.<key>.read.operator[.<tenant>]   an operator
//	auditv1.<key>.report.gateway | report.issuer | report.operator | report.saved
//	auditv1.<key>.report.responder.<type>            a surface of every tenant
//	auditv1.<key>.report.responder.<type>.<tenant>   a surface of one
func ParseAudit(subject string) (AuditRequest, error) {
	wrong := fmt.Errorf("subject %q: not a request about the audit", subject)
	t := strings.Split(subject, ".")
	if len(t) < 3 || t[0] != Audit || !ValidUser(t[1]) {
		return AuditRequest{}, wrong
	}
	r := AuditRequest{User: t[1]}
	switch rest := t[2:]; {
	case len(rest) == 1 && Verb(rest[0]) == VerbRead:
		r.Verb = VerbRead
	case len(rest) == 2 && Verb(rest[1]) == VerbRead && ask.ValidToken(rest[0]):
		r.Verb, r.Tenant = VerbRead, rest[0]
	case len(rest) == 2 && Verb(rest[0]) == VerbRead && StateRole(rest[1]) == StateOperator:
		r.Verb, r.Role = VerbRead, StateOperator
	case len(rest) == 3 && Verb(rest[0]) == VerbRead && ask.ValidToken(rest[2]) && (StateRole(rest[1]) == StateOperator || rest[1] == auditorOfAll):
		if r.Verb, r.Tenant = VerbRead, rest[2]; rest[1] == auditorOfAll {
			r.Wide = true
		} else {
			r.Role = StateOperator
		}
	case len(rest) == 2 && Verb(rest[0]) == VerbReport && reporter(StateRole(rest[1])):
		r.Verb, r.Role = VerbReport, StateRole(rest[1])
	case (len(rest) == 3 || len(rest) == 4 && ask.ValidToken(rest[3])) && Verb(rest[0]) == VerbReport && StateRole(rest[1]) == StateResponder && ask.ValidToken(rest[2]):
		if r.Verb, r.Role, r.Type = VerbReport, StateResponder, rest[2]; len(rest) == 4 {
			r.Tenant = rest[3]
		}
	default:
		return AuditRequest{}, wrong
	}
	return r, nil
}

// reporter reports whether a role other than a surface's may report.
func reporter(role StateRole) bool {
	return role == StateGateway || role == StateIssuer || role == StateOperator || role == StateSaved
}

// String returns the subject that [ParseAudit] parses to r.
func (r AuditRequest) String() string {
	parts := []string{Audit, r.User}
	switch {
	case r.Verb == VerbReport && r.Role == StateResponder:
		if parts = append(parts, string(VerbReport), string(r.Role), r.Type); r.Tenant != "" {
			parts = append(parts, r.Tenant)
		}
	case r.Verb == VerbReport:
		parts = append(parts, string(VerbReport), string(r.Role))
	case r.Role == StateOperator:
		if parts = append(parts, string(r.Verb), string(r.Role)); r.Tenant != "" {
			parts = append(parts, r.Tenant)
		}
	case r.Wide && r.Tenant != "":
		parts = append(parts, string(r.Verb), auditorOfAll, r.Tenant)
	case r.Tenant != "":
		parts = append(parts, r.Tenant, string(r.Verb))
	default:
		parts = append(parts, string(r.Verb))
	}
	return strings.Join(parts, ".")
}

// AuditReplyAllowed reports whether the broker may reply to the request at
// reply.
func AuditReplyAllowed(r AuditRequest, reply string) bool {
	prefixes := inboxes(r.Role, r.Type, r.Tenant)
	switch {
	case r.Role == "" && r.Wide:
		prefixes = []string{InboxAuditor("")}
	case r.Role == "":
		prefixes = []string{InboxAuditor(r.Tenant)}
	}
	return inInbox(reply, prefixes)
}

// AuditRead returns the subject on which the holder of a credential reads the
// audit of a tenant (empty: all), so that the broker knows whose inbox may get
// the records. role is the credential's name: operator, auditor or
// auditor/<tenant>.
func AuditRead(role, tenant string) string {
	r := AuditRequest{User: Self, Tenant: tenant, Verb: VerbRead, Wide: role == auditorOfAll}
	if role == string(StateOperator) {
		r.Role = StateOperator
	}
	return r.String()
}

// InboxAuditor returns the inbox prefix of an auditor: of every tenant, or of
// one.
func InboxAuditor(tenant string) string {
	if tenant == "" {
		return inboxAuditors
	}
	return "_INBOX.ut." + tenant
}

// LedgerAudit returns the ledger subject of the audit's records of a kind
// ([Question], [Outcome] or [AuditRecord]) about a tenant; empty: about none.
// It has no session or ask, because the server keeps an index of subjects in
// memory, which must not grow over the years.
func LedgerAudit(tenant, kind string) string {
	return AuditLedger + "." + StateKey{Tenant: tenant}.scope() + "." + kind
}

// LedgerAuditAll returns the wildcard over the records about a tenant; empty:
// over all records.
func LedgerAuditAll(tenant string) string { return AuditLedger + "." + star(tenant) + ".*" }

// AuditCopy returns the rule by which the server copies the questions and
// outcomes of a partition into the audit. It is one rule for both: with two, the
// server looks for the next message in another and slower way.
func AuditCopy(p int) (from, to string) {
	return LedgerAll(p, Key{}, "*"), AuditLedger + ".{{wildcard(1)}}.{{wildcard(4)}}"
}

// ParseLedgerAudit parses the subject of a record.
func ParseLedgerAudit(subject string) (tenant, kind string, ok bool) {
	rest, ok := strings.CutPrefix(subject, AuditLedger+".")
	t := strings.Split(rest, ".")
	if !ok || len(t) != 2 || t[0] != noTenant && !ask.ValidToken(t[0]) || t[1] != Question && t[1] != Outcome && t[1] != AuditRecord {
		return "", "", false
	}
	if t[0] != noTenant {
		tenant = t[0]
	}
	return tenant, t[1], true
}
