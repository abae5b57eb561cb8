package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Shared state is stored in a stream of its own, laid out like a KV bucket: one
// message for each key, compare-and-set on its sequence, a TTL for each
// message, and a marker in place of a deleted entry. Everything is read from
// the leader.

// Headers of an entry.
const (
	hdrOperation = "KV-Operation"   // DEL on a marker, as in NATS KV
	hdrExpires   = "Askbus-Expires" // when the entry expires; the server removes it a little later
	hdrWrite     = "Askbus-Write"   // the id of the request that wrote it

	opDelete  = "DEL"
	markerTTL = time.Hour // how long a reader that was disconnected can still learn of a deletion
)

// StateEntry is one stored entry. The zero value means none.
type StateEntry struct {
	Key      subject.StateKey
	Revision uint64
	Value    []byte
	Deleted  bool   // a marker in place of a deleted entry
	Write    string // the id of the write that stored it
	Written  time.Time
	Expires  time.Time // zero: never
}

// Live reports whether the entry exists.
func (e *StateEntry) Live(now time.Time) bool {
	return e.Revision != 0 && !e.Deleted && (e.Expires.IsZero() || now.Before(e.Expires))
}

// StateWrite is a write of one entry.
type StateWrite struct {
	Bucket  string
	Key     subject.StateKey
	Value   []byte  // nil: delete it
	Expect  *uint64 // the expected revision, 0: none or a marker; nil: any
	Expires time.Time
	ID      string
	Over    string // wildcard over entries of which Expect is the last revision; empty: that of the key
}

// openState creates the stream of shared state if it is missing.
func (l *Ledger) openState(ctx context.Context) error {
	cfg := jetstream.StreamConfig{
		Name: subject.StateStream, Subjects: []string{subject.StateLedger + ".>"}, Storage: jetstream.FileStorage,
		Description: "askbus shared state: tokens, sign-ins, leases and the like; only the broker writes here",
		Replicas:    l.copies, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, MaxMsgsPerSubject: 1,
		MaxBytes: cmp.Or(l.opts.shares.State, share(subject.StateStream, l.budget.Load())), AllowMsgTTL: true, AllowDirect: true, DenyDelete: true, DenyPurge: true,
		RePublish: republished(subject.StateStream),
	}
	_, err := l.createBounded(ctx, cfg, minStateBudget, 16)
	return err
}

// ReadState reads one entry; the zero value if there is none.
func (l *Ledger) ReadState(ctx context.Context, bucket string, k subject.StateKey) (StateEntry, error) {
	m, err := l.first(ctx, subject.StateStream, subject.LedgerState(bucket, k), 1)
	if errors.Is(err, errNone) {
		return StateEntry{}, l.confirmLeaderOf(ctx, subject.StateStream, &l.stateLed)
	}
	if err != nil {
		return StateEntry{}, err
	}
	e, err := stateEntry(m)
	if err == nil && e.Deleted {
		err = l.confirmLeaderOf(ctx, subject.StateStream, &l.stateLed)
	}
	return e, err
}

// WriteState writes one entry and returns it. See [IsRace].
func (l *Ledger) WriteState(ctx context.Context, w *StateWrite, now time.Time) (StateEntry, error) {
	msg := nats.NewMsg(subject.LedgerState(w.Bucket, w.Key))
	msg.Data = w.Value
	if w.Expect != nil {
		msg.Header.Set(hdrExpectedSeq, strconv.FormatUint(*w.Expect, 10))
	}
	if w.Over != "" {
		msg.Header.Set(hdrExpectedSubject, w.Over)
	}
	e := StateEntry{Key: w.Key, Value: w.Value, Write: w.ID, Written: now.UTC(), Expires: w.Expires}
	if w.ID != "" {
		msg.Header[hdrWrite] = []string{w.ID}
	}
	switch {
	case w.Value == nil:
		e.Deleted = true
		msg.Header.Set(hdrOperation, opDelete)
		msg.Header.Set(hdrTTL, ttl(markerTTL))
	case !w.Expires.IsZero():
		msg.Header[hdrExpires] = []string{w.Expires.UTC().Format(time.RFC3339Nano)}
		msg.Header.Set(hdrTTL, ttl(max(time.Second, w.Expires.Sub(now))))
	}
	seq, err := l.publish(ctx, msg)
	if storageFull(err) {
		return StateEntry{}, errors.Join(stateFull(), err)
	}
	e.Revision = seq
	return e, err
}

func stateFull() error {
	return ask.Refuse(ask.CodeLedgerFull, "shared state is full: nothing new is stored until entries end or are deleted")
}

// StateChanges reads at most most entries and markers of a bucket after a
// revision, in order, of one tenant (empty: of none) or of all. more reports
// whether there may be others.
func (l *Ledger) StateChanges(ctx context.Context, filter string, after uint64, most int) (entries []StateEntry, more bool, err error) {
	for len(entries) < most {
		m, err := l.first(ctx, subject.StateStream, filter, after+1)
		if errors.Is(err, errNone) {
			return entries, false, l.confirmLeaderOf(ctx, subject.StateStream, &l.stateLed)
		}
		if err != nil {
			return nil, false, err
		}
		e, err := stateEntry(m)
		if err != nil {
			return nil, false, err
		}
		entries = append(entries, e)
		after = m.Seq
	}
	return entries, true, l.confirmLeaderOf(ctx, subject.StateStream, &l.stateLed)
}

// CountState counts the entries and markers that match a filter. It may lag
// behind recent writes.
func (l *Ledger) CountState(ctx context.Context, filter string) (int, error) {
	return l.count(ctx, subject.StateStream, filter)
}

// count counts the messages of a stream that match a filter, on any replica.
func (l *Ledger) count(ctx context.Context, stream, filter string) (int, error) {
	_, n, err := l.firstOf(ctx, stream, filter, 1)
	return n, err
}

// StateRoom refuses a new entry from 80 % of the budget on: the rest is for
// deletions and replacements.
func (l *Ledger) StateRoom(ctx context.Context) error {
	info, err := l.info(ctx, subject.StateStream)
	if err != nil {
		return err
	}
	if most := info.Config.MaxBytes; most > 0 && info.State.Bytes >= most/5*4 {
		return stateFull()
	}
	return nil
}

func stateEntry(m message) (StateEntry, error) {
	_, k, ok := subject.ParseStateEntry(m.Subject)
	if !ok {
		return StateEntry{}, fmt.Errorf("ledger: invalid subject %q of shared state", m.Subject)
	}
	e := StateEntry{Key: k, Revision: m.Seq, Value: m.Data, Write: m.Header.Get(hdrWrite), Written: m.Time, Deleted: m.Header.Get(hdrOperation) == opDelete}
	if at := m.Header.Get(hdrExpires); at != "" {
		var err error
		if e.Expires, err = time.Parse(time.RFC3339Nano, at); err != nil {
			return StateEntry{}, fmt.Errorf("ledger: entry %s: %w", m.Subject, err)
		}
	}
	return e, nil
}
