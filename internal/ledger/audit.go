package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/audit"
	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The audit is a stream beside the ledger's. The server itself copies every
// question and outcome into it, behind the write that it acknowledges, so no ask
// waits for the audit, and what ends while no broker runs is in it too. Brokers
// add what the ledger does not hold.

// Defaults of [AuditSettings].
const (
	DefaultAuditRetention = 8760 * time.Hour
	DefaultAuditBytes     = 1 << 30
	minAuditBytes         = 1 << 20
	minAuditRetention     = time.Second
)

// AuditSettings say how much the audit keeps. They are the stream's own, so
// that every broker has the same ones.
type AuditSettings struct {
	Retention time.Duration // default for a new audit: 8760h; at least 1s
	Bytes     int64         // default for a new audit: an eighth of the ledger's budget, at most 1 GiB; at least 1 MiB
	Refuse    bool          // a full audit takes nothing more; default: it drops the oldest
}

func (s AuditSettings) check() error {
	switch {
	case s.Retention != 0 && s.Retention < minAuditRetention:
		return fmt.Errorf("ledger: audit retention %s; use at least %s", s.Retention, minAuditRetention)
	case s.Bytes != 0 && s.Bytes < minAuditBytes:
		return fmt.Errorf("ledger: %d bytes for the audit; use at least %d", s.Bytes, int64(minAuditBytes))
	}
	return nil
}

// auditConfig is the stream of a new audit. It copies everything that is there,
// and what comes.
func (l *Ledger) auditConfig() jetstream.StreamConfig {
	s := l.opts.Audit
	if s.Retention == 0 {
		s.Retention = DefaultAuditRetention
	}
	if s.Bytes == 0 {
		s.Bytes = DefaultAuditBytes
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
	if l.alone() {
		// Nobody is told that a record is kept before it is, so the disk is synced
		// in its own time: the copies add no sync to those of the asks. A stream like
		// that can never have several copies, so in a cluster it is none.
		cfg.PersistMode = jetstream.AsyncPersistMode
	}
	for p := range l.n {
		src := &jetstream.StreamSource{Name: subject.Stream(p)}
		for _, kind := range []string{subject.Question, subject.Outcome} {
			source, to := subject.AuditCopy(p, kind)
			src.SubjectTransforms = append(src.SubjectTransforms, jetstream.SubjectTransformConfig{Source: source, Destination: to})
		}
		cfg.Sources = append(cfg.Sources, src)
	}
	return cfg
}

// openAudit creates the stream of the audit, if it is not there. Made reports
// whether it was not.
func (l *Ledger) openAudit(ctx context.Context) (made bool, err error) {
	cfg := l.auditConfig()
	if _, err := l.stream(ctx, cfg.Name); err == nil {
		return false, nil // creating it again with the same settings would succeed, too
	}
	for try := 0; ; try++ {
		one, cancel := context.WithTimeout(ctx, 2*attempt)
		_, err := l.js.CreateStream(one, cfg)
		cancel()
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, jetstream.ErrStreamNameAlreadyInUse):
			return false, nil // made with other settings
		case (codeIs(err, codeStorageExceeded) || codeIs(err, codeInsufficient)) && try%2 == 1 && cfg.MaxBytes > minAuditBytes:
			cfg.MaxBytes = max(minAuditBytes, cfg.MaxBytes/4) // the server has less than we were told
		case try > 4 || !transient(err) && !codeIs(err, codeStorageExceeded) && !codeIs(err, codeInsufficient), backOff(ctx, try) != nil:
			return false, fmt.Errorf("ledger: create stream %s: %w", cfg.Name, err)
		}
	}
}

