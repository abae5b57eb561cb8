package broker

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// Bounds of links between members of chats and people of the inbox.
const (
	claimLasts     = 10 * time.Minute
	claimsOfPerson = 5  // codes of one member of a chat; those that have expired count until the server removes them
	linksOfPerson  = 20 // members of chats that are one person
	codesPerMinute = 20 // that one person tries
	linksRead      = 64 // entries and markers of one principal, for a decision
)

// claim notes a code with which a person of the inbox can say that they are the member
// of a chat whom the sender's credential asserts. A surface claims only principals of
// its own type, whatever a routing file lets it assert.
func (b *Broker) claim(ctx context.Context, r *request) error {
	c, err := wire.DecodeClaim(r.body)
	if err != nil {
		return err
	}
	by, err := b.vouched(r, c.By)
	if err != nil {
		return err
	}
	if !by.IsPerson() || !strings.HasPrefix(by.Principal, schemeOf(r.Type)+":") {
		return ask.Refusal(ask.CodeForbidden, ask.FaultOtherMember, ask.Clip(by.Principal, 80), r.Type)
	}
	if err := b.mayLink(by.Principal); err != nil {
		return err
	}
	note := b.noteOf(r, subject.BucketClaims, subject.ClaimKey(r.Tenant, c.Code, by.Principal), "", by)
	note.record, note.share, note.most = nil, subject.ClaimsOf(r.Tenant, by.Principal), claimsOfPerson
	one := wire.StoredClaim{Principal: by.Principal, Name: ask.Clip(ask.CleanLine(by.Name), ask.MaxName), Until: b.led.Now().Add(claimLasts).UTC(), Credential: r.User}
	w := ledger.StateWrite{Bucket: note.Bucket, Key: note.Key, Expires: one.Until, ID: c.ID, Expect: new(uint64(0))} // a code that was used stays so
	if w.Value, err = wire.Marshal(one); err != nil {
		return err
	}
	if _, err := b.writeState(ctx, note, &w); err != nil {
		return err
	}
	return b.replyBody(r, w.Value)
}

// schemeOf returns how the principals of a surface's own members begin.
func schemeOf(typ string) string {
	if kind := ask.SurfaceKind(typ); kind != subject.TypeEmail {
		return kind
	}
	return "mailto"
}

// mayLink refuses a principal that the operator does not let people link.
func (b *Broker) mayLink(principal string) error {
	if b.opts.Approvals == nil {
		return nil
	}
	f := b.opts.Approvals()
	switch {
	case !f.LinksAllowed():
		return ask.Refusal(ask.CodeForbidden, ask.FaultLinksOff)
	case f.Linked()[principal] != "":
		return ask.Refusal(ask.CodeForbidden, ask.FaultListed, principal)
	}
	return nil
}

// link says who a code of a chat would link with the person whom the inbox's
// credential asserts, links them, or ends a link of that person.
func (b *Broker) link(ctx context.Context, r *request) error {
	l, err := wire.DecodeLink(r.body)
	if err != nil {
		return err
	}
	if r.Type != subject.TypeWeb {
		return ask.Refusal(ask.CodeForbidden, ask.FaultOnlyInbox)
	}
	by, err := b.named(r, l.By)
	if err != nil {
		return err
	}
	if !by.IsPerson() || !by.Proves(ask.ProofOS) {
		return ask.Refusal(ask.CodeForbidden, ask.FaultUnproven)
	}
	if l.End != "" {
		return b.unlink(ctx, r, by, &l)
	}
	now := b.led.Now()
	if !b.codes.Take(by.Principal, now) {
		return ask.Refusal(ask.CodeQuota, ask.FaultManyCodes, codesPerMinute)
	}
	claimed, err := b.claimOf(ctx, r.Tenant, &l, now)
	if err != nil {
		return err
	}
	one := wire.StoredLink{Principal: claimed.Principal, Name: claimed.Name, Account: by.Principal, AccountName: ask.CleanLine(by.Name), Proof: by.Proof, Credential: r.User}
	if err := b.mayLink(one.Principal); err != nil {
		return err
	}
	tenant := r.Tenant
	if claimed.Key.Tenant != "" {
		tenant = claimed.Key.Tenant // a chat of one tenant says nothing in others
	}
	if !l.Look {
		if err := b.useClaim(ctx, r, claimed, l.ID); err != nil {
			return err
		}
		one.Since = now.UTC()
	}
	if one, err = b.writeLink(ctx, r, by, tenant, one); err != nil {
		return err
	}
	return b.replyJSON(r, one)
}

