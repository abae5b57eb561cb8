package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// Bounds of stand-ins, in a tenant and in all.
const (
	standInsOfPerson = 10                  // people who stand in for one person
	absentOfStandIn  = 50                  // people for whom one person stands in
	longestAway      = 90 * 24 * time.Hour // shared state keeps entries for 91 days
)

// away notes who stands in for the person whom the sender's credential asserts, in
// the tenant of the subject or in all of them. Nobody says it for somebody else.
func (b *Broker) away(ctx context.Context, r *request) error {
	a, err := wire.DecodeAway(r.body)
	if err != nil {
		return err
	}
	by, err := b.named(r, a.By)
	if err != nil {
		return err
	}
	if list, _ := b.listed(); list[by.Principal] != "" { // as in their own votes
		by.Name = list[by.Principal]
	}
	if !by.IsPerson() || !by.Proves(ask.ProofOS) {
		return ask.Refusal(ask.CodeForbidden, ask.FaultUnproven)
	}
	to, err := b.standInOf(ctx, r.Tenant, &by, a.To)
	if err != nil {
		return err
	}
	now := b.led.Now()
	also, err := b.others(ctx, r.Tenant, to)
	if err != nil {
		return err
	}
	s := wire.StoredStandIn{Principal: by.Principal, Name: ask.CleanLine(by.Name), Groups: by.Groups, Proof: by.Proof, To: to, Also: also, Since: now.UTC(), Until: a.Until.UTC(), Credential: r.User}
	note := b.noteOf(r, subject.BucketStandIns, subject.StandInKey(r.Tenant, to, by.Principal), audit.StandInEnded, by)
	note.record.Object = &audit.Object{Kind: "stand-in", Principal: to}
	note.share, note.most = subject.StandInsFor(r.Tenant, by.Principal), standInsOfPerson
	w := ledger.StateWrite{Bucket: note.Bucket, Key: note.Key, ID: a.ID}
	if !a.Until.IsZero() {
		switch {
		case !a.Until.After(now):
			return ask.InvalidError("away", []ask.Fault{ask.NewFault("/until", ask.FaultDeadlinePassed, s.Until.Format(time.RFC3339))})
		case a.Until.After(now.Add(longestAway)):
			return ask.InvalidError("away", []ask.Fault{ask.NewFault("/until", ask.FaultOutOfRange, s.Until.Format(time.RFC3339), "now", now.Add(longestAway).UTC().Format(time.RFC3339))})
		}
		if err := b.roomBeside(ctx, note.Bucket, note.Key, subject.StandInsBy(r.Tenant, to), to); err != nil {
			return err
		}
		if w.Value, err = wire.Marshal(s); err != nil {
			return err
		}
		if len(w.Value) > note.bucket.MaxValue {
			return ask.Refusal(ask.CodeTooLarge, ask.FaultTooManyBytes, "the_entry", len(w.Value), note.bucket.MaxValue)
		}
		w.Expires = s.Until
		note.record.Action, note.record.Object.Expires = audit.StandInSet, s.Until
	}
	if _, err := b.writeState(ctx, note, &w); err != nil {
		return err
	}
	s.Groups = nil // its sender has them
	return b.replyJSON(r, s)
}

// roomBeside refuses an entry of one more person for whom somebody stands in. One that
// is there, also the mark that it was ended, only changes.
func (b *Broker) roomBeside(ctx context.Context, bucket string, k subject.StateKey, all, standIn string) error {
	if e, err := b.led.ReadState(ctx, bucket, k); err != nil || e.Revision != 0 {
		return err
	}
	n, err := b.led.CountState(ctx, all)
	if err == nil && n >= absentOfStandIn {
		return ask.Refusal(ask.CodeQuota, ask.FaultManyAbsent, standIn, n)
	}
	return err
}

// endStandIns ends those that a person named who was revoked since, in the tenant of the
// revocation or in all: they decide nothing for that person, and lists would still name
// them.
func (b *Broker) endStandIns(ctx context.Context, r *stateRequest, w *ledger.StateWrite, absent string) error {
	for last, more := uint64(0), true; more; {
		entries, left, err := b.led.StateChanges(ctx, subject.StandInsOf(absent), last, absentOfStandIn)
		if err != nil {
			return fmt.Errorf("broker: who stands in for %.80q: %w", absent, err)
		}
		more = left
		for i := range entries {
			e, end := &entries[i], *r
			last = e.Revision
			var stored wire.StoredStandIn
			if !e.Live(b.led.Now()) || json.Unmarshal(e.Value, &stored) != nil || r.Key.Tenant != "" && r.Key.Tenant != e.Key.Tenant {
				continue
			}
			why, err := b.revoked(ctx, e.Key.Tenant, &ask.Vote{By: ask.By{Principal: absent}, At: stored.Since})
			if err != nil {
				return err
			}
			if why == "" {
				continue
			}
			end.Bucket, end.Verb, end.Key = subject.BucketStandIns, subject.VerbDelete, e.Key
			if _, err := b.writeState(ctx, &end, &ledger.StateWrite{Bucket: end.Bucket, Key: end.Key, ID: w.ID}); err != nil {
				return err
			}
		}
	}
	return nil
}

