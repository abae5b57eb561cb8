package audit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/askbus/askbus/pkg/ask"
)

// Version is the version of the schema. Readers ignore unknown fields; a field never changes its
// meaning within a version.
const Version = 1

// Limits of a record.
const (
	maxRecord = 16 << 10 // bytes of its JSON
	MaxText   = 256      // bytes of a title, a label, a reason; what is longer ends in …
	maxItems  = 16       // questions, options of one answer, groups
)

// Action is the kind of event. The list is open: later builds may add to it.
type Action string

// Events of asks. The server copies them from the ledger, except [AskShown],
// [AskSnoozed] and [AskHandedOver].
const (
	AskAsked     Action = "ask.asked"
	AskShown     Action = "ask.shown"
	AskVoted     Action = "ask.voted"
	AskEscalated Action = "ask.escalated" // a step of its ladder was taken, or waits because somebody looks
	AskOnCall    Action = "ask.on-call"   // others are on call, and may decide it
	AskLeft      Action = "ask.left"      // its agent has left: only the answer of its host's own dialog may follow
	AskAnswered  Action = "ask.answered"
	// AskBreakGlass takes the place of [AskAnswered] and [AskCancelled] where one person decided alone.
	AskBreakGlass Action = "ask.break-glass"
	AskCancelled  Action = "ask.cancelled"
	AskWithdrawn  Action = "ask.withdrawn"
	AskAborted    Action = "ask.aborted"
	AskExpired    Action = "ask.expired"
	// AskSnoozed and AskHandedOver also record that somebody took one back.
	AskSnoozed     Action = "ask.snoozed"
	AskHandedOver  Action = "ask.handed-over"
	StandInSet     Action = "stand-in.set" // somebody is away, and said who stands in
	StandInEnded   Action = "stand-in.ended"
	PersonLinked   Action = "person.linked" // somebody said that a member of a chat is them
	PersonUnlinked Action = "person.unlinked"
)

// Events of people, tokens and credentials, and of the audit itself.
const (
	Refused           Action = "refused"
	SignedIn          Action = "sign-in"
	SignedOut         Action = "sign-out"
	SignInRevoked     Action = "sign-in.revoked"
	LinkUsed          Action = "link.used"
	InvitationMade    Action = "invitation.made"
	AsksDeclined      Action = "asks.declined"  // several at once; each also has its own record
	AsksDismissed     Action = "asks.dismissed" // several at once, for one person
	PasskeyAdded      Action = "passkey.added"
	PasskeyRemoved    Action = "passkey.removed"
	TokenIssued       Action = "token.issued"
	TokenChanged      Action = "token.changed"
	TokenRevoked      Action = "token.revoked"
	CredentialIssued  Action = "credential.issued"  //nolint:gosec // a name
	CredentialRevoked Action = "credential.revoked" //nolint:gosec // a name
	TenantRemoving    Action = "tenant.removing"    // its asks end, and then what is stored of it is deleted
	TenantRemoved     Action = "tenant.removed"     // nothing is left
	TenantReadmitted  Action = "tenant.readmitted"
	FileUploaded      Action = "file.uploaded"  // its bytes are not in the audit; the object's id is their SHA-256
	WebhookFailed     Action = "webhook.failed" // for good: it is not sent again
	PoliciesRead      Action = "policies.read"  // a broker starts, with an approvals file or without, or read it again
	LedgerRepaired    Action = "ledger.repaired"
	LedgerChanged     Action = "ledger.changed" // its settings, its keys, or what it holds: restored
	LedgerSaved       Action = "ledger.saved"   // in a backup, with every question and answer
	AuditBegan        Action = "audit.began"
	AuditRead         Action = "audit.read"
	AuditLost         Action = "audit.lost"
	AuditUnreadable   Action = "audit.unreadable" // made by a reader, never stored
)

// Actions returns all actions of this build, in the order of the documentation.
func Actions() []Action {
	return []Action{
		AskAsked, AskShown, AskVoted, AskEscalated, AskOnCall, AskLeft, AskAnswered, AskBreakGlass, AskCancelled, AskWithdrawn, AskAborted, AskExpired, AskSnoozed, AskHandedOver, StandInSet, StandInEnded, PersonLinked, PersonUnlinked, Refused,
		SignedIn, SignedOut, SignInRevoked, LinkUsed, InvitationMade, PasskeyAdded, PasskeyRemoved, TokenIssued, TokenChanged, TokenRevoked,
		CredentialIssued, CredentialRevoked, AsksDeclined, AsksDismissed, TenantRemoving, TenantRemoved, TenantReadmitted, FileUploaded, WebhookFailed, PoliciesRead, LedgerRepaired, LedgerChanged, LedgerSaved, AuditBegan, AuditRead, AuditLost, AuditUnreadable,
	}
}

