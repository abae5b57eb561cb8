package broker

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// auditEndpoint is the endpoint of the audit.
const auditEndpoint = "audit"

// auditRequest is one request about the audit.
type auditRequest struct {
	subject.AuditRequest
	to request // for replies and refusals
}

func (b *Broker) receiveAudit(m micro.Request) {
	b.requests.Add(1)
	r, err := subject.ParseAudit(m.Subject())
	if err != nil || m.Reply() != "" && !subject.AuditReplyAllowed(r, m.Reply()) {
		b.dropped.Add(1)
		b.opts.Logger.Warn("dropped a request about the audit: a malformed or foreign subject", slog.String("subject", m.Subject()))
		return
	}
	req := auditRequest{AuditRequest: r, to: request{Request: subject.Request{Verb: r.Verb, ID: auditEndpoint}, reply: m.Reply()}}
	b.queue(m, &req.to, ask.Key{Tenant: auditEndpoint, Session: r.User}, "about the audit", func(ctx context.Context) error {
		if r.Verb == subject.VerbReport {
			return b.report(m.Data(), &req)
		}
		return b.readAudit(ctx, m.Data(), &req)
	})
}

// Bounds of one page of the audit.
const (
	maxAuditPage  = 512 << 10
	maxAuditReads = 8 // batches that one request reads
)

// readAudit reads a bounded part of the audit, and records the read.
func (b *Broker) readAudit(ctx context.Context, data []byte, r *auditRequest) error {
	q, err := audit.DecodeQuery(data)
	if err != nil {
		return err
	}
	if q.Cursor == 0 || q.Raw && q.Cursor == 1 {
		b.audit.add(&audit.Record{
			Action: audit.AuditRead, Tenant: r.Tenant, Actor: &audit.Actor{Role: "reader", Credential: r.User},
			Object: &audit.Object{Kind: auditEndpoint, Note: noteOf(&q)},
		})
	}
	if q.Raw {
		return b.readAuditRaw(ctx, &q, r)
	}
	page := audit.Page{Items: []audit.Record{}, Next: q.Cursor}
	size, since := 0, q.Since
	for range maxAuditReads {
		part, err := b.led.ReadAudit(ctx, r.Tenant, page.Next, since, q.Whole, q.Wants)
		if err != nil {
			return err
		}
		for i := range part.Records {
			one, err := json.Marshal(&part.Records[i])
			if err != nil {
				return err
			}
			if size += len(one) + 1; len(page.Items) > 0 && (size > maxAuditPage || len(page.Items) == q.Limit) {
				page.Next = part.Records[i].Seq
				return b.replyJSON(&r.to, &page)
			}
			page.Items = append(page.Items, part.Records[i])
		}
		page.Next = part.Next
		if page.End = part.End; page.End || len(page.Items) == q.Limit {
			break
		}
	}
	return b.replyJSON(&r.to, &page)
}

// readAuditRaw reads a bounded part of the audit as it is stored.
func (b *Broker) readAuditRaw(ctx context.Context, q *audit.Query, r *auditRequest) error {
	if r.Tenant != "" {
		return ask.Refuse(ask.CodeForbidden, "records as they are stored are those of every tenant; leave the tenant out, with a credential that is not limited to one")
	}
	raw, err := b.led.ReadAuditRaw(ctx, q.Cursor, q.Limit)
	if err != nil {
		return err
	}
	body := make([]byte, 0, min(maxAuditPage+maxAuditPage/8, 4096*len(raw)))
	for i := range raw {
		before := len(body)
		if body = raw[i].AppendTo(body); i > 0 && len(body) > maxAuditPage {
			body = body[:before]
			break
		}
	}
	return b.send(&r.to, &nats.Msg{Header: nats.Header{"Content-Type": {audit.TypeRaw}}, Data: body})
}

// noteOf describes a query. The description is not in a field that a search for
// the same person matches.
func noteOf(q *audit.Query) string {
	var words []string
	for _, v := range []struct{ what, value string }{{"principal", q.Principal}, {"session", q.Session}, {"ask", q.Ask}, {"credential", q.Key}} {
		if v.value != "" {
			words = append(words, v.what+" "+v.value)
		}
	}
	if q.Whole || q.Raw {
		words = append(words, "with typed texts")
	}
	return strings.Join(words, ", ")
}