// SetAudit changes the settings of the audit over a connection that may update
// streams: those of change that are not zero, and with full what it does when it
// is full. It returns those that it has then, or zero ones when there is no audit.
func SetAudit(ctx context.Context, nc *nats.Conn, change AuditSettings, full bool) (AuditSettings, error) {
	if err := change.check(); err != nil {
		return AuditSettings{}, err
	}
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(2*attempt))
	if err != nil {
		return AuditSettings{}, fmt.Errorf("ledger: %w", err)
	}
	s, err := js.Stream(ctx, subject.AuditStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) && change == (AuditSettings{}) {
		return AuditSettings{}, nil // of a build before it; the next broker makes one
	}
	if err != nil {
		return AuditSettings{}, fmt.Errorf("ledger: open stream %s: %w", subject.AuditStream, err)
	}
	cfg := s.CachedInfo().Config
	if change.Retention != 0 {
		cfg.MaxAge = change.Retention
		cfg.Duplicates = min(cfg.Duplicates, cfg.MaxAge)
	}
	if change.Bytes != 0 {
		cfg.MaxBytes = change.Bytes
	}
	if full {
		if cfg.Discard = jetstream.DiscardOld; change.Refuse {
			cfg.Discard = jetstream.DiscardNew
		}
	}
	if change != (AuditSettings{}) || full {
		if _, err := js.UpdateStream(ctx, cfg); err != nil {
			return AuditSettings{}, fmt.Errorf("ledger: update stream %s: %w", subject.AuditStream, err)
		}
	}
	return AuditSettings{Retention: cfg.MaxAge, Bytes: cfg.MaxBytes, Refuse: cfg.Discard == jetstream.DiscardNew}, nil
}

// ErrAuditCopies is the error of more copies of an audit that can have one only.
var ErrAuditCopies = errors.New("ledger: the audit was made on a server alone, and is written without syncing: it can have one copy only; restore a backup into a new ledger to have more")

// SetAuditCopies changes how many copies the audit has, over a connection that may
// update streams, and waits until each is current. It returns how many there are
// then; 0 when there is no audit. The error is [ErrAuditCopies] when it keeps one.
func SetAuditCopies(ctx context.Context, nc *nats.Conn, copies int) (int, error) {
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(2*attempt))
	if err != nil {
		return 0, fmt.Errorf("ledger: %w", err)
	}
	s, err := js.Stream(ctx, subject.AuditStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, nil // the next broker makes one
	}
	if err != nil {
		return 0, fmt.Errorf("ledger: open stream %s: %w", subject.AuditStream, err)
	}
	cfg := s.CachedInfo().Config
	switch {
	case copies == 0 || cfg.Replicas == copies:
		return cfg.Replicas, nil
	case cfg.PersistMode == jetstream.AsyncPersistMode:
		return cfg.Replicas, ErrAuditCopies
	}
	cfg.Replicas = copies
	if _, err := js.UpdateStream(ctx, cfg); err != nil {
		return 0, fmt.Errorf("ledger: update stream %s: %w", subject.AuditStream, err)
	}
	return copies, caughtUp(ctx, js, []string{subject.AuditStream}, copies)
}

// auditUse is what is known of the audit's size.
type auditUse struct {
	used, most, lag, copies atomic.Int64
	there                   atomic.Bool
}

// AuditUse is what the audit uses and how far its copies are behind.
type AuditUse struct {
	There bool  // the stream is there, and its leader was heard of
	Used  int64 // bytes
	Most  int64 // bytes, of which it uses no more
	Lag   int64 // messages of the ledger that are not copied yet
}

// AuditUse says how the audit was when [Ledger.RefreshAudit] last looked.
func (l *Ledger) AuditUse() AuditUse {
	return AuditUse{l.audit.there.Load(), l.audit.used.Load(), l.audit.most.Load(), l.audit.lag.Load()}
}

// RefreshAudit reads the size of the audit and how far its copies are behind. It
// makes the stream when somebody removed it, and reports whether it did.
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
		return made, fmt.Errorf("ledger: read the audit's size: %w", err)
	}
	return made, nil
}

// measureAudit reads the size of the audit.
func (l *Ledger) measureAudit(ctx context.Context) error {
	var info auditInfo
	err := l.api(ctx, "STREAM.INFO."+subject.AuditStream, nil, &info)
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
	l.audit.lag.Store(info.lag())
	return nil
}

type auditInfo struct {
	Config struct {
		MaxBytes int64         `json:"max_bytes"`
		Copies   int64         `json:"num_replicas"`
		MaxAge   time.Duration `json:"max_age"`
		Discard  string        `json:"discard"`
	} `json:"config"`
	State struct {
		Bytes int64  `json:"bytes"`
		Last  uint64 `json:"last_seq"`
	} `json:"state"`
	Sources []struct {
		Name   string        `json:"name"`
		Lag    int64         `json:"lag"`
		Active time.Duration `json:"active"`
		Error  *apiError     `json:"error"`
	} `json:"sources"`
}