// Kind returns the first part of the action's name, before the dot.
func (a Action) Kind() string {
	if a == SignedOut {
		a = SignedIn
	}
	kind, _, _ := strings.Cut(string(a), ".")
	return kind
}

// Kinds returns the kinds of [Actions].
func Kinds() (kinds []string) {
	for _, a := range Actions() {
		if k := a.Kind(); !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// Record is a record of the audit.
type Record struct {
	Version int       `json:"v"`
	ID      string    `json:"id"`            // of this record, unique in the audit
	Seq     uint64    `json:"seq,omitempty"` // its place in the audit; not stored
	Time    time.Time `json:"time"`          // when it happened, by the ledger's clock
	Action  Action    `json:"action"`
	Actor   *Actor    `json:"actor,omitempty"` // who caused it; none: the server's timer

	Tenant  string `json:"tenant,omitempty"`
	Session string `json:"session,omitempty"`
	Ask     string `json:"ask,omitempty"`
	Surface string `json:"surface,omitempty"` // the responder type, or "gateway", "issuer"
	Address string `json:"address,omitempty"` // of who caused it, where it is known

	Question *Question `json:"question,omitempty"` // of asks: what was asked
	Decision *Decision `json:"decision,omitempty"` // of asks that ended
	Refusal  *Refusal  `json:"refusal,omitempty"`
	Object   *Object   `json:"object,omitempty"` // the token, credential, sign-in, … that it is about
	Lost     int64     `json:"lost,omitempty"`   // [AuditLost]: how many records are missing

	Chain *Chain `json:"chain,omitempty"` // of records that a broker wrote

	// Copy is the whole question or outcome, including typed text. It is not part of a stored
	// record; a reader must request it.
	Copy json.RawMessage `json:"copy,omitempty"`
}

// Actor is who caused something.
type Actor struct {
	Role       string   `json:"role,omitempty"`       // agent, host, responder, gateway, operator, issuer, broker; reader: an operator or an auditor
	Credential string   `json:"credential,omitempty"` // the public key of the NATS credential, where the subject has it
	Principal  string   `json:"principal,omitempty"`  // as proven
	Proof      string   `json:"proof,omitempty"`
	Name       string   `json:"name,omitempty"` // for people
	Groups     []string `json:"groups,omitempty"`
	For        string   `json:"for,omitempty"` // the principal of who is away, if this is a stand-in
	// ReportedBy is the surface that claims Principal, Proof and Name; no broker has verified them.
	ReportedBy string `json:"reported_by,omitempty"`
}

// Question is a shortened question.
type Question struct {
	Title     string    `json:"title,omitempty"`
	Texts     []string  `json:"texts,omitempty"` // of the questions, in their order
	Deadline  time.Time `json:"deadline,omitzero"`
	Audience  []string  `json:"audience,omitempty"`
	MinProof  string    `json:"min_proof,omitempty"`
	Priority  string    `json:"priority,omitempty"`
	AskedAt   time.Time `json:"asked_at,omitzero"`
	Digest    string    `json:"digest,omitempty"` // of the question as it was asked: SHA-256, as in the protocol
	Life      string    `json:"life,omitempty"`   // an id that is asked again begins another life
	AgentID   string    `json:"agent_id,omitempty"`
	AgentName string    `json:"agent_name,omitempty"`

	Asker    []string     `json:"asker,omitempty"`    // the principals for whom it was asked, where they count
	Policies []ask.Policy `json:"policies,omitempty"` // the operator's policies that applied
}

// Decision is how an ask ended.
type Decision struct {
	Status  string   `json:"status"`
	Source  string   `json:"source,omitempty"`
	Reason  string   `json:"reason,omitempty"`
	Waited  int64    `json:"waited_ms"`
	Answers []Answer `json:"answers,omitempty"`
	Typed   bool     `json:"typed,omitempty"` // a reply to the whole ask was typed; its text is in the ledger
	Votes   []Vote   `json:"votes,omitempty"` // of an ask that several people decide, however it ended

	BreakGlass *ask.BreakGlass `json:"break_glass,omitempty"` // one person decided alone; the votes did not

	Escalated *ask.Escalated `json:"escalated,omitempty"` // of an ask with a ladder: the steps that were taken, and who looked
}

// Vote is what one person said to an ask with an approval.
type Vote struct {
	Choice     string    `json:"choice"` // approve, deny, withdrawn, revoked
	Option     *Choice   `json:"option,omitempty"`
	Principal  string    `json:"principal"`
	Name       string    `json:"name,omitempty"`
	For        string    `json:"for,omitempty"`    // as in [Actor]
	Groups     []string  `json:"groups,omitempty"` // that could count: of who is away, if there is one
	Proof      string    `json:"proof,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	At         time.Time `json:"at"`
	Surface    string    `json:"surface,omitempty"`
	Credential string    `json:"credential,omitempty"`
	Token      string    `json:"token,omitempty"`  // the id of the API token
	Person     string    `json:"person,omitempty"` // from the operator's list of people
}

// Answer is the decision on one question. It omits typed text, which may be a secret.
type Answer struct {
	Question string   `json:"question"` // its id
	Choices  []Choice `json:"choices,omitempty"`
	Number   *float64 `json:"number,omitempty"`
	Boolean  *bool    `json:"boolean,omitempty"`
	Date     string   `json:"date,omitempty"`
	Skipped  bool     `json:"skipped,omitempty"`
	Typed    bool     `json:"typed,omitempty"` // text was typed: as the answer, as another option, or as a note
}

// Choice is a chosen option.
type Choice struct {
	ID    string `json:"id"`
	Label string `json:"label,omitempty"`
}

// Refusal is a refused request. Refusals of one kind by one sender within a minute are one record.
type Refusal struct {
	What  string    `json:"what"` // the verb, or the method and the route
	Code  string    `json:"code"`
	Why   string    `json:"why,omitempty"` // of the first
	Count int64     `json:"count"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
}

// Object is the object of an action.
type Object struct {
	Kind      string    `json:"kind"` // token, credential, sign-in, link, passkey, policy, audit, receipt, snooze, handover
	ID        string    `json:"id,omitempty"`
	Role      string    `json:"role,omitempty"`
	Principal string    `json:"principal,omitempty"`
	Proof     string    `json:"proof,omitempty"`
	Name      string    `json:"name,omitempty"`
	Sessions  []string  `json:"sessions,omitempty"`
	Note      string    `json:"note,omitempty"`
	Expires   time.Time `json:"expires,omitzero"`
}

// Chain numbers a broker's records. A missing number means a lost or removed record.
type Chain struct {
	Writer string `json:"writer"` // the broker's instance
	N      int64  `json:"n"`      // from 1, for each writer
}

// Encode encodes a record within maxRecord: it shortens texts, and drops the question and the
// decision's labels if the record is still too large.
func Encode(r *Record) ([]byte, error) {
	r.Version = Version
	r.clip()
	data, err := json.Marshal(r)
	if err != nil || len(data) <= maxRecord {
		return data, err
	}
	small := *r
	small.Question = nil
	if d := r.Decision; d != nil {
		less := *d
		less.Answers = nil
		small.Decision = &less
	}
	if data, err = json.Marshal(&small); err == nil && len(data) > maxRecord {
		err = fmt.Errorf("audit: a record of %d bytes", len(data))
	}
	return data, err
}

// Decode decodes a stored record.
func Decode(data []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(data, &r); err != nil {
		return Record{}, fmt.Errorf("audit: read a record: %w", err)
	}
	return r, nil
}

// Unreadable replaces a record that cannot be decoded, so that the gap is visible.
func Unreadable(at time.Time, err error) Record {
	return Record{Version: Version, Time: at.UTC(), Action: AuditUnreadable, Refusal: &Refusal{What: "read", Code: "unreadable", Why: short(err.Error()), Count: 1, First: at.UTC(), Last: at.UTC()}}
}

// clip shortens the texts of other people.
func (r *Record) clip() {
	clip(&r.Address)
	if a := r.Actor; a != nil {
		clip(&a.Principal, &a.Proof, &a.Name, &a.Credential)
		clipAll(&a.Groups)
	}
	if q := r.Question; q != nil {
		clip(&q.Title, &q.MinProof, &q.AgentID, &q.AgentName)
		clipAll(&q.Texts)
		clipAll(&q.Audience)
	}
	if d := r.Decision; d != nil {
		clip(&d.Reason)
		if d.BreakGlass != nil {
			alone := *d.BreakGlass
			clip(&alone.Reason)
			d.BreakGlass = &alone
		}
	}
	if f := r.Refusal; f != nil {
		clip(&f.What, &f.Code, &f.Why)
	}
	if o := r.Object; o != nil {
		clip(&o.Kind, &o.ID, &o.Role, &o.Principal, &o.Proof, &o.Name, &o.Note)
		clipAll(&o.Sessions)
	}
}

func clip(texts ...*string) {
	for _, s := range texts {
		*s = short(*s)
	}
}

func clipAll(list *[]string) {
	if len(*list) > maxItems {
		*list = append((*list)[:maxItems:maxItems], "…")
	}
	for i := range *list {
		(*list)[i] = short((*list)[i])
	}
}

// short returns a text on one line of at most [MaxText] bytes.
func short(s string) string {
	if len(s) > 4*MaxText {
		s = s[:4*MaxText]
	}
	s = ask.CleanLine(s)
	if len(s) <= MaxText {
		return s
	}
	end := MaxText - len("…")
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