// reports returns the actions that a sender may report: those that only it
// sees.
func reports(role subject.StateRole, typ string) []audit.Action {
	own := []audit.Action{audit.Refused, audit.AuditLost}
	switch role {
	case subject.StateGateway:
		return own
	case subject.StateResponder:
		if typ == subject.TypeWeb { // it signs people in
			return append(own, audit.SignedIn, audit.AsksDeclined, audit.AsksDismissed)
		}
		if typ == subject.TypeWebhook {
			return append(own, audit.WebhookFailed)
		}
		return own
	case subject.StateIssuer:
		return append(own, audit.CredentialIssued, audit.CredentialRevoked, audit.LedgerRepaired, audit.LedgerChanged, audit.LedgerSaved)
	case subject.StateOperator:
		return []audit.Action{audit.InvitationMade, audit.LedgerRepaired, audit.LedgerChanged, audit.LedgerSaved}
	case subject.StateSaved:
		return []audit.Action{audit.LedgerSaved}
	case subject.StateAgent:
	}
	return nil
}

// Bounds of reports.
const (
	reportsPerMinute = 600  // of one credential
	issuerPerMinute  = 6000 // it reports what happened while it was down
)

// report adds a sender's report to the audit. The subject identifies the
// sender. What the report says about others is the sender's claim, and marked
// so.
func (b *Broker) report(data []byte, r *auditRequest) error {
	p, err := audit.DecodeReport(data)
	if err != nil {
		return err
	}
	if !slices.Contains(reports(r.Role, r.Type), p.Action) {
		return ask.Refuse(ask.CodeForbidden, "the role %s may not report %.64q", r.Role, p.Action)
	}
	rate, most := b.reported, reportsPerMinute
	if r.Role == subject.StateIssuer {
		rate, most = b.issued, issuerPerMinute
	}
	now := b.led.Now().UTC()
	if !rate.Take(r.User, now) {
		return ask.Refuse(ask.CodeQuota, "a credential may send %d reports to the audit in a minute; send this one again later", most)
	}
	p.Tenant = cmp.Or(r.Tenant, p.Tenant)
	if p.Time.IsZero() || p.Time.After(now) || r.Role != subject.StateIssuer && r.Role != subject.StateOperator { // others may not back-date
		p.Time = now
	}
	surface := cmp.Or(r.Type, string(r.Role))
	rec := &audit.Record{
		ID: p.ID, Time: p.Time.UTC(), Action: p.Action, Tenant: p.Tenant, Session: p.Session, Surface: surface, Address: p.Address, Refusal: p.Refusal, Object: p.Object, Lost: p.Lost,
		Actor: &audit.Actor{Role: string(r.Role), Credential: r.User, Principal: p.Principal, Proof: p.Proof, Name: p.Name},
	}
	if p.Principal != "" {
		rec.Actor.ReportedBy = surface
	}
	if f := rec.Refusal; f != nil {
		f.First, f.Last = within(f.First, now), within(f.Last, now)
	}
	if p.ID != "" && r.Role != subject.StateIssuer {
		rec.ID = r.User + "-" + p.ID // so that no record can take another's id
	}
	b.audit.add(rec)
	return b.replyJSON(&r.to, struct{}{})
}

// within returns a reported time, or now if that is implausible.
func within(at, now time.Time) time.Time {
	if at.After(now) || now.Sub(at) > time.Hour {
		return now
	}
	return at.UTC()
}

// auditRefusal records that a request about an ask was refused.
func (b *Broker) auditRefusal(r *request, e *ask.Error) {
	if r.Root == "" || wire.HTTPStatus(e.Code) >= 500 || e.Code == ask.CodeNotFound {
		return
	}
	b.audit.refuse(refusalKind{
		user: r.User, role: roleOf(r), principal: r.by.Principal, proof: r.by.Proof, tenant: r.Tenant, session: r.Session, surface: r.Type, what: string(r.Verb), code: e.Code,
	}, r.ID, e.Detail)
}

// roleOf returns the role of a request's sender, as its subject says.
func roleOf(r *request) string {
	switch r.Root {
	case subject.Agents:
		return "agent"
	case subject.Hosts:
		return "host"
	case subject.Operators:
		return "operator"
	}
	if r.Type == subject.TypeGateway || r.Type == subject.TypeOperator || r.Type == subject.TypeAgent {
		return r.Type
	}
	return "responder"
}