func (i *auditInfo) lag() (lag int64) {
	for _, s := range i.Sources {
		lag += s.Lag
	}
	return lag
}

// AuditMade reports whether this process made the audit when it opened the
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
	one, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	reply, err := l.nc.RequestMsgWithContext(one, msg)
	if err != nil {
		return fmt.Errorf("ledger: write to the audit: %w", err)
	}
	var ack struct {
		Error *apiError `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &ack); err != nil {
		return fmt.Errorf("ledger: write to the audit: %w", err)
	}
	if ack.Error != nil {
		return fmt.Errorf("ledger: write to the audit: %w", ack.Error)
	}
	return nil
}

// AuditFull reports whether the audit takes nothing more just now.
func AuditFull(err error) bool { return storageFull(err) || codeIs(err, codeStoreFailed) }

// Bounds of one reading of the audit.
const (
	auditBatch  = 256
	auditBytes  = 2 << 20
	lateWithin  = 30 * time.Second // so long after another outcome a timer may still write
	lateHistory = 1000             // copies that are looked through for it
)

// AuditPage is a part of the audit.
type AuditPage struct {
	Records []audit.Record
	Next    uint64 // where to read on
	End     bool   // nothing follows just now
}

// ReadAudit reads records about a tenant (empty: all) from a sequence on; from 0
// on, those that were stored at since or later. It looks at a bounded part and
// keeps what keep wants. Whole gives copies with the texts that people typed.
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

// auditMessages reads messages from a sequence, or a moment, on.
func (l *Ledger) auditMessages(ctx context.Context, filter string, from uint64, since time.Time, most int) (found []message, end bool, err error) {
	body := map[string]any{"batch": most, "max_bytes": auditBytes, "next_by_subj": filter}
	if from == 0 {
		body["start_time"] = since.UTC()
	} else {
		body["seq"] = from
	}
	for try := 0; ; try++ {
		msgs, status, err := l.collect(ctx, "$JS.API.DIRECT.GET."+subject.AuditStream, body, most+1)
		if err == nil && status != statusEnd && status != statusNone {
			err = fmt.Errorf("ledger: read the audit: status %s", status)
		}
		if err != nil {
			if try >= 2 || backOff(ctx, try) != nil {
				return nil, false, errors.Join(ask.Refuse(ask.CodeUnavailable, "the audit cannot be read just now; try again"), err)
			}
			continue
		}
		for _, m := range msgs {
			one, err := directMessage(m)
			if err != nil {
				return nil, false, err
			}
			found = append(found, one)
		}
		return found, len(found) == 0, nil
	}
}

// endedAsks are outcomes that were not written by a timer, by ask and life.
type endedAsks map[string]bool

// endedBefore notes the outcomes shortly before a message: a timer may write an
// expiry behind an answer, and that counts for nothing.
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

// record reads a message of the audit. It does not count when it is an expiry
// behind another outcome.
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

// AuditInspection is what can be seen of the audit from outside.
type AuditInspection struct {
	There bool
	Used  int64
	AuditSettings
	Copies int
	Lag    int64    // messages of the ledger that are not copied yet
	Wrong  []string // what is set otherwise than a broker makes it, or does not work
}

// stalled is for how long a source may be silent: the server's heartbeats come
// each second.
const stalled = 30 * time.Second

func (l *Ledger) inspectAudit(ctx context.Context) (in AuditInspection, err error) {
	s, err := l.js.Stream(ctx, subject.AuditStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return in, nil
	}
	if err != nil {
		return in, fmt.Errorf("ledger: open stream %s: %w", subject.AuditStream, err)
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
		{c.MaxAge > 0 && c.MaxBytes > 0, "it has no bounds: it can fill the store"},
		{len(c.Sources) == l.n, fmt.Sprintf("it copies %d of %d partitions", len(c.Sources), l.n)},
	} {
		if !v.ok {
			in.Wrong = append(in.Wrong, v.what)
		}
	}
	for _, src := range info.Sources {
		in.Lag += int64(src.Lag)  //nolint:gosec // a count
		if src.Active > stalled { // below 0: not heard of yet
			in.Wrong = append(in.Wrong, fmt.Sprintf("nothing was heard of %s for %s: what ends there is not recorded", src.Name, src.Active.Round(time.Second)))
		}
	}
	return in, nil
}
