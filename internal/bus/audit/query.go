package audit

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// maxPage is the maximum number of records in a page.
const maxPage = 500

// Query is the body of a request to read the audit. The zero value requests the first page.
type Query struct {
	Since     time.Time `json:"since,omitzero"` // inclusive
	Until     time.Time `json:"until,omitzero"` // exclusive
	Actions   []Action  `json:"actions,omitempty"`
	Kinds     []string  `json:"kinds,omitempty"`     // of actions, see [Action.Kind]
	Surface   string    `json:"surface,omitempty"`   // the responder type, "gateway" or "issuer"
	Principal string    `json:"principal,omitempty"` // of who acted, voted or was stood in for, or of what it is about; exactly
	Session   string    `json:"session,omitempty"`
	Ask       string    `json:"ask,omitempty"`
	Key       string    `json:"credential,omitempty"` // the public key of a credential
	Cursor    uint64    `json:"cursor,omitempty"`     // of the page before; 0: from Since on
	Limit     int       `json:"limit,omitempty"`      // default and most: maxPage
	Whole     bool      `json:"whole,omitempty"`      // with the texts that people typed: see [Record.Copy]
	Raw       bool      `json:"raw,omitempty"`        // messages as they are stored, all from Cursor on, for who may read every tenant; the reply is [TypeRaw]
}

// Page is the reply. An empty page need not be the last one.
type Page struct {
	Items []Record `json:"items"`
	Next  uint64   `json:"next"` // the cursor of the next page
	End   bool     `json:"end"`  // nothing follows just now
}

// DecodeQuery decodes a query strictly; an empty body is the zero query.
func DecodeQuery(data []byte) (Query, error) {
	var q Query
	if len(data) > 0 {
		if err := wire.Strict("read", data, &q); err != nil {
			return Query{}, err
		}
	}
	q.Limit = cmp.Or(q.Limit, maxPage)
	var f []ask.Fault
	if q.Limit < 1 || q.Limit > maxPage {
		f = append(f, ask.NewFault("/limit", ask.FaultOutOfRange, q.Limit, 1, maxPage))
	}
	if only := (Query{Cursor: q.Cursor, Limit: q.Limit, Raw: true}); q.Raw && !reflect.DeepEqual(q, only) {
		f = append(f, ask.NewFault("/raw", ask.FaultGivenTogether, "a filter"))
	}
	if len(q.Actions) > len(Actions()) {
		f = append(f, ask.NewFault("/actions", ask.FaultTooMany, len(q.Actions), "actions", len(Actions())))
	}
	if len(q.Kinds) > len(Kinds()) {
		f = append(f, ask.NewFault("/kinds", ask.FaultTooMany, len(q.Kinds), "kinds", len(Kinds())))
	}
	return q, ask.InvalidError("read", f)
}

// Wants reports whether a record matches the query.
func (q *Query) Wants(r *Record) bool {
	return (q.Since.IsZero() || !r.Time.Before(q.Since)) && (q.Until.IsZero() || r.Time.Before(q.Until)) &&
		(len(q.Actions) == 0 || slices.Contains(q.Actions, r.Action)) &&
		(len(q.Kinds) == 0 || slices.Contains(q.Kinds, r.Action.Kind())) && (q.Surface == "" || q.Surface == r.Surface) &&
		(q.Session == "" || q.Session == r.Session) && (q.Ask == "" || q.Ask == r.Ask) &&
		(q.Principal == "" || r.involves(q.Principal)) && (q.Key == "" || r.used(q.Key))
}

// involves reports whether a person acted, voted on what ended, or was stood in for, or whether the object is theirs.
func (r *Record) involves(principal string) bool {
	return r.Actor != nil && (r.Actor.Principal == principal || r.Actor.For == principal) ||
		r.Object != nil && r.Object.Principal == principal ||
		r.Decision != nil && slices.ContainsFunc(r.Decision.Votes, func(v Vote) bool { return v.Principal == principal || v.For == principal })
}

// used reports whether it was done with a credential or a token, or is about it, or whether a vote on what ended was.
func (r *Record) used(key string) bool {
	return r.Actor != nil && r.Actor.Credential == key || r.Object != nil && r.Object.ID == key ||
		r.Decision != nil && slices.ContainsFunc(r.Decision.Votes, func(v Vote) bool { return v.Credential == key || v.Token == key })
}

// Report is a record that a surface, a gateway, the issuer or an operator adds to the audit,
// because no broker sees its event. The subject names the sender.
type Report struct {
	Action    Action    `json:"action"`
	ID        string    `json:"id,omitempty"` // sent again within two minutes, it is the same report
	Time      time.Time `json:"time,omitzero"`
	Tenant    string    `json:"tenant,omitempty"`
	Session   string    `json:"session,omitempty"`
	Address   string    `json:"address,omitempty"`
	Principal string    `json:"principal,omitempty"` // who acted, as far as the sender knows
	Proof     string    `json:"proof,omitempty"`
	Name      string    `json:"name,omitempty"`
	Refusal   *Refusal  `json:"refusal,omitempty"`
	Object    *Object   `json:"object,omitempty"`
	Lost      int64     `json:"lost,omitempty"` // of [AuditLost]: how many reports are missing
}

// MaxReport is the maximum size of a report in bytes.
const MaxReport = 8 << 10

// DecodeReport decodes a report strictly.
func DecodeReport(data []byte) (Report, error) {
	var r Report
	if len(data) > MaxReport {
		return r, ask.Refuse(ask.CodeTooLarge, "the report has %d bytes; send at most %d", len(data), MaxReport)
	}
	if err := wire.Strict("report", data, &r); err != nil {
		return Report{}, err
	}
	var f []ask.Fault
	for _, v := range []struct{ at, value string }{{"/tenant", r.Tenant}, {"/session", r.Session}, {"/id", r.ID}} {
		if v.value != "" && !ask.ValidToken(v.value) {
			f = append(f, ask.NewFault(v.at, ask.FaultBadToken, ask.Clip(v.value, 80), ask.MaxToken))
		}
	}
	if r.Refusal != nil && (r.Refusal.Count < 1 || r.Refusal.Count > maxCount || r.Refusal.Code == "" || r.Refusal.What == "") {
		f = append(f, ask.NewFault("/refusal", ask.FaultBadRefusal, maxCount))
	}
	if (r.Action == Refused) != (r.Refusal != nil) {
		f = append(f, ask.NewFault("/refusal", ask.FaultOnlyRefused))
	}
	if (r.Action == AuditLost) != (r.Lost != 0) || r.Lost < 0 || r.Lost > maxCount {
		f = append(f, ask.NewFault("/lost", ask.FaultOnlyLost, maxCount))
	}
	return r, ask.InvalidError("report", f)
}

// maxCount is the maximum number of refusals or losses in a report.
const maxCount = 1_000_000