// auditShown records that a surface presented an ask, or failed to.
func (b *Broker) auditShown(r *request, receipt *ask.Receipt) {
	if receipt.State == ask.ReceiptPosting {
		return
	}
	b.audit.add(&audit.Record{
		Time: receipt.At, Action: audit.AskShown, Tenant: r.Tenant, Session: r.Session, Ask: r.ID, Surface: receipt.Type,
		Actor:  &audit.Actor{Role: roleOf(r), Credential: r.User},
		Object: &audit.Object{Kind: "receipt", Note: string(receipt.State) + " " + receipt.Words()},
	})
}

// auditState records the meaning of a write of shared state, such as a sign-in
// or a new token. live says whether there was an entry before.
func (b *Broker) auditState(r *stateRequest, w *ledger.StateWrite, old *ledger.StateEntry, live bool) {
	if r.record != nil {
		b.audit.add(r.record)
		return
	}
	removed := w.Value == nil
	value := w.Value
	if removed {
		value = old.Value
	}
	action := stateAction(r, removed, live)
	if r.Bucket == subject.BucketPasskeys && !removed && live && passkeys(value) > passkeys(old.Value) {
		action = audit.PasskeyAdded // an additional one; otherwise it was used
	}
	if action == "" {
		return
	}
	var said struct {
		Tenant    string    `json:"tenant"`
		Role      string    `json:"role"`
		Principal string    `json:"principal"`
		Proof     string    `json:"proof"`
		Name      string    `json:"name"`
		Client    string    `json:"client"`
		Sessions  []string  `json:"sessions"`
		Expires   time.Time `json:"expires"`
	}
	_ = json.Unmarshal(value, &said) // unknown fields do not matter
	rec := &audit.Record{
		Action: action, Tenant: r.Key.Tenant, Surface: r.Type,
		Actor:  &audit.Actor{Role: string(r.Role)},
		Object: &audit.Object{ID: r.Key.Name, Role: said.Role, Principal: said.Principal, Proof: said.Proof, Name: said.Name, Sessions: said.Sessions, Note: said.Client, Expires: said.Expires},
	}
	if rec.Object.Kind, _, _ = strings.Cut(string(action), "."); rec.Object.Kind == string(audit.SignedOut) {
		rec.Object.Kind = string(audit.SignedIn)
	}
	if rec.Object.Expires.IsZero() {
		rec.Object.Expires = w.Expires
	}
	if r.Bucket == subject.BucketTokens && rec.Tenant == "" && ask.ValidToken(said.Tenant) {
		rec.Tenant = said.Tenant // its auditors see the tokens of the tenant
	}
	if action == audit.SignedIn || action == audit.SignedOut { // done by the person
		rec.Actor = &audit.Actor{Role: string(r.Role), Principal: said.Principal, Proof: said.Proof, Name: said.Name, ReportedBy: r.Type}
	}
	b.audit.add(rec)
}

// passkeys counts the passkeys of a person.
func passkeys(value []byte) int {
	var said struct {
		Keys []json.RawMessage `json:"keys"`
	}
	_ = json.Unmarshal(value, &said) // none
	return len(said.Keys)
}

// stateAction returns the meaning of a write of shared state; empty: not
// recorded.
func stateAction(r *stateRequest, removed, live bool) audit.Action {
	choose := func(made, changed, gone audit.Action) audit.Action {
		switch {
		case removed:
			return gone
		case live:
			return changed
		}
		return made
	}
	switch r.Bucket {
	case subject.BucketTokens:
		return choose(audit.TokenIssued, audit.TokenChanged, audit.TokenRevoked)
	case subject.BucketSessions:
		if removed && r.Role == subject.StateOperator {
			return audit.SignInRevoked
		}
		return choose(audit.SignedIn, "", audit.SignedOut) // an update renews it
	case subject.BucketLoginLinks:
		return choose(audit.LinkUsed, "", "")
	case subject.BucketPasskeys:
		return choose(audit.PasskeyAdded, "", audit.PasskeyRemoved)
	case subject.BucketStandIns:
		return choose("", "", audit.StandInEnded) // by an operator; those that people set are recorded where they are
	case subject.BucketLinks:
		return choose("", "", audit.PersonUnlinked) // by an operator
	}
	return ""
}