// storedClaim is a claim and its entry.
type storedClaim struct {
	ledger.StateEntry
	wire.StoredClaim
}

// claimOf returns the claim of a code that was not used, or was used by this very
// request: of the inbox's tenant and of none, or of all.
func (b *Broker) claimOf(ctx context.Context, tenant string, l *wire.Link, now time.Time) (*storedClaim, error) {
	filters := []string{subject.ClaimsByCode("", l.Code, tenant == "")}
	if tenant != "" {
		filters = append(filters, subject.ClaimsByCode(tenant, l.Code, false))
	}
	for _, filter := range filters {
		entries, _, err := b.led.StateChanges(ctx, filter, 0, 2)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			c := storedClaim{StateEntry: e}
			if e.Live(now) && json.Unmarshal(e.Value, &c.StoredClaim) == nil && (c.Used == "" || c.Used == l.ID) {
				return &c, nil
			}
		}
	}
	return nil, noSuchCode()
}

func noSuchCode() error {
	return ask.Refusal(ask.CodeNotFound, ask.FaultUnknownCode, claimLasts.Minutes())
}

// useClaim marks a code as used. Of two who use it one succeeds.
func (b *Broker) useClaim(ctx context.Context, r *request, c *storedClaim, id string) error {
	note := b.noteOf(r, subject.BucketClaims, c.Key, "", ask.By{})
	note.record = nil
	used := c.StoredClaim
	used.Used = id
	value, err := wire.Marshal(used)
	if err != nil {
		return err
	}
	_, err = b.writeState(ctx, note, &ledger.StateWrite{Bucket: note.Bucket, Key: note.Key, Value: value, Expires: c.Expires, Expect: &c.Revision, ID: id})
	if e := wire.AsError(err); err != nil && e.Code == ask.CodeConflict {
		return noSuchCode()
	}
	return err
}

// writeLink writes a link; one without Since is only checked. A principal is one
// person's: the compare-and-set is of all links of the principal.
func (b *Broker) writeLink(ctx context.Context, r *request, by ask.By, tenant string, one wire.StoredLink) (wire.StoredLink, error) {
	note := b.noteOf(r, subject.BucketLinks, subject.LinkKey(tenant, by.Principal, one.Principal), audit.PersonLinked, by)
	note.record.Object = &audit.Object{Kind: "person", Principal: one.Principal, Name: one.Name}
	over := subject.LinksOf(one.Principal)
	for range maxTries {
		now := b.led.Now()
		all, last, err := b.linksOf(ctx, over, now)
		if err != nil {
			return one, err
		}
		for i := range all {
			switch there := &all[i]; {
			case there.Account == by.Principal && (there.Key.Tenant == "" || there.Key.Tenant == tenant):
				return there.StoredLink, nil
			case there.Account != by.Principal && (there.Key.Tenant == "" || tenant == "" || there.Key.Tenant == tenant):
				return one, ask.Refusal(ask.CodeConflict, ask.FaultLinkedElsewhere, one.Principal)
			}
		}
		if err := b.roomForLink(ctx, note, one.Principal, by.Principal, now); err != nil || one.Since.IsZero() {
			return one, err
		}
		w := ledger.StateWrite{Bucket: note.Bucket, Key: note.Key, Expect: &last, Over: over}
		if w.Value, err = wire.Marshal(one); err != nil {
			return one, err
		}
		_, err = b.led.WriteState(ctx, &w, now)
		if err == nil {
			b.audit.add(note.record)
		}
		if !ledger.IsRace(err) {
			return one, err
		}
	}
	return one, ask.Refusal(ask.CodeUnavailable, ask.FaultManyChanges)
}

