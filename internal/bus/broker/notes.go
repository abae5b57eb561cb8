package broker

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// Bounds of notes: what people do with an ask without ending it.
const (
	snoozesOfPerson = 1000
	longestNote     = 29 * 24 * time.Hour // shared state keeps entries for 30 days
)

// snooze puts an ask off for the person whom the sender's credential asserts.
func (b *Broker) snooze(ctx context.Context, r *request) error {
	z, err := wire.DecodeSnooze(r.body)
	if err != nil {
		return err
	}
	by, err := b.vouched(r, z.By)
	if err != nil {
		return err
	}
	note := b.noteOf(r, subject.BucketSnoozes, subject.SnoozeKey(by.Principal, r.Key()), audit.AskSnoozed, by)
	note.share, note.most = subject.LedgerState(subject.BucketSnoozes, subject.StateKey{Tenant: r.Tenant, Name: subject.SnoozerToken(by.Principal) + ".>"}), snoozesOfPerson
	w := ledger.StateWrite{Bucket: note.Bucket, Key: note.Key, ID: z.ID}
	if !z.Until.IsZero() {
		s, now, err := b.open(ctx, r, z.Life, nil)
		if err != nil {
			return err
		}
		for _, latest := range []time.Time{s.Deadline, now.Add(longestNote)} {
			if z.Until.After(latest) {
				z.Until = latest
			}
		}
		if !z.Until.After(now) {
			return ask.InvalidError("snooze", []ask.Fault{ask.NewFault("/until", ask.FaultDeadlinePassed, z.Until.UTC().Format(time.RFC3339))})
		}
		if w.Value, err = wire.Marshal(wire.StoredSnooze{Key: r.Key(), Life: z.Life, Until: z.Until.UTC()}); err != nil {
			return err
		}
		w.Expires = z.Until.Add(time.Second)
		note.record.Object.Expires = z.Until.UTC()
	}
	return b.writeNote(ctx, note, &w)
}

// handover notes to whom a person hands an ask. Only people who may decide it
// may hand it over, not to somebody who certainly may not, and nobody gains a right by it.
func (b *Broker) handover(ctx context.Context, r *request) error {
	h, err := wire.DecodeHandover(r.body)
	if err != nil {
		return err
	}
	by, err := b.named(r, h.By)
	if err != nil {
		return err
	}
	s, now, err := b.open(ctx, r, h.Life, &by)
	if err == nil {
		err = b.mayTakeOver(ctx, &s, h.To)
	}
	if err != nil {
		return err
	}
	note := b.noteOf(r, subject.BucketHandovers, subject.AskKey(r.Key()), audit.AskHandedOver, by)
	note.record.Object.Principal = h.To
	w := ledger.StateWrite{Bucket: note.Bucket, Key: note.Key, ID: h.ID}
	if h.To != "" {
		if w.Value, err = wire.Marshal(wire.StoredHandover{Key: r.Key(), Life: h.Life, To: ask.CleanLine(h.To), Word: ask.CleanLine(h.Word), By: ask.By{Principal: by.Principal, Name: ask.CleanLine(by.Name), Proof: by.Proof}, At: now.UTC()}); err != nil {
			return err
		}
		w.Expires = now.Add(min(longestNote, max(0, s.Deadline.Sub(now))+time.Minute))
	}
	return b.writeNote(ctx, note, &w)
}

// mayTakeOver refuses somebody who may not decide an ask, neither as they are nor for somebody who is away: it would
// leave the lists of those who may.
func (b *Broker) mayTakeOver(ctx context.Context, s *lifecycle.State, to string) error {
	if to == "" || strings.HasPrefix(to, "group:") || strings.HasPrefix(to, "schedule:") || s.Ask.CouldDecide(to) {
		return nil
	}
	fault := ask.NewFault("/to", ask.FaultNotADecider, ask.Unresolved(s.Ask.Audience))
	switch {
	case s.Ask.Excludes(ask.By{Principal: to, Proof: ask.ProofPasskey}):
		fault = ask.NewFault("/to", ask.FaultExcluded)
	case len(s.Ask.Audience) == 0 && s.Ask.Approval != nil:
		fault = ask.NewFault("/to", ask.FaultNotADecider, s.Ask.Approval.Who(""))
	}
	_, refusal, err := b.asStandIn(ctx, s, ask.By{Principal: to, Proof: ask.ProofPasskey}, "", ask.InvalidError("handover", []ask.Fault{fault}))
	return cmp.Or(err, refusal)
}

