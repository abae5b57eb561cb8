// Package subject builds and parses every NATS subject of askbus, and says
// which reply subjects a request may have. The subjects are those of
// docs/protocol.md, section 2.
//
// It is pure. Safety: a subject that [Parse] accepts consists of valid tokens
// only, so a subject built from it contains no wildcard and no additional
// token.
package subject

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// The first tokens of subjects.
const (
	Agents     = "askv1"    // agents to broker
	Responders = "ansv1"    // responders to broker
	Hosts      = "hostv1"   // the hosts of agents to broker
	Operators  = "admv1"    // operators to broker
	Presence   = "herev1"   // broker to surfaces: is a person present?
	Out        = "outv1"    // questions and outcomes, republished
	LedgerRoot = "ledgerv1" // the streams
	Issue      = "issuev1"  // gateways and web inboxes to the issuer of credentials
)

// Servers is the subject on which each NATS server says what its JetStream has
// and may use. The system account exports it to the ledger's.
const Servers = "$SYS.REQ.SERVER.PING.JSZ"

// BrokerStats is the subject on which every broker reports its figures and its
// settings, to operators and to other brokers.
const BrokerStats = "$SRV.STATS.askbus"

// BrokerSettings begins the inboxes in which a broker receives the settings of
// others. They are apart from its other inboxes, to which no broker replies.
const BrokerSettings = "_INBOX.b.settings"

// Exchange is the subject on which a gateway exchanges a token for a
// credential.
const Exchange = Issue + ".credential"

// person ends the subject on which a web inbox requests a person's credential.
const person = "person"

// Person returns the subject on which a web inbox requests the credential of a
// person's terminal. user is the public key of the inbox's own credential, or
// [Self]; tenant is the one to which that credential is restricted, if any.
func Person(user, tenant string) string {
	if tenant == "" {
		return Issue + "." + user + "." + person
	}
	return Issue + "." + user + "." + person + "." + tenant
}

// PersonAll and PersonOfTenants are the wildcards over [Person].
const (
	PersonAll       = Issue + ".*." + person
	PersonOfTenants = PersonAll + ".*"
)

// ParsePerson parses a subject of [Person].
func ParsePerson(subject string) (user, tenant string, ok bool) {
	t := strings.Split(subject, ".")
	if len(t) < 3 || t[0] != Issue || t[2] != person || !ValidUser(t[1]) {
		return "", "", false
	}
	switch {
	case len(t) == 3:
		return t[1], "", true
	case len(t) == 4 && ask.ValidToken(t[3]):
		return t[1], t[3], true
	}
	return "", "", false
}

// IssueReplyAllowed reports whether an issuer may reply to a request on a
// subject at reply: the inbox of the role that may send it.
func IssueReplyAllowed(subject, reply string) bool {
	allowed := InboxGateway
	if subject != Exchange {
		_, tenant, ok := ParsePerson(subject)
		if !ok {
			return false
		}
		allowed = InboxResponder(TypeWeb, tenant, "")
	}
	return inInbox(reply, []string{allowed})
}

// Verb is the action of a request.
type Verb string

// The verbs of agents, responders and operators.
const (
	VerbAsk       Verb = "ask"
	VerbGet       Verb = "get"
	VerbWait      Verb = "wait"
	VerbAlive     Verb = "alive" // its id is a broker's
	VerbWithdraw  Verb = "withdraw"
	VerbList      Verb = "list"
	VerbAnswer    Verb = "answer"
	VerbCancel    Verb = "cancel"
	VerbUnvote    Verb = "unvote" // takes a vote back
	VerbReceipt   Verb = "receipt"
	VerbSnooze    Verb = "snooze"
	VerbHandOver  Verb = "handover"
	VerbSeen      Verb = "seen"  // a person looks, so that a step of the ladder waits
	VerbAway      Verb = "away"  // a person says who stands in for them
	VerbClaim     Verb = "claim" // a chat's member wants to be linked to a person of the inbox
	VerbLink      Verb = "link"  // a person of the inbox links a chat's member, or ends that
	VerbNext      Verb = "next"
	VerbDone      Verb = "done"
	VerbExtend    Verb = "extend"
	VerbLater     Verb = "later"
	VerbAbort     Verb = "abort"
	VerbRepeat    Verb = "repeat" // its id is a repeat key
	VerbDelivered Verb = "delivered"
	VerbRemove    Verb = "remove"  // an operator removes a tenant
	VerbReadmit   Verb = "readmit" // an operator lets a removed tenant be used again
)

