package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The audit is a stream next to the ledger's. The server itself copies every
// question and outcome into it after the acknowledged write, so no ask waits
// for the audit, and an ask that ends while no broker runs is recorded as well.
// Brokers add records of what the ledger does not hold.

// Defaults of [AuditSettings].
const (
	DefaultAuditRetention = 8760 * time.Hour
	defaultAuditBytes     = 1 << 30
	minAuditBytes         = 1 << 20
	minAuditRetention     = time.Second
)

// AuditSettings say how much the audit keeps. They are stored in the stream, so
// that every broker uses the same ones.
type AuditSettings struct {
	Retention time.Duration `json:"retention"` // default for a new audit: 8760h; at least 1s
	Bytes     int64         `json:"bytes"`     // default for a new audit: an eighth of the ledger's budget, at most 1 GiB; at least 1 MiB
	Refuse    bool          `json:"refuse"`    // a full audit refuses new records; default: it drops the oldest
}

// Check reports settings that no audit can have.
func (s AuditSettings) Check() error {
	switch {
	case s.Retention != 0 && s.Retention < minAuditRetention:
		return fmt.Errorf("ledger: invalid audit retention %s: use at least %s", s.Retention, minAuditRetention)
	case s.Bytes != 0 && s.Bytes < minAuditBytes:
		return fmt.Errorf("ledger: invalid audit size %d bytes: use at least %d", s.Bytes, int64(minAuditBytes))
	}
	return nil
}

// auditConfig is the stream of a new audit. It copies all existing and new
// messages.
func (l *Ledger) auditConfig() jetstream.StreamConfig {
	s := l.opts.Audit
	s.Retention = cmp.Or(s.Retention, DefaultAuditRetention)
	if s.Bytes == 0 {
		s.Bytes = defaultAuditBytes
		if all := l.budget.Load(); all > 0 {
			s.Bytes = max(minAuditBytes, min(s.Bytes, all/8))
		}
	}
	cfg := jetstream.StreamConfig{
		Name: subject.AuditStream, Subjects: []string{subject.AuditLedger + ".>"}, Storage: jetstream.FileStorage,
		Description: "askbus audit: who asked, answered, was refused, signed in; nobody changes or removes a record",
		Replicas:    l.copies, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld,
		MaxAge: s.Retention, MaxBytes: s.Bytes, Duplicates: min(s.Retention, 2*time.Minute), AllowDirect: true, DenyDelete: true, DenyPurge: true,
	}
	if s.Refuse {
		cfg.Discard = jetstream.DiscardNew
	}
	if l.alone {
		// The copies need no sync of their own: a record is not acknowledged to
		// anybody, so it may reach the disk later than its ask. A stream in this mode
		// can never have several copies, so a cluster's has the usual mode.
		cfg.PersistMode = jetstream.AsyncPersistMode
	}
	for p := range l.n {
		from, to := subject.AuditCopy(p)
		cfg.Sources = append(cfg.Sources, &jetstream.StreamSource{Name: subject.Stream(p), SubjectTransforms: []jetstream.SubjectTransformConfig{{Source: from, Destination: to}}})
	}
	return cfg
}

// openAudit creates the stream of the audit if it is missing. made reports
// whether it created it.
func (l *Ledger) openAudit(ctx context.Context) (made bool, err error) {
	cfg := l.auditConfig()
	// A server bounds this window (duplicate_window), and chooses it itself only for a stream without sources.
	if s, err := l.stream(ctx, subject.Stream(0)); err == nil {
		cfg.Duplicates = min(cfg.Duplicates, s.CachedInfo().Config.Duplicates)
	}
	return l.createBounded(ctx, cfg, minAuditBytes, 4)
}