// open returns a pending ask and the time. It refuses an ask
// that is not pending, of another life, or, if by is set, that this person may
// not decide: neither as they are nor for somebody who is away, who is then in by.
func (b *Broker) open(ctx context.Context, r *request, life string, by *ask.By) (s lifecycle.State, now time.Time, err error) {
	if s, err = b.load(ctx, r.Key()); err != nil {
		return s, now, err
	}
	who, minProof := ask.By{}, ""
	if by != nil {
		who, minProof = *by, b.demands(r)
		if duties := b.onCallFor(&s); s.Pending() && duties != nil { // who is on call now, not who was when the ask was written
			s.Ask = s.Ask.OnDuty(duties)
		}
	}
	refusal := s.MayDecide(who, minProof)
	if by != nil && errors.Is(refusal, ask.ErrForbidden) {
		if who, refusal, err = b.asStandIn(ctx, &s, who, minProof, refusal); err != nil {
			return s, now, err
		}
		*by = who
	}
	if refusal != nil && (by != nil || !s.Pending()) {
		return s, now, refusal
	}
	if s.Life != life {
		return s, now, ask.InvalidError(string(r.Verb), []ask.Fault{ask.NewFault("/life", ask.FaultAnotherLife, life, s.Life)})
	}
	now, err = b.led.Moment(ctx, r.Key())
	return s, now, err
}

// asStandIn returns a person as the stand-in of the first who is away and may decide an
// ask, or the refusal.
func (b *Broker) asStandIn(ctx context.Context, s *lifecycle.State, by ask.By, minProof string, refusal error) (ask.By, error, error) {
	if !by.IsPerson() || !s.Pending() {
		return by, refusal, nil
	}
	now := b.led.Now()
	standIns, err := b.standIns(ctx, &by, s, now)
	if err != nil {
		return by, nil, err
	}
	for _, as := range by.Selves(s.Ask.Tenant, standIns, now)[1:] {
		if s.MayDecide(as, minProof) == nil {
			return as, nil, nil
		}
	}
	return by, refusal, nil
}

// noteOf returns the write of a note, and what the audit says of it.
func (b *Broker) noteOf(r *request, bucket string, k subject.StateKey, action audit.Action, by ask.By) *stateRequest {
	n := &stateRequest{StateRequest: subject.StateRequest{Role: subject.StateResponder, Type: r.Type, Bucket: bucket, Verb: subject.VerbPut, Key: k}, to: *r}
	n.bucket, _ = subject.FindBucket(bucket)
	n.record = &audit.Record{
		Time: b.led.Now(), Action: action, Tenant: r.Tenant, Session: r.Session, Ask: r.ID, Surface: r.Type,
		Actor:  &audit.Actor{Role: "responder", Credential: r.User, Principal: by.Principal, Proof: by.Proof, Name: by.Name, Groups: by.Groups},
		Object: &audit.Object{Kind: string(r.Verb)},
	}
	if by.For != nil {
		n.record.Actor.For = by.For.Principal
	}
	return n
}

// writeNote writes a note, or takes it back.
func (b *Broker) writeNote(ctx context.Context, n *stateRequest, w *ledger.StateWrite) error {
	if w.Value == nil {
		n.record.Object.Note = "taken back"
	}
	if len(w.Value) > n.bucket.MaxValue {
		return ask.Refusal(ask.CodeTooLarge, ask.FaultTooManyBytes, "the_entry", len(w.Value), n.bucket.MaxValue)
	}
	if _, err := b.writeState(ctx, n, w); err != nil {
		return err
	}
	return b.replyJSON(&n.to, struct{}{})
}