// Self is a placeholder for the sender's public key until the request is sent;
// see [As].
const Self = "~"

// As replaces [Self] in a subject with the sender's key. ok is false if the
// subject has no Self.
func As(subject, user string) (own string, ok bool) {
	if !strings.HasPrefix(subject, Responders+".") && !strings.HasPrefix(subject, Hosts+".") && !strings.HasPrefix(subject, Issue+".") && !strings.HasPrefix(subject, Audit+".") {
		return subject, false
	}
	before, after, ok := strings.Cut(subject, "."+Self+".")
	if !ok {
		return subject, false
	}
	return before + "." + user + "." + after, true
}

// Asked returns the subject on which a gateway, an operator or an agent with an
// asker (typ) sends what agents send on subject. Replies go to the inboxes of
// that role only. It has
// [Self] for the key; ok is false for other subjects.
func Asked(subject, typ string) (own string, ok bool) {
	rest, ok := strings.CutPrefix(subject, Agents+".")
	if !ok {
		return subject, false
	}
	return Responders + "." + typ + "." + Self + "." + rest, true
}

// AskedByAgent returns the wildcard over the asks of agents of a tenant whose
// credentials say for whom they ask; the broker is told which credential it is.
// An empty session means all.
func AskedByAgent(user, tenant, session string) string {
	return strings.Join([]string{Responders, TypeAgent, user, tenant, star(session), string(VerbAsk), "*"}, ".")
}

// Asks reports whether an agent sent a request, or another role for an agent.
func (r Request) Asks() bool {
	switch r.Verb {
	case VerbAsk, VerbWait, VerbWithdraw, VerbAlive, VerbRepeat, VerbDelivered:
		return true
	}
	return r.Root == Agents
}

// forAgents reports whether the sender may send what agents send.
func (r Request) forAgents() bool {
	return r.Root == Agents || r.Root == Responders && (r.Type == TypeGateway || r.Type == TypeOperator || r.Type == TypeAgent && r.Verb == VerbAsk)
}

// Asserts reports whether a request says who acted, or for whom it asks: its
// sender sends the JWT of its credential with it.
func (r Request) Asserts() bool {
	switch r.Verb {
	case VerbAsk:
		return r.Root == Responders && (r.Type == TypeAgent || r.Type == TypeOperator)
	case VerbAnswer, VerbCancel:
		return r.Root == Responders || r.Root == Hosts
	case VerbUnvote, VerbSnooze, VerbHandOver, VerbSeen, VerbAway, VerbClaim, VerbLink:
		return r.Root == Responders
	}
	return false
}

// Key names one ask.
type Key = ask.Key

// Request is a parsed request subject. Fields that its verb does not use are
// empty.
type Request struct {
	Root    string // [Agents], [Responders], [Hosts] or [Operators]
	Type    string // responders: the responder type
	User    string // responders and hosts: the public key of the credential, which NATS checks
	Tenant  string
	Session string
	Verb    Verb
	ID      string
}

// Key returns the key of the request's ask.
func (r Request) Key() Key { return Key{Tenant: r.Tenant, Session: r.Session, ID: r.ID} }

