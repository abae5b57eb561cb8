package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/quota"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// JetStream headers.
const (
	hdrExpectedSeq     = "Nats-Expected-Last-Subject-Sequence"
	hdrExpectedSubject = "Nats-Expected-Last-Subject-Sequence-Subject"
	hdrSchedule        = "Nats-Schedule"
	hdrScheduleTarget  = "Nats-Schedule-Target"
	hdrScheduleTTL     = "Nats-Schedule-TTL"
	hdrScheduler       = "Nats-Scheduler"
	hdrScheduleNext    = "Nats-Schedule-Next"
	hdrTTL             = "Nats-TTL"
	hdrRollup          = "Nats-Rollup"
	hdrNext            = "Askbus-Next"    // of a question: when the next step of its ladder is due
	hdrOpen            = "Askbus-Open"    // of a question: the open hours from the next step on, if only these count
	hdrOnCall          = "Askbus-On-Call" // of a question: the schedules that say who may decide it
)

// Store writes the question of a new ask; it is durable when Store returns. The
// compare-and-set over the ask's wildcard detects an existing one: see
// [IsRace]. The server itself expires it at its deadline. Store returns the
// resulting state.
func (l *Ledger) Store(ctx context.Context, s lifecycle.State) (lifecycle.State, error) {
	msg, err := l.questionMsg(&s)
	if err != nil {
		return lifecycle.State{}, err
	}
	k := s.Ask.Key()
	p, _ := l.place(k)
	msg.Header.Set(hdrExpectedSeq, "0")
	msg.Header.Set(hdrExpectedSubject, subject.LedgerAny(p, k))
	if l.breakQuestion(msg) {
		s.Version = 1
		return s, nil
	}
	defer l.fresh.begin(k)()
	s.Version, err = l.publish(ctx, msg)
	if storageFull(err) {
		return lifecycle.State{}, errors.Join(full(), err)
	}
	if err != nil {
		return lifecycle.State{}, err
	}
	bytes := int64(size(msg))
	l.used.Add(bytes)
	l.reserve.Add(bytes + quota.EndOverhead)
	l.stored.Add(1)
	l.storedBytes.Add(bytes)
	if !s.Living() { // those are read back before each write
		l.fresh.put(k, s, len(msg.Data))
	}
	return s, nil
}

// questionMsg returns the message of a pending ask, with its timer but without a
// compare-and-set.
func (l *Ledger) questionMsg(s *lifecycle.State) (*nats.Msg, error) {
	ev, err := cloudevent.QuestionEvent(s)
	if err != nil {
		return nil, err
	}
	msg := ev.MsgToStore()
	k := s.Ask.Key()
	p, _ := l.place(k)
	msg.Subject = subject.LedgerQuestion(p, k)
	msg.Header.Set(hdrSchedule, "@at "+s.Deadline.UTC().Format(time.RFC3339Nano))
	msg.Header.Set(hdrScheduleTarget, subject.LedgerOutcome(p, k))
	msg.Header.Set(hdrScheduleTTL, ttl(l.opts.Retention))
	msg.Header.Set(hdrTTL, "never")
	msg.Header[cloudevent.HeaderLife] = []string{s.Life}
	msg.Header[audit.HeaderSalt] = []string{audit.NewSalt()}
	if s.Asker != "" {
		msg.Header[audit.HeaderAsker] = []string{s.Asker}
	}
	if next, ok := s.Ask.NextStep(s.AskedAt, s.Escalated()); ok {
		msg.Header.Set(hdrNext, next.At.UTC().Format(time.RFC3339Nano))
		if s.Ask.OpenHours != nil {
			msg.Header.Set(hdrOpen, formatOpen(s.Ask.OpenHours, next.At))
		}
	}
	if !s.Left.IsZero() {
		msg.Header[audit.HeaderLeft] = []string{s.Left.Format(time.RFC3339Nano)}
	}
	if names := s.Ask.Schedules(); len(names) > 0 {
		msg.Header.Set(hdrOnCall, strings.Join(names, ","))
	}
	return msg, nil
}

// Rewrite writes what has happened to a pending ask in place of the question from
// which [Ledger.Read] read the state: votes, a step of its ladder, that its agent
// has left. A compare-and-set of its Version detects another rewrite, and an end unless that
// is being stored at this moment (see [IsRace]): so only what Read says
// afterwards tells whether it counts.
func (l *Ledger) Rewrite(ctx context.Context, s lifecycle.State, e lifecycle.Event) (err error) {
	before := s.Ask
	if s = lifecycle.Apply(s, e); s.Ask != before { // the ladder widened its audience, or others are on call
		if s.RawAsk, err = wire.SetDeciders(s.RawAsk, s.Ask); err != nil {
			return err
		}
	}
	msg, err := l.questionMsg(&s)
	if err != nil {
		return err
	}
	if _, ok := e.(lifecycle.Relieved); ok {
		msg.Header[audit.HeaderRelieved] = []string{l.Now().UTC().Format(time.RFC3339Nano)}
	}
	msg.Header.Set(hdrExpectedSeq, strconv.FormatUint(s.Version, 10))
	defer l.fresh.drop(s.Ask.Key())
	if _, err = l.publish(ctx, msg); storageFull(err) {
		return errors.Join(ask.Refuse(ask.CodeLedgerFull, "the ledger's storage is full: it was not stored; make room and try again"), err)
	}
	return err
}

