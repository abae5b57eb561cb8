package subject

import "strings"

// The inbox prefixes of the roles. A reply subject is untrusted input: a reply
// is published there with the replier's own rights (docs/protocol.md, section
// 2).
const (
	InboxOperator    = "_INBOX.op"
	InboxGateway     = "_INBOX.g"
	InboxBroker      = "_INBOX.b"
	InboxLedger      = "_INBOX.l"
	InboxMaintenance = "_INBOX.m"
	InboxCluster     = "_INBOX.c"
	InboxClock       = "_INBOX.t"
	InboxIssuer      = "_INBOX.i"
	InboxBackup      = "_INBOX.s"
	InboxSaved       = "_INBOX.sr"
	inboxAuditors    = "_INBOX.u"
)

// InboxAgent returns the inbox prefix of one session's agent, or of an agent
// for every session of a tenant.
func InboxAgent(tenant, session string) string {
	if session == "" {
		return "_INBOX.at." + tenant
	}
	return "_INBOX.a." + tenant + "." + session
}

// InboxHost returns the inbox prefix of the host of one session's agent.
func InboxHost(tenant, session string) string { return "_INBOX.h." + tenant + "." + session }

// InboxResponder returns the inbox prefix of a responder of a type: of every
// tenant, of one tenant, or of one session, depending on what is given.
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

// Responder types that are reserved for a role.
const (
	TypeGateway  = "gateway"
	TypeOperator = "operator"
	TypeAgent    = "agent" // of an agent whose credential says for whom it asks
)

// The responder types of a web inbox, which signs people in, and of a terminal.
const (
	TypeWeb = "web"
	// TypeWebhook calls agents back and sends asks to programs: it registers callbacks.
	TypeWebhook = "webhook"
	TypeTUI     = "tui"
	// TypePush notifies the devices of people.
	TypePush = "push"
	// TypeEmail sends mails: its people are mailto: addresses.
	TypeEmail = "email"
)

// ReplyAllowed reports whether the broker may reply to request r at reply: it
// must be below an inbox prefix that belongs to the request's own subject.
func ReplyAllowed(r Request, reply string) bool {
	var allowed []string
	switch r.Root {
	case Agents:
		allowed = []string{InboxAgent(r.Tenant, r.Session), InboxAgent(r.Tenant, "")}
	case Operators:
		allowed = []string{InboxOperator}
	case Hosts:
		allowed = []string{InboxHost(r.Tenant, r.Session)}
	case Responders:
		switch r.Type {
		case TypeGateway:
			allowed = []string{InboxGateway}
		case TypeOperator:
			allowed = []string{InboxOperator}
		case TypeAgent:
			return inInbox(reply, []string{InboxAgent(r.Tenant, r.Session), InboxAgent(r.Tenant, "")})
		}
		allowed = append(allowed, InboxResponder(r.Type, "", ""))
		if r.Tenant != "" {
			allowed = append(allowed, InboxResponder(r.Type, r.Tenant, ""))
		}
		if r.Session != "" {
			allowed = append(allowed, InboxResponder(r.Type, r.Tenant, r.Session))
		}
	}
	return inInbox(reply, allowed)
}

// inInbox reports whether a reply subject is below one of the prefixes.
func inInbox(reply string, prefixes []string) bool {
	for _, prefix := range prefixes {
		if rest, below := strings.CutPrefix(reply, prefix+"."); below {
			return plain(rest)
		}
	}
	return false
}

// plain reports whether rest is one or more tokens without wildcards.
func plain(rest string) bool {
	for token := range strings.SplitSeq(rest, ".") {
		if token == "" || strings.ContainsAny(token, "*> \t\r\n") {
			return false
		}
	}
	return true
}