// Parse parses a request subject.
func Parse(subject string) (Request, error) {
	t := strings.Split(subject, ".")
	for _, token := range t {
		if !ask.ValidToken(token) {
			return Request{}, fmt.Errorf("subject %q: invalid token %q", subject, token)
		}
	}
	at := -1 // index of the credential's key
	switch t[0] {
	case Responders:
		at = 2
	case Hosts:
		at = 1
	}
	user := ""
	if at > 0 && len(t) > at {
		if user = t[at]; !ValidUser(user) {
			return Request{}, fmt.Errorf("subject %q: %q is not the public key of a credential", subject, user)
		}
		t = slices.Delete(t, at, at+1)
	}
	var r Request
	switch {
	case t[0] == Agents && len(t) == 5:
		r = Request{Root: Agents, Tenant: t[1], Session: t[2], Verb: Verb(t[3]), ID: t[4]}
	case t[0] == Agents && len(t) == 4 && Verb(t[3]) == VerbList:
		r = Request{Root: Agents, Tenant: t[1], Session: t[2], Verb: VerbList}
	case t[0] == Responders && len(t) == 6:
		r = Request{Root: Responders, Type: t[1], Tenant: t[2], Session: t[3], Verb: Verb(t[4]), ID: t[5]}
	case t[0] == Responders && len(t) == 5 && Verb(t[4]) == VerbList:
		r = Request{Root: Responders, Type: t[1], Tenant: t[2], Session: t[3], Verb: VerbList}
	case t[0] == Responders && len(t) == 4:
		r = Request{Root: Responders, Type: t[1], Tenant: t[2], Verb: Verb(t[3])}
	case t[0] == Responders && len(t) == 3:
		r = Request{Root: Responders, Type: t[1], Verb: Verb(t[2])}
	case t[0] == Hosts && len(t) == 5:
		r = Request{Root: Hosts, Tenant: t[1], Session: t[2], Verb: Verb(t[3]), ID: t[4]}
	case t[0] == Operators && len(t) == 5:
		r = Request{Root: Operators, Tenant: t[1], Session: t[2], Verb: Verb(t[3]), ID: t[4]}
	default:
		return Request{}, fmt.Errorf("subject %q is not a request of askbus", subject)
	}
	r.User = user
	if !r.known() {
		return Request{}, fmt.Errorf("subject %q: %s has no verb %q of this form", subject, r.Root, r.Verb)
	}
	return r, nil
}

// ValidUser reports whether s has the form of a NATS user's public key.
func ValidUser(s string) bool {
	return len(s) == 56 && s[0] == 'U' && !strings.ContainsFunc(s, func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '2' || r > '7') })
}

func (r Request) known() bool {
	if r.Root == Responders && r.Type == TypeAgent && r.Verb != VerbAsk {
		return false
	}
	switch r.Verb {
	case VerbAsk, VerbWait, VerbWithdraw, VerbAlive, VerbRepeat, VerbDelivered:
		return r.forAgents() && r.ID != ""
	case VerbGet:
		return r.Root != Operators && r.ID != ""
	case VerbUpload, VerbFile:
		return (r.Root == Agents || r.Root == Responders) && r.ID != "" // the broker checks that it is a file's
	case VerbAnswer, VerbCancel, VerbReceipt:
		return (r.Root == Responders || r.Root == Hosts) && r.ID != ""
	case VerbUnvote, VerbSnooze, VerbHandOver, VerbSeen:
		return r.Root == Responders && r.ID != ""
	case VerbList:
		return (r.Root == Agents || r.Root == Responders) && r.ID == ""
	case VerbAway, VerbClaim, VerbLink:
		return r.Root == Responders && r.Session == "" && r.Type != TypeGateway && r.Type != TypeOperator
	case VerbNext, VerbDone, VerbExtend, VerbLater:
		return r.Root == Responders && r.Session == ""
	case VerbAbort:
		return r.Root == Operators
	case VerbRemove, VerbReadmit:
		return r.Root == Responders && r.Type == TypeOperator && r.Tenant != "" && r.Session == ""
	}
	return false
}

// String returns the subject that [Parse] parses to r.
func (r Request) String() string {
	parts := []string{r.Root}
	for _, p := range []string{r.Type, r.User, r.Tenant, r.Session, string(r.Verb), r.ID} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, ".")
}