// Resolve writes the outcome of a pending ask: in one step the server stores
// it, removes the question and stops its timer. It returns the resulting state.
// See [IsRace]. For an ask with votes only what [Ledger.Read] says afterwards
// tells whether this outcome is the first. The audit names user, the public key of
// the credential that caused it; empty: unknown.
func (l *Ledger) Resolve(ctx context.Context, s lifecycle.State, o ask.Outcome, user string, now time.Time) (lifecycle.State, error) {
	o.Ask = nil
	raw, err := wire.EncodeOutcome(&o, s.RawAsk)
	if err != nil {
		return lifecycle.State{}, err
	}
	next := lifecycle.Apply(s, lifecycle.Ended{Outcome: o, Raw: raw})
	ev, err := cloudevent.EndEvent(&next)
	if err != nil {
		return lifecycle.State{}, err
	}
	msg := ev.MsgToStore()
	k := s.Ask.Key()
	p, _ := l.place(k)
	msg.Subject = subject.LedgerOutcome(p, k)
	var with *nats.Msg
	switch {
	case !s.Versioned():
		msg.Header.Set(hdrExpectedSeq, "0") // on exactly .o: with the wildcard an answer would not see an expiry in flight
	case l.alone: // it must see each vote, and nothing is in flight
		msg.Header.Set(hdrExpectedSeq, strconv.FormatUint(s.Version, 10))
		msg.Header.Set(hdrExpectedSubject, subject.LedgerQuestion(p, k))
	default:
		msg.Header.Set(hdrExpectedSeq, "0")
		with = guard(p, k, s.Version)
	}
	msg.Header.Set(hdrScheduler, subject.LedgerQuestion(p, k))
	msg.Header.Set(hdrScheduleNext, "purge")
	msg.Header.Set(hdrTTL, ttl(l.outlive(s.Deadline, now)))
	msg.Header[cloudevent.HeaderLife] = []string{s.Life}
	msg.Header[audit.HeaderSalt] = []string{audit.NewSalt()}
	if digest := s.Digest(); digest != "" {
		msg.Header[cloudevent.HeaderDigest] = []string{digest}
	}
	msg.Header[cloudevent.HeaderAsked] = []string{cloudevent.AskedBy(s.EventID)}
	if user != "" {
		msg.Header[audit.HeaderUser] = []string{user}
	}
	if l.breakOutcome(msg) {
		return next, nil
	}
	_, err = l.publishWith(ctx, with, msg)
	l.fresh.drop(k)
	if storageFull(err) {
		return lifecycle.State{}, errors.Join(ask.Refuse(ask.CodeLedgerFull, "the ledger's storage is full: nothing was stored, and the ask stays open; make room and try again"), err)
	}
	if err != nil {
		return lifecycle.State{}, err
	}
	return next, nil
}

// Receipt writes the receipt of a responder type; the last one wins.
func (l *Ledger) Receipt(ctx context.Context, k ask.Key, r ask.Receipt, deadline, now time.Time) error {
	data, err := wire.EncodeReceipt(k.ID, r)
	if err != nil {
		return err
	}
	if l.Room() != nil { // what is left is for the ends of pending asks
		return ask.Refuse(ask.CodeLedgerFull, "the ledger is full: receipts are not stored until room is made; answers still work")
	}
	p, _ := l.place(k)
	msg := nats.NewMsg(subject.LedgerReceipt(p, k, r.Type))
	msg.Data = data
	msg.Header.Set(hdrRollup, "sub")
	msg.Header.Set(hdrTTL, ttl(l.outlive(deadline, now)))
	_, err = l.publish(ctx, msg)
	return err
}

// outlive returns the TTL of outcomes and receipts: they outlive anything that
// the timer can still write.
func (l *Ledger) outlive(deadline, now time.Time) time.Duration {
	return max(0, deadline.Sub(now)) + l.opts.Retention + l.opts.Margin
}

// ttl formats a duration for JetStream: whole seconds, at least one.
func ttl(d time.Duration) string {
	return strconv.FormatInt(max(1, int64((d+time.Second-1)/time.Second)), 10) + "s"
}

// removeGhost removes a question whose outcome exists, by sequence, because the
// id may have been asked again.
func (l *Ledger) removeGhost(ctx context.Context, k ask.Key, seq uint64) error {
	p, stream := l.place(k)
	if _, err := l.purge(ctx, stream, subject.LedgerQuestion(p, k), seq); err != nil {
		return fmt.Errorf("ledger: remove ghost %s: %w", k, err)
	}
	l.opts.Logger.InfoContext(ctx, "removed a question that a crash left behind", slog.String("ask_id", k.ID))
	return nil
}