// SetAudit changes the settings of the audit over a connection that may update
// streams: the non-zero ones of change, and with full also Refuse. It returns
// the new settings, or zero ones if there is no audit.
func SetAudit(ctx context.Context, nc *nats.Conn, change AuditSettings, full bool) (AuditSettings, error) {
	if err := change.Check(); err != nil {
		return AuditSettings{}, err
	}
	js, s, err := streamOver(ctx, nc, subject.AuditStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) && change == (AuditSettings{}) {
		return AuditSettings{}, nil // an older ledger without one; the next broker creates it
	}
	if err != nil {
		return AuditSettings{}, err
	}
	cfg := s.CachedInfo().Config
	if change.Retention != 0 {
		cfg.MaxAge = change.Retention
		cfg.Duplicates = min(cfg.Duplicates, cfg.MaxAge)
	}
	cfg.MaxBytes = cmp.Or(change.Bytes, cfg.MaxBytes)
	if full {
		if cfg.Discard = jetstream.DiscardOld; change.Refuse {
			cfg.Discard = jetstream.DiscardNew
		}
	}
	if change != (AuditSettings{}) || full {
		if err := update(ctx, js, cfg); err != nil {
			return AuditSettings{}, err
		}
	}
	return AuditSettings{Retention: cfg.MaxAge, Bytes: cfg.MaxBytes, Refuse: cfg.Discard == jetstream.DiscardNew}, nil
}

// ErrAuditCopies refuses more copies of an audit that can have only one.
var ErrAuditCopies = errors.New("ledger: a single server made the audit, which it writes without syncing, so it can have only one copy; restore a backup into a new ledger to have more")

// SetAuditCopies changes how many copies the audit has, over a connection that may
// update streams, and waits until each is current. It returns how many there are
// then; 0 when there is no audit. The error is [ErrAuditCopies] when it keeps one.
func SetAuditCopies(ctx context.Context, nc *nats.Conn, copies int) (int, error) {
	js, s, err := streamOver(ctx, nc, subject.AuditStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, nil // the next broker makes one
	}
	if err != nil {
		return 0, err
	}
	cfg := s.CachedInfo().Config
	switch {
	case copies == 0 || cfg.Replicas == copies:
		return cfg.Replicas, nil
	case cfg.PersistMode == jetstream.AsyncPersistMode:
		return cfg.Replicas, ErrAuditCopies
	}
	cfg.Replicas = copies
	if err := update(ctx, js, cfg); err != nil {
		return 0, err
	}
	return copies, caughtUp(ctx, js, []string{subject.AuditStream}, copies)
}

// auditUse is the last known size of the audit.
type auditUse struct {
	used, most, lag, copies atomic.Int64
	there                   atomic.Bool
}

// AuditUse is the size of the audit and the lag of its copies.
type AuditUse struct {
	Used int64 // bytes
	Most int64 // maximum size in bytes
	Lag  int64 // messages of the ledger that are not copied yet
}

// AuditUse returns what [Ledger.RefreshAudit] read last.
func (l *Ledger) AuditUse() AuditUse {
	return AuditUse{l.audit.used.Load(), l.audit.most.Load(), l.audit.lag.Load()}
}

// RefreshAudit reads the size of the audit and the lag of its copies. It
// recreates a removed stream, and reports whether it did.
func (l *Ledger) RefreshAudit(ctx context.Context) (made bool, err error) {
	if l.opts.NoAudit {
		return false, nil
	}
	err = l.measureAudit(ctx)
	if codeIs(err, codeStreamNotFound) {
		if made, err = l.openAudit(ctx); err == nil {
			err = l.measureAudit(ctx)
		}
	}
	if err != nil {
		return made, fmt.Errorf("read the audit's size: %w", err)
	}
	return made, nil
}

// measureAudit reads the size of the audit.
func (l *Ledger) measureAudit(ctx context.Context) error {
	info, err := l.info(ctx, subject.AuditStream)
	if codeIs(err, codeStreamNotFound) {
		l.audit.there.Store(false)
		l.audit.used.Store(0)
	}
	if err != nil {
		return err
	}
	l.audit.there.Store(true)
	l.audit.used.Store(info.State.Bytes)
	l.audit.most.Store(info.Config.MaxBytes)
	l.audit.copies.Store(info.Config.Copies)
	lag := int64(0)
	for _, s := range info.Sources {
		lag += s.Lag
	}
	l.audit.lag.Store(lag)
	return nil
}