// Agent returns the subject of an agent's verb about one ask.
func Agent(k Key, verb Verb) string {
	return Request{Root: Agents, Tenant: k.Tenant, Session: k.Session, Verb: verb, ID: k.ID}.String()
}

// Alive returns the subject on which one broker replies to a session that it
// runs. There are no responders when it does not.
func Alive(tenant, session, instance string) string {
	return Agent(Key{Tenant: tenant, Session: session, ID: instance}, VerbAlive)
}

// Responder returns the subject of a responder's verb about one ask, or without
// id, session or tenant the wider form for list. user is the public key of its
// credential.
func Responder(typ, user string, k Key, verb Verb) string {
	return Request{Root: Responders, Type: typ, User: user, Tenant: k.Tenant, Session: k.Session, Verb: verb, ID: k.ID}.String()
}

// Host returns the subject of a host's verb about one ask. user is the public
// key of its credential.
func Host(user string, k Key, verb Verb) string {
	return Request{Root: Hosts, User: user, Tenant: k.Tenant, Session: k.Session, Verb: verb, ID: k.ID}.String()
}

// Abort returns the subject on which an operator ends an ask.
func Abort(k Key) string {
	return Request{Root: Operators, Tenant: k.Tenant, Session: k.Session, Verb: VerbAbort, ID: k.ID}.String()
}

// Here returns the subject of the presence request for one session.
func Here(tenant, session string) string { return Presence + "." + tenant + "." + session }

// attention is a verb between surfaces, which no broker serves.
const attention = "look"

// Attention returns the subject on which a surface tells others that a person
// is at an ask.
func Attention(typ, user string, k Key) string {
	return strings.Join([]string{Responders, typ, user, k.Tenant, k.Session, attention, k.ID}, ".")
}

// here is the verb with which a surface declares presence. It is published, not
// requested, under the surface's own type and key.
const here = "here"

// Present returns the subject on which a surface declares that a person is
// present for a session; id is the last token of the request's reply subject.
func Present(typ, user, tenant, session, id string) string {
	return strings.Join([]string{Responders, typ, user, tenant, session, here, id}, ".")
}

// PresentAll returns the wildcard over declarations of presence.
func PresentAll() string { return Present("*", "*", "*", "*", "*") }

// ParsePresent parses a subject of [Present].
func ParsePresent(subject string) (typ, tenant, session, id string, ok bool) {
	t := strings.Split(subject, ".")
	if len(t) != 7 || t[0] != Responders || t[5] != here {
		return "", "", "", "", false
	}
	return t[1], t[3], t[4], t[6], ask.ValidToken(t[1]) && ValidUser(t[2])
}

// ParseHere parses a subject of [Here].
func ParseHere(subject string) (tenant, session string, ok bool) {
	t := strings.Split(subject, ".")
	if len(t) != 3 || t[0] != Presence {
		return "", "", false
	}
	return t[1], t[2], ask.ValidToken(t[1]) && ask.ValidToken(t[2])
}

// AttentionAll returns the wildcard over the attention of a tenant and session;
// empty means all.
func AttentionAll(tenant, session string) string {
	return strings.Join([]string{Responders, "*", "*", star(tenant), star(session), attention, "*"}, ".")
}

// ParseAttention parses a subject of [Attention].
func ParseAttention(subject string) (typ string, k Key, ok bool) {
	t := strings.Split(subject, ".")
	if len(t) != 7 || t[0] != Responders || t[5] != attention {
		return "", Key{}, false
	}
	k = Key{Tenant: t[3], Session: t[4], ID: t[6]}
	return t[1], k, ask.ValidToken(t[1]) && ValidUser(t[2]) && k.Valid()
}

// Last tokens of [Out] and of the ledger's subjects.
const (
	Question = "q"
	Outcome  = "o"
	Receipt  = "r"
)