func full() error {
	return ask.Refuse(ask.CodeLedgerFull, "the ledger is full: new asks are refused until room is made; answers still work")
}

func size(msg *nats.Msg) int {
	n := len(msg.Data) + len(msg.Subject) + 64
	for k, v := range msg.Header {
		n += len(k) + len(v[0]) + 4
	}
	return n
}

// RefreshUsage reads how much of its budget the ledger uses.
func (l *Ledger) RefreshUsage(ctx context.Context) error {
	var info jetstream.AccountInfo
	before := l.storedBytes.Load()
	if err := l.api(ctx, "INFO", nil, &info); err != nil {
		return fmt.Errorf("ledger: read usage: %w", err)
	}
	budget := smaller(l.opts.Budget, tierOf(&info, l.copies).Limits.MaxStore, l.limits.least())
	l.budget.Store(budget)
	used, err := l.uniqueBytes(ctx, int64(info.Store), budget) //nolint:gosec // bytes of a disk
	if err != nil {
		return err
	}
	// What was stored while the server was asked may be in its figure or not.
	l.used.Store(used + l.storedBytes.Load() - before)
	if budget > 0 && used+l.Reserve() >= budget/2 { // else the sweep counts often enough
		return l.refreshReserve(ctx)
	}
	return nil
}

// uniqueBytes returns how many bytes the ledger has when each is counted once. The server
// counts the bytes of every copy; the budget is what one node may store. Near half of
// the budget it measures the audit again, because bytes that are not known to
// be the audit's would count as the asks'. Without this a cluster with three
// copies refused new asks at 27 % of its budget.
func (l *Ledger) uniqueBytes(ctx context.Context, raw, budget int64) (int64, error) {
	copies := int64(1)
	if !l.alone {
		stream, err := l.info(ctx, subject.Stream(0))
		if err != nil {
			return 0, fmt.Errorf("read usage: %w", err)
		}
		copies = max(1, stream.Config.Copies)
	}
	if budget > 0 && raw/copies >= budget/2 && l.audit.there.Load() {
		if err := l.measureAudit(ctx); err != nil && !codeIs(err, codeStreamNotFound) {
			return 0, fmt.Errorf("read usage: %w", err)
		}
	}
	audited := l.audit.used.Load()
	return max(0, raw-audited*l.audit.copies.Load())/copies + audited, nil
}

// refreshReserve measures the pending asks. Each ends with an outcome that
// copies its question, so the same amount must be free: asks that were taken
// until the store was full could not end, and a store that cannot end asks stays
// full. The size is the mean of the questions that the sweep saw, so where few
// are large it can be too small; the last 5 % of the budget are for that.
func (l *Ledger) refreshReserve(ctx context.Context) error {
	var reserve int64
	for p := range l.n {
		n, err := l.count(ctx, subject.Stream(p), subject.LedgerAll(p, subject.Key{}, subject.Question))
		if err != nil {
			return err
		}
		seen, bytes := l.swept[p].seen+l.stored.Load(), l.swept[p].bytes+l.storedBytes.Load()
		switch {
		case n == 0:
		case seen == 0: // unknown size: at most everything
			reserve += l.used.Load()
		default:
			reserve += int64(n) * (bytes/seen + quota.EndOverhead)
		}
	}
	l.reserve.Store(reserve)
	return nil
}

// Reserve returns what must stay free so that every pending ask can end: as
// last measured, plus what was stored since.
func (l *Ledger) Reserve() int64 { return l.reserve.Load() }

// Usage returns how many bytes the ledger uses, and its budget (0: unknown).
func (l *Ledger) Usage() (used, budget int64) { return l.used.Load(), l.budget.Load() }

// Share returns the part of the budget for asks: all but the audit's.
func (l *Ledger) Share() int64 {
	_, budget := l.Usage()
	if most := l.audit.most.Load(); budget > most {
		budget -= most
	}
	return budget
}

// Room refuses a new ask from 80 % of its share of the budget on, and if what
// is free is not more than the pending asks need to end: answers, withdrawals
// and expiry use the rest.
func (l *Ledger) Room() error {
	used, budget := l.Usage()
	if most := l.audit.most.Load(); budget > most { // subtract the audit's share
		used, budget = used-l.audit.used.Load(), budget-most
	}
	if budget > 0 && (used >= budget/5*4 || used+l.Reserve()+l.flying.Load() >= budget/20*19) {
		return full()
	}
	return nil
}

// Admit is [Ledger.Room] for an ask of this many bytes. Until done is called it
// counts as stored, so that asks which arrive together do not each take the
// same space.
func (l *Ledger) Admit(bytes int) (done func(), err error) {
	need := 2*int64(bytes) + quota.EndOverhead
	l.flying.Add(need)
	if err := l.Room(); err != nil {
		l.flying.Add(-need)
		return nil, err
	}
	return func() { l.flying.Add(-need) }, nil
}