// standInOf returns the principal of whom a person names as stand-in: a principal, or
// a name of the list of people.
func (b *Broker) standInOf(ctx context.Context, tenant string, by *ask.By, named string) (string, error) {
	list, _ := b.listed()
	to := named
	if !strings.Contains(named, ":") {
		to = ""
		for principal, name := range list {
			if strings.EqualFold(name, named) && (to == "" || principal < to) {
				to = principal
			}
		}
	}
	if err := assertion.CheckAsker([]string{to}); err != nil || !(ask.By{Principal: to}).IsPerson() {
		return "", ask.InvalidError("away", []ask.Fault{ask.NewFault("/to", ask.FaultNoStandIn, ask.Clip(named, 80))})
	}
	self, err := b.selves(ctx, tenant, by.Principal)
	if err != nil {
		return "", err
	}
	if slices.Contains(self, to) {
		return "", ask.InvalidError("away", []ask.Fault{ask.NewFault("/to", ask.FaultOwnStandIn, ask.Clip(named, 80))})
	}
	return to, nil
}

// decide decides a command of a person: as they are, and if they may not, as the
// stand-in of each person for whom they stand in. What they may do themselves needs
// no look at who is away.
func (b *Broker) decide(ctx context.Context, s lifecycle.State, c lifecycle.Command, now time.Time) (lifecycle.Effect, error) {
	effect, refusal := lifecycle.Decide(s, c, now)
	by, personal := lifecycle.Person(c)
	if !personal || !errors.Is(refusal, ask.ErrForbidden) || !by.IsPerson() || !s.Pending() {
		return effect, refusal
	}
	standIns, err := b.standIns(ctx, &by, &s, now)
	if err != nil {
		return nil, err
	}
	standIns = b.breakStandIns(ctx, &by, &s, now, standIns)
	if s.Ask.NeedsPerson() && len(standIns) > 0 {
		absent := make([]string, len(standIns))
		for i := range standIns {
			absent[i] = standIns[i].Absent.Principal
		}
		s.People.Links = maps.Clone(s.People.Links)
		if err := b.addLinks(ctx, s.Ask.Tenant, &s.People, absent...); err != nil {
			return nil, err
		}
	}
	for _, as := range by.Selves(s.Ask.Tenant, standIns, now)[1:] {
		effect, err := lifecycle.Decide(s, lifecycle.As(c, as), now)
		if err == nil || !errors.Is(err, ask.ErrForbidden) { // such as a reason that is missing
			return effect, err
		}
		if e := wire.AsError(err); slices.ContainsFunc(e.Faults, func(f ask.Fault) bool { return f.Code == ask.FaultSeatTaken }) {
			refusal = err
		}
	}
	return nil, refusal
}

// maxAlso bounds the other principals that an entry names.
const maxAlso = 16

// others returns the other principals of a person, as far as an entry names them.
func (b *Broker) others(ctx context.Context, tenant, principal string) ([]string, error) {
	all, err := b.selves(ctx, tenant, principal)
	if err != nil {
		return nil, err
	}
	all = all[1:]
	slices.Sort(all)
	return all[:min(len(all), maxAlso)], nil
}

// standIns returns the people for whom somebody stands in, under each of their
// principals, as the leader has it: who was absent first is first. It leaves out who
// was revoked since.
func (b *Broker) standIns(ctx context.Context, by *ask.By, s *lifecycle.State, now time.Time) (all []ask.StandIn, err error) {
	principals, err := b.selves(ctx, s.Ask.Tenant, by.Principal)
	if err != nil {
		return nil, err
	}
	for _, principal := range principals {
		for _, tenant := range []string{"", s.Ask.Tenant} {
			entries, _, err := b.led.StateChanges(ctx, subject.StandInsBy(tenant, principal), 0, absentOfStandIn)
			if err != nil {
				return nil, fmt.Errorf("broker: for whom does %.80q stand in: %w", by.Principal, err)
			}
			for i := range entries {
				e := &entries[i]
				var stored wire.StoredStandIn
				if !e.Live(now) || json.Unmarshal(e.Value, &stored) != nil || stored.To != principal {
					continue
				}
				one := stored.StandIn(tenant)
				why, err := b.revoked(ctx, s.Ask.Tenant, &ask.Vote{By: one.Absent, At: one.Since, Credential: stored.Credential})
				if err != nil {
					return nil, err
				}
				if one.By, one.Also = by.Principal, nil; why == "" {
					all = append(all, one)
				}
			}
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Since.Before(all[j].Since) })
	return all, nil
}