// roomForLink refuses a link of somebody who has the most, one of who is linked to
// somebody else, and one to who is: there are no chains.
func (b *Broker) roomForLink(ctx context.Context, note *stateRequest, principal, account string, now time.Time) error {
	own, _, err := b.linksOf(ctx, subject.LinksBy(account), now)
	if err != nil {
		return err
	}
	if len(own) >= linksOfPerson {
		return ask.Refusal(ask.CodeQuota, ask.FaultManyLinks, len(own))
	}
	for _, filter := range []string{subject.LinksOf(account), subject.LinksBy(principal)} {
		if chain, _, err := b.linksOf(ctx, filter, now); err != nil || len(chain) > 0 || principal == account {
			if err != nil {
				return err
			}
			return ask.Refusal(ask.CodeConflict, ask.FaultLinkChain, principal, account)
		}
	}
	return b.roomInBucket(ctx, note)
}

// unlink ends the links of a principal that a person made.
func (b *Broker) unlink(ctx context.Context, r *request, by ask.By, l *wire.Link) error {
	all, _, err := b.linksOf(ctx, subject.LinksOf(l.End), b.led.Now())
	if err != nil {
		return err
	}
	ended := false
	for i := range all {
		if one := &all[i]; one.Account == by.Principal && (r.Tenant == "" || one.Key.Tenant == r.Tenant) {
			if err := b.endLink(ctx, r, one, by, l.ID); err != nil {
				return err
			}
			ended = true
		}
	}
	if !ended && l.ID == "" {
		return ask.Refusal(ask.CodeNotFound, ask.FaultNotLinkedToYou, ask.Clip(l.End, 80))
	}
	return b.replyJSON(r, struct{}{})
}

func (b *Broker) endLink(ctx context.Context, r *request, one *storedLink, by ask.By, id string) error {
	note := b.noteOf(r, subject.BucketLinks, one.Key, audit.PersonUnlinked, by)
	note.record.Object = &audit.Object{Kind: "person", Principal: one.Principal, Name: one.Name}
	_, err := b.writeState(ctx, note, &ledger.StateWrite{Bucket: note.Bucket, Key: note.Key, ID: id})
	return err
}

// storedLink is a link and its entry.
type storedLink struct {
	ledger.StateEntry
	wire.StoredLink
}

// linksOf returns the links that match a filter, as the leader has them, and the last
// revision of these and of markers.
func (b *Broker) linksOf(ctx context.Context, filter string, now time.Time) (all []storedLink, last uint64, err error) {
	all, last, more, err := b.linksAfter(ctx, filter, 0, now)
	if err == nil && more {
		err = ask.Refusal(ask.CodeQuota, ask.FaultLinksBusy)
	}
	return all, last, err
}

// everyLink returns the links that match a filter, however many markers there are.
func (b *Broker) everyLink(ctx context.Context, filter string, now time.Time) (all []storedLink, err error) {
	for last, more := uint64(0), true; more; {
		var some []storedLink
		if some, last, more, err = b.linksAfter(ctx, filter, last, now); err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// linksAfter returns the links of the next entries and markers that match a filter, and
// the revision of the last of these. more reports whether there may be others.
func (b *Broker) linksAfter(ctx context.Context, filter string, after uint64, now time.Time) (all []storedLink, last uint64, more bool, err error) {
	entries, more, err := b.led.StateChanges(ctx, filter, after, linksRead)
	for _, e := range entries {
		last = e.Revision
		one := storedLink{StateEntry: e}
		if e.Live(now) && json.Unmarshal(e.Value, &one.StoredLink) == nil {
			all = append(all, one)
		}
	}
	return all, last, more, err
}