// OutAll returns the wildcard over republished messages of kind ([Question] or
// [Outcome]) of a tenant and session; empty means all.
func OutAll(tenant, session, kind string) string {
	return strings.Join([]string{Out, star(tenant), star(session), "*", kind}, ".")
}

func star(token string) string {
	if token == "" {
		return "*"
	}
	return token
}

// ParseOut parses a republished subject.
func ParseOut(subject string) (k Key, kind string, ok bool) {
	t := strings.Split(subject, ".")
	if len(t) != 5 || t[0] != Out || t[4] != Question && t[4] != Outcome {
		return Key{}, "", false
	}
	k = Key{Tenant: t[1], Session: t[2], ID: t[3]}
	return k, t[4], k.Valid()
}

// Partition returns the partition of a session in a ledger of n: FNV-1a 32-bit
// of "<tenant>.<session>" mod n. This must never change.
func Partition(tenant, session string, n int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(tenant + "." + session))
	return int(h.Sum32() % uint32(n)) //nolint:gosec // n is 1 to 99
}

// StreamPrefix is the prefix of the partitions' stream names.
const StreamPrefix = "ASKS_"

// Stream returns the name of a partition's stream.
func Stream(p int) string { return fmt.Sprintf(StreamPrefix+"%02d", p) }

// LedgerQuestion returns the ledger subject of an ask's question.
func LedgerQuestion(p int, k Key) string { return ledger(p, k) + "." + Question }

// LedgerOutcome returns the ledger subject of an ask's outcome.
func LedgerOutcome(p int, k Key) string { return ledger(p, k) + "." + Outcome }

// LedgerAny returns the wildcard over an ask's question and outcome. Receipts
// have one more token.
func LedgerAny(p int, k Key) string { return ledger(p, k) + ".*" }

// LedgerReceipt returns the ledger subject of a responder type's receipt; an
// empty type means the wildcard over all.
func LedgerReceipt(p int, k Key, typ string) string {
	return ledger(p, k) + "." + Receipt + "." + star(typ)
}

// LedgerAll returns the wildcard over all messages of kind ([Question] or
// [Outcome]) in one partition that match a key, whose empty parts mean all.
func LedgerAll(p int, k Key, kind string) string {
	return ledger(p, Key{Tenant: star(k.Tenant), Session: star(k.Session), ID: star(k.ID)}) + "." + kind
}

// LedgerStream returns the subject space of one partition's stream.
func LedgerStream(p int) string { return fmt.Sprintf("%s.%02d.>", LedgerRoot, p) }

// LedgerFirst returns the subject of the message with which a partition's stream
// begins, and of messages that guard the end of an ask. They belong to no ask and
// are not republished.
func LedgerFirst(p int) string { return fmt.Sprintf("%s.%02d.first", LedgerRoot, p) }

// IsLedgerFirst reports whether a subject is [LedgerFirst] of any partition.
func IsLedgerFirst(subject string) bool {
	t := strings.Split(subject, ".")
	return len(t) == 3 && t[0] == LedgerRoot && t[2] == "first"
}

func ledger(p int, k Key) string {
	return LedgerRoot + "." + strconv.Itoa(p/10) + strconv.Itoa(p%10) + "." + k.Tenant + "." + k.Session + "." + k.ID
}

// ParseLedger parses a ledger subject: the ask, the kind ([Question],
// [Outcome], [Receipt]) and for a receipt the responder type.
func ParseLedger(subject string) (k Key, kind, typ string, ok bool) {
	t := strings.Split(subject, ".")
	if len(t) < 6 || t[0] != LedgerRoot {
		return Key{}, "", "", false
	}
	k, kind = Key{Tenant: t[2], Session: t[3], ID: t[4]}, t[5]
	switch {
	case len(t) == 6 && (kind == Question || kind == Outcome):
		return k, kind, "", k.Valid()
	case len(t) == 7 && kind == Receipt:
		return k, kind, t[6], k.Valid() && ask.ValidToken(t[6])
	}
	return Key{}, "", "", false
}