// AuditMade reports whether this process created the audit when it opened the
// ledger.
func (l *Ledger) AuditMade() bool { return l.auditMade }

// WriteAudit stores one record, once. The same id within two minutes is the
// same record.
func (l *Ledger) WriteAudit(ctx context.Context, tenant, id string, data []byte) error {
	if l.opts.NoAudit {
		return nil
	}
	msg := nats.NewMsg(subject.LedgerAudit(tenant, subject.AuditRecord))
	msg.Data = data
	msg.Header.Set(nats.MsgIdHdr, id)
	msg.Header[audit.HeaderSalt] = []string{audit.NewSalt()}
	reply, err := l.send(ctx, msg)
	if err == nil {
		_, err = acknowledged(reply)
	}
	if err != nil {
		return fmt.Errorf("ledger: write to the audit: %w", err)
	}
	return nil
}

// Record adds a record to the audit over a connection with the ledger's rights, for what is done to a
// ledger that no broker serves yet.
func Record(ctx context.Context, nc *nats.Conn, r *audit.Record) error {
	data, err := audit.Encode(r)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return (&Ledger{nc: nc}).WriteAudit(ctx, r.Tenant, r.ID, data)
}

// AuditFull reports whether err means that the audit is full.
func AuditFull(err error) bool { return storageFull(err) }

// Bounds of one read of the audit.
const (
	auditBatch  = 256
	auditBytes  = 2 << 20
	lateWithin  = 30 * time.Second // how long after another outcome a timer may still write
	lateHistory = 1000             // copies that are searched for it
)

// AuditPage is a part of the audit.
type AuditPage struct {
	Records []audit.Record
	Next    uint64 // where to continue
	End     bool   // no more records at the moment
}

// ReadAudit reads records of a tenant (empty: all) from a sequence on; from 0,
// those stored at or after since. It reads a bounded part and returns the
// records that keep accepts. With whole, copies contain the texts that people
// typed.
func (l *Ledger) ReadAudit(ctx context.Context, tenant string, from uint64, since time.Time, whole bool, keep func(*audit.Record) bool) (AuditPage, error) {
	if l.opts.NoAudit {
		return AuditPage{End: true}, nil
	}
	if from == 0 && since.IsZero() {
		from = 1
	}
	filter := subject.LedgerAuditAll(tenant)
	msgs, end, err := l.auditMessages(ctx, filter, from, since, auditBatch)
	if err != nil {
		return AuditPage{}, err
	}
	page := AuditPage{Next: max(from, 1), End: end, Records: []audit.Record{}}
	if len(msgs) == 0 {
		return page, nil
	}
	seen := endedAsks{}
	if from > 1 || !since.IsZero() {
		if err := l.endedBefore(ctx, filter, msgs[0], seen); err != nil {
			return AuditPage{}, err
		}
	}
	for _, m := range msgs {
		page.Next = m.Seq + 1
		r, counts := seen.record(m, whole)
		if r.Seq = m.Seq; counts && keep(&r) {
			page.Records = append(page.Records, r)
		}
	}
	return page, nil
}

// ReadAuditRaw reads at most most messages of the audit from a sequence on, as they
// are stored.
func (l *Ledger) ReadAuditRaw(ctx context.Context, from uint64, most int) ([]audit.Raw, error) {
	if l.opts.NoAudit {
		return nil, nil
	}
	msgs, _, err := l.auditMessages(ctx, subject.LedgerAuditAll(""), max(from, 1), time.Time{}, min(most, auditBatch))
	found := make([]audit.Raw, len(msgs))
	for i, m := range msgs {
		found[i] = audit.Raw{Seq: m.Seq, At: m.Time, Subject: m.Subject, Header: m.Header, Data: m.Data}
	}
	return found, err
}

