package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// Headers of JetStream.
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
)

// Store writes a question; it is durable when Store returns. The
// compare-and-set over the ask's wildcard says whether it is new: see [IsRace].
// The server itself will expire it at its deadline.
func (l *Ledger) Store(ctx context.Context, k ask.Key, q cloudevent.Question) (seq uint64, err error) {
	data, err := cloudevent.EncodeStored(&q.Stored)
	if err != nil {
		return 0, err
	}
	msg, err := cloudevent.Event{
		ID: q.EventID, Source: cloudevent.AgentSource(k.Tenant, k.Session), Type: cloudevent.TypeAsked, Key: k,
		Time: q.AskedAt, Trace: q.Trace, Expiry: q.Ask.Deadline, Data: data,
	}.Msg(cloudevent.Binary)
	if err != nil {
		return 0, err
	}
	p, _ := l.place(k)
	msg.Subject = subject.LedgerQuestion(p, k)
	msg.Header.Set(hdrExpectedSeq, "0")
	msg.Header.Set(hdrExpectedSubject, subject.LedgerAny(p, k))
	msg.Header.Set(hdrSchedule, "@at "+q.Ask.Deadline.UTC().Format(time.RFC3339Nano))
	msg.Header.Set(hdrScheduleTarget, subject.LedgerOutcome(p, k))
	msg.Header.Set(hdrScheduleTTL, ttl(l.opts.Retention))
	msg.Header.Set(hdrTTL, "never")
	if l.breakQuestion(msg) {
		return 1, nil
	}
	seq, err = l.publish(ctx, msg)
	if err != nil && !IsRace(err) && storageFull(err) {
		return 0, full(err)
	}
	if err == nil {
		l.used.Add(int64(size(msg)))
		l.fresh.put(k, Pending{q, seq}, len(msg.Data))
	}
	return seq, err
}

// Resolve writes the outcome of a pending question: in one step the server
// stores it, takes the question out of the pending set and stops its timer.
// It returns the outcome as it was stored. See [IsRace].
func (l *Ledger) Resolve(ctx context.Context, q *Pending, o ask.Outcome, now time.Time) (cloudevent.End, error) {
	k := q.Ask.Key()
	data, err := cloudevent.EncodeOutcome(&o, q.RawAsk)
	if err != nil {
		return cloudevent.End{}, err
	}
	o.Ask = &q.Ask
	end := cloudevent.End{
		Outcome: o, EventID: cloudevent.OutcomeID(q.EventID), Trace: q.Trace, Digest: q.Digest, AskedAt: q.AskedAt, JSON: data,
	}
	msg, err := cloudevent.OutcomeEvent(q.EventID, q.Trace, &o, data).Msg(cloudevent.Binary)
	if err != nil {
		return cloudevent.End{}, err
	}
	p, _ := l.place(k)
	msg.Subject = subject.LedgerOutcome(p, k)
	msg.Header.Set(hdrExpectedSeq, "0") // on exactly .o: with the wildcard an answer would not see an expiry in flight
	msg.Header.Set(hdrScheduler, subject.LedgerQuestion(p, k))
	msg.Header.Set(hdrScheduleNext, "purge")
	msg.Header.Set(hdrTTL, ttl(l.outlive(q.Ask.Deadline, now)))
	if l.breakOutcome(msg) {
		return end, nil
	}
	_, err = l.publish(ctx, msg)
	l.fresh.drop(k)
	if err != nil && !IsRace(err) && storageFull(err) {
		return cloudevent.End{}, errors.Join(ask.Refuse(503, ask.CodeLedgerFull, "the ledger's storage is exhausted: nothing was stored, the ask stays open; make room and try again"), err)
	}
	return end, err
}

// Receipt writes the receipt of a responder type; the last one wins.
func (l *Ledger) Receipt(ctx context.Context, k ask.Key, r ask.Receipt, deadline, now time.Time) error {
	data, err := cloudevent.EncodeReceipt(k.ID, r)
	if err != nil {
		return err
	}
	p, _ := l.place(k)
	msg := nats.NewMsg(subject.LedgerReceipt(p, k, r.Type))
	msg.Data = data
	msg.Header.Set(hdrRollup, "sub")
	msg.Header.Set(hdrTTL, ttl(l.outlive(deadline, now)))
	_, err = l.publish(ctx, msg)
	return err
}

// outlive is the one TTL rule: an outcome or receipt outlives anything that the
// timer can still write.
func (l *Ledger) outlive(deadline, now time.Time) time.Duration {
	return max(0, deadline.Sub(now)) + l.opts.Retention + l.opts.Margin
}

// ttl is a duration as JetStream reads it: whole seconds, at least one.
func ttl(d time.Duration) string {
	return strconv.FormatInt(max(1, int64((d+time.Second-1)/time.Second)), 10) + "s"
}

// removeGhost removes a question whose outcome exists: never by subject alone,
// because the id may have been asked anew.
func (l *Ledger) removeGhost(ctx context.Context, k ask.Key, seq uint64) error {
	p, stream := l.place(k)
	body := struct {
		Filter string `json:"filter"`
		Seq    uint64 `json:"seq"` // exclusive
	}{subject.LedgerQuestion(p, k), seq + 1}
	if err := l.api(ctx, "STREAM.PURGE."+stream, body, nil); err != nil {
		return fmt.Errorf("ledger: remove ghost %s: %w", k, err)
	}
	l.opts.Logger.InfoContext(ctx, "removed a question that a crash left behind", slog.String("ask_id", k.ID))
	return nil
}

func full(cause error) error {
	e := ask.Refuse(503, ask.CodeLedgerFull, "the ledger is full: new asks are refused until room is made; answers still work")
	if cause == nil {
		return e
	}
	return errors.Join(e, cause)
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
	var info struct {
		Store  int64 `json:"storage"`
		Limits struct {
			MaxStore int64 `json:"max_storage"`
		} `json:"limits"`
	}
	if err := l.api(ctx, "INFO", nil, &info); err != nil {
		return fmt.Errorf("ledger: read usage: %w", err)
	}
	l.used.Store(info.Store)
	budget := l.opts.Budget
	if budget == 0 && info.Limits.MaxStore > 0 {
		budget = info.Limits.MaxStore
	}
	l.budget.Store(budget)
	return nil
}

// Usage is how many bytes the ledger uses, and its budget (0: none known).
func (l *Ledger) Usage() (used, budget int64) { return l.used.Load(), l.budget.Load() }

// Room refuses a new ask from 80 % of the budget on: answers, withdrawals and
// expiry keep the last 20 %.
func (l *Ledger) Room() error {
	if used, budget := l.Usage(); budget > 0 && used >= budget/5*4 {
		return full(nil)
	}
	return nil
}
