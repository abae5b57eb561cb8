package subject

import "strings"

// The inbox prefixes of the roles. A reply subject is attacker input: whoever
// answers it publishes there with its own rights (docs/protocol.md, section 2).
const (
	InboxOperator = "_INBOX.op"
	InboxGateway  = "_INBOX.g"
	InboxBroker   = "_INBOX.b"
	InboxLedger   = "_INBOX.l"
)

// InboxAgent is the inbox prefix of one session's agent.
func InboxAgent(tenant, session string) string { return "_INBOX.a." + tenant + "." + session }

// InboxResponder is the inbox prefix of a responder of a type: of every
// tenant, of one tenant, or of one session, as far as they are given.
func InboxResponder(typ, tenant, session string) string {
	switch {
	case tenant == "":
		return "_INBOX.r." + typ
	case session == "":
		return "_INBOX.rt." + typ + "." + tenant
	default:
		return "_INBOX.rs." + typ + "." + tenant + "." + session
	}
}

// ReplyAllowed reports whether the broker may answer request r at reply: it
// lies below an inbox prefix that belongs to the request's own subject, or
// below the operator's or the gateway's.
func ReplyAllowed(r Request, reply string) bool {
	allowed := []string{InboxOperator, InboxGateway}
	switch r.Door {
	case Agents:
		allowed = append(allowed, InboxAgent(r.Tenant, r.Session))
	case Responders:
		allowed = append(allowed, InboxResponder(r.Type, "", ""))
		if r.Tenant != "" {
			allowed = append(allowed, InboxResponder(r.Type, r.Tenant, ""))
		}
		if r.Session != "" {
			allowed = append(allowed, InboxResponder(r.Type, r.Tenant, r.Session))
		}
	}
	for _, prefix := range allowed {
		if rest, below := strings.CutPrefix(reply, prefix+"."); below {
			return plain(rest)
		}
	}
	return false
}

// plain reports whether rest is one or more tokens with no wildcard.
func plain(rest string) bool {
	for token := range strings.SplitSeq(rest, ".") {
		if token == "" || strings.ContainsAny(token, "*> \t\r\n") {
			return false
		}
	}
	return true
}