// auditMessages reads messages from a sequence, or a time, on.
func (l *Ledger) auditMessages(ctx context.Context, filter string, from uint64, since time.Time, most int) (found []message, end bool, err error) {
	body := map[string]any{"batch": most, "max_bytes": auditBytes, "next_by_subj": filter}
	if from == 0 {
		body["start_time"] = since.UTC()
	} else {
		body["seq"] = from
	}
	for try := 0; ; try++ {
		if found, err = l.batch(ctx, subject.AuditStream, body, most+1); err == nil {
			return found, len(found) == 0, nil
		}
		if try >= 2 || backOff(ctx, try) != nil {
			return nil, false, errors.Join(ask.Refuse(ask.CodeUnavailable, "the audit cannot be read now; try again"), err)
		}
	}
}

// endedAsks are the outcomes that no timer wrote, by ask and life.
type endedAsks map[string]bool

// endedBefore records the outcomes shortly before a message: a timer may write
// an expiry after an answer, which does not count.
func (l *Ledger) endedBefore(ctx context.Context, filter string, first message, seen endedAsks) error {
	msgs, _, err := l.auditMessages(ctx, filter, 0, first.Time.Add(-lateWithin), lateHistory)
	if err != nil {
		return err
	}
	for _, m := range msgs {
		if m.Seq >= first.Seq {
			break
		}
		seen.record(m, false)
	}
	return nil
}

// record decodes a message of the audit. It does not count if it is an expiry
// after another outcome.
func (e endedAsks) record(m message, whole bool) (r audit.Record, counts bool) {
	_, kind, _ := subject.ParseLedgerAudit(m.Subject)
	if kind == subject.AuditRecord {
		r, err := audit.Decode(m.Data)
		if err != nil {
			return audit.Unreadable(m.Time, err), true
		}
		return r, true
	}
	c, err := audit.ReadCopy(m.Msg)
	if err != nil {
		return audit.Unreadable(m.Time, err), true
	}
	if whole {
		c.Copy = c.Whole
	}
	if kind == subject.Outcome {
		of := c.Key.String() + "/" + c.Life
		if c.Timed && e[of] {
			return r, false
		}
		e[of] = true
	}
	return c.Record, true
}

// AuditInspection is the state of the audit as seen from outside.
type AuditInspection struct {
	There bool
	Used  int64
	AuditSettings
	Copies int
	Lag    int64    // messages of the ledger that are not copied yet
	Wrong  []string // settings that differ from a broker's, and faults
}

// stalled is how long a source may be silent. The server sends heartbeats each
// second.
const stalled = 30 * time.Second

func (l *Ledger) inspectAudit(ctx context.Context) (in AuditInspection, err error) {
	s, err := openStream(ctx, l.js, subject.AuditStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return in, nil
	}
	if err != nil {
		return in, err
	}
	info := s.CachedInfo()
	c := &info.Config
	in = AuditInspection{
		There: true, Used: int64(info.State.Bytes), Copies: c.Replicas, //nolint:gosec // bytes of a disk
		AuditSettings: AuditSettings{Retention: c.MaxAge, Bytes: c.MaxBytes, Refuse: c.Discard == jetstream.DiscardNew},
	}
	for _, v := range []struct {
		ok   bool
		what string
	}{
		{c.DenyDelete, "deny_delete is off: single records can be removed"},
		{c.DenyPurge, "deny_purge is off: all records can be removed"},
		{c.MaxAge > 0 && c.MaxBytes > 0, "it is unbounded: it can fill the store"},
		{len(c.Sources) == l.n, fmt.Sprintf("it copies %d of %d partitions", len(c.Sources), l.n)},
	} {
		if !v.ok {
			in.Wrong = append(in.Wrong, v.what)
		}
	}
	for _, src := range info.Sources {
		in.Lag += int64(src.Lag)  //nolint:gosec // a count
		if src.Active > stalled { // below 0: nothing received yet
			in.Wrong = append(in.Wrong, fmt.Sprintf("no heartbeat from %s for %s: asks that end there are not recorded", src.Name, src.Active.Round(time.Second)))
		}
	}
	return in, nil
}
