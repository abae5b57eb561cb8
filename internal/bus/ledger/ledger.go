package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/mod/semver"
)

// Defaults of [Options].
const (
	defaultPartitions = 4
	MaxPartitions     = 99
	DefaultRetention  = 720 * time.Hour
	DefaultMargin     = 24 * time.Hour
	MinMargin         = 5 * time.Second
	clusterCopies     = 3 // of a new ledger in a cluster: the fewest with which a server may fail
)

// Options tunes a [Ledger]. The zero value is ready to use: it adopts the
// settings of an existing ledger. If the first four are set, they must match an
// existing ledger; a new ledger uses the defaults for those that are not.
type Options struct {
	Partitions int           // default for a new ledger: 4; at most 99
	Replicas   int           // of each stream; default for a new ledger: 3 in a cluster, else 1
	Retention  time.Duration // how long an outcome is kept after its ask's deadline; default for a new ledger: 720h; at least 1s
	Margin     time.Duration // how much longer than anything that the timer can write; default for a new ledger: 24h; at least 5s
	Budget     int64         // bytes that the ledger may use; default: no limit but the servers' and the account's, which hold in any case
	UploadLife time.Duration // how long a file lives that no ask refers to; default 10m, less only in tests
	Lease      time.Duration // how long a work item stays with its replica; default 1m, less only in tests
	Logger     *slog.Logger  // default: discard

	// Audit is for a new audit; an existing one keeps its own settings.
	Audit AuditSettings
	// NoAudit disables the audit, for benchmarks.
	NoAudit bool

	// Servers is a connection in the system account, over which each server is
	// asked for its time. Without it a wrong clock is only reported, and not whose
	// it is.
	Servers *nats.Conn

	// Clock is this machine's clock, of which only the rate matters; tests and
	// torture replace it. Default: time.Now.
	Clock func() time.Time
	// Ahead adds to the servers' time, for tests of what takes hours. Default:
	// nothing.
	Ahead func() time.Duration

	copies   int    // of a new ledger on these servers, if Replicas is not set
	restores bool   // it is opened to be filled
	shares   Shares // of a new ledger, if it is restored

	breakage // empty, except in builds that prove that torture detects faults
}

// settings returns the settings of a new ledger.
func (o *Options) settings() Settings {
	s := Settings{Partitions: o.Partitions, Replicas: o.Replicas, Retention: o.Retention, Margin: o.Margin}
	s.Partitions = cmp.Or(s.Partitions, defaultPartitions)
	s.Replicas = cmp.Or(s.Replicas, o.copies, 1)
	s.Retention = cmp.Or(s.Retention, DefaultRetention)
	s.Margin = cmp.Or(s.Margin, DefaultMargin)
	return s
}

// Ledger is an open ledger. It is safe for concurrent use.
type Ledger struct {
	nc     *nats.Conn
	js     jetstream.JetStream
	n      int
	copies int // of each stream, when the ledger was opened
	opts   Options

	// alone says that a single server holds everything, so that no other can know
	// more. In a cluster it is false also with one copy: more can be made later.
	alone bool

	used    atomic.Int64 // bytes, as last read plus what was stored since
	budget  atomic.Int64 // the smallest of what this broker, the account and each server allow; 0: unknown
	limits  limits
	reserve atomic.Int64 // bytes that the ends of pending asks will need, likewise

	flying atomic.Int64 // bytes that asks which are being stored need, with their ends

	stored, storedBytes atomic.Int64 // questions stored by this process, for their mean size
	swept               []swept
	confirmed           []atomic.Int64 // by partition: when its leader was last confirmed
	stateLed            atomic.Int64   // likewise, of shared state
	readers             readers
	fresh               *fresh
	restored            atomic.Bool // the server was disconnected since the last sweep
	clock               *clock
	broken              broken
	audit               auditUse
	fileBudget          int64        // bytes that files may have
	filesLed            atomic.Int64 // as stateLed, of files
	auditMade           bool         // created by this process
}

// Open opens the ledger over a connection with the ledger's rights, creating
// its streams if they are missing. It adopts the settings of an existing
// ledger, and refuses one whose settings differ from those that opts sets, or
// that has another protocol number. It needs nats-server 2.14 or newer.
func Open(ctx context.Context, nc *nats.Conn, opts Options) (*Ledger, error) {
	if err := errors.Join(opts.settings().check(), opts.Audit.Check()); err != nil {
		return nil, err
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.Ahead == nil {
		opts.Ahead = func() time.Duration { return 0 }
	}
	opts.UploadLife = cmp.Or(opts.UploadLife, uploadLife)
	opts.Lease = cmp.Or(opts.Lease, defaultLease)
	if nc.ConnectedClusterName() != "" { // read before the version, which is refused without a connection
		opts.copies = clusterCopies
	}
	if err := CheckVersion(nc.ConnectedServerVersion()); err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(attempt))
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	l := &Ledger{nc: nc, js: js, opts: opts}
	has, err := l.settings(ctx)
	if err != nil {
		return nil, err
	}
	if err := l.opts.agree(has); err != nil {
		return nil, err
	}
	l.n, l.fresh = has.Partitions, newFresh(has.Retention)
	for p := 1; p < l.n; p++ {
		if err := l.create(ctx, p); err != nil {
			return nil, err
		}
	}
	for p := range l.n {
		if err := l.keepFirst(ctx, p); err != nil {
			return nil, err
		}
	}
	l.swept, l.confirmed = make([]swept, l.n), make([]atomic.Int64, l.n)
	l.refreshLimits(ctx)
	if err := l.RefreshUsage(ctx); err != nil {
		return nil, err
	}
	if err := l.openState(ctx); err != nil {
		return nil, err
	}
	if err := l.whole(ctx); err != nil && !opts.restores {
		return nil, err
	}
	if err := l.openFiles(ctx); err != nil {
		return nil, err
	}
	if err := l.openClock(ctx); err != nil {
		return nil, err
	}
	if !opts.NoAudit {
		// Asks do not wait for an audit that cannot be created: the broker
		// tries again.
		if l.auditMade, err = l.openAudit(ctx); err == nil {
			_, err = l.RefreshAudit(ctx)
		}
		if err != nil {
			l.opts.Logger.ErrorContext(ctx, "there is no audit", slog.Any("error", err))
		}
	}
	return l, nil
}

// Partitions returns the number of partitions, fixed when the ledger was
// created.
func (l *Ledger) Partitions() int { return l.n }

// CheckVersion returns an error if a nats-server is too old for a ledger.
func CheckVersion(v string) error {
	if semver.Compare(semver.MajorMinor("v"+strings.TrimPrefix(v, "v")), "v2.14") >= 0 {
		return nil
	}
	return fmt.Errorf("ledger: nats-server %q is too old; askbus needs 2.14 or newer (message schedules that a client can cancel)", v)
}

// settings creates the first stream, whose metadata holds the settings, or
// reads its settings.
func (l *Ledger) settings(ctx context.Context) (Settings, error) {
	for {
		s, err := l.stream(ctx, subject.Stream(0))
		if err == nil {
			return l.held(s)
		}
		if !errors.Is(err, jetstream.ErrStreamNotFound) {
			if backOff(ctx, 3) != nil {
				return Settings{}, fmt.Errorf("ledger: JetStream does not answer: %w", err)
			}
			continue
		}
		l.n = l.opts.settings().Partitions
		if err := l.create(ctx, 0); err != nil && !codeIs(err, codeMetadataDiffers) {
			return Settings{}, err
		}
	}
}

// held notes of how many servers a ledger's first stream is, and reads its settings.
func (l *Ledger) held(first jetstream.Stream) (Settings, error) {
	info := first.CachedInfo()
	l.copies = info.Config.Replicas
	l.alone = l.copies == 1 && (info.Cluster == nil || info.Cluster.Name == "")
	if l.copies == 1 && !l.alone {
		l.opts.Logger.Warn(`there is one copy of everything, in a cluster: a server that fails stops what it holds; raise it with "askbus ledger set --replicas 3"`)
	}
	return readSettings(info.Config.Metadata)
}

// stream looks up a stream. A cluster without a leader does not reply, so each
// try has its own limit.
func (l *Ledger) stream(ctx context.Context, name string) (jetstream.Stream, error) {
	one, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	return l.js.Stream(one, name)
}

// create creates one partition's stream. It never updates an existing one.
func (l *Ledger) create(ctx context.Context, p int) error {
	cfg := jetstream.StreamConfig{
		Name: subject.Stream(p), Subjects: []string{subject.LedgerStream(p)}, Storage: jetstream.FileStorage,
		Description: "askbus ledger: asks and their outcomes; only the broker writes here",
		Replicas:    l.opts.settings().Replicas, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld, MaxMsgsPerSubject: -1,
		AllowDirect: true, AllowMsgTTL: true, AllowMsgSchedules: true, AllowRollup: true, AllowAtomicPublish: true, DenyDelete: true,
		RePublish: republished(subject.Stream(p)),
		Metadata:  map[string]string{metaPartitions: strconv.Itoa(l.n)},
	}
	if p == 0 {
		cfg.Metadata = l.opts.settings().metadata()
	}
	l.breakStream(&cfg)
	if s, err := l.stream(ctx, cfg.Name); err == nil { // a full server may refuse to create one that exists
		return l.belongs(s, p)
	}
	for try := 0; ; try++ {
		one, cancel := context.WithTimeout(ctx, 2*attempt)
		_, err := l.js.CreateStream(one, cfg)
		cancel()
		switch {
		case err == nil:
			return nil
		case errors.Is(err, jetstream.ErrStreamNameAlreadyInUse):
			s, err := l.stream(ctx, cfg.Name)
			if err != nil {
				return fmt.Errorf("ledger: open stream %s: %w", cfg.Name, err)
			}
			return l.belongs(s, p)
		case codeIs(err, codeStorageExceeded), codeIs(err, codeInsufficient), codeIs(err, codeNoPeers):
			if try < 10 && backOff(ctx, try) == nil {
				continue // a new cluster replies this while peers are missing
			}
			return fmt.Errorf("ledger: create stream %s with %d copies: %w; check that as many servers run with JetStream and have that much storage, or use --replicas 1 (ASKBUS_REPLICAS)", cfg.Name, cfg.Replicas, err)
		case codeIs(err, codeNoCluster):
			return fmt.Errorf("ledger: create stream %s: %d copies need a cluster, and this is a single server: use --replicas 1 (ASKBUS_REPLICAS), or a cluster's address: %w", cfg.Name, cfg.Replicas, err)
		case ctx.Err() != nil || try > 10 || !IsTemporary(err), backOff(ctx, try) != nil:
			return notCreated(cfg.Name, err)
		}
	}
}

// belongs returns an error if an existing stream is of a ledger with other
// partitions.
func (l *Ledger) belongs(s jetstream.Stream, p int) error {
	info := s.CachedInfo()
	got := info.Config.Metadata[metaPartitions]
	switch {
	case got == strconv.Itoa(l.n):
		return nil
	case p == 0:
		return &apiError{ErrCode: codeMetadataDiffers, Description: "made with other partitions"}
	}
	return fmt.Errorf("ledger: stream %s says %s=%q, %s says %d", info.Config.Name, metaPartitions, got, subject.Stream(0), l.n)
}

// createBounded creates a stream with fewer bytes, but at least least, if the
// server has less room than configured. made is false for an existing stream,
// whatever its settings.
func (l *Ledger) createBounded(ctx context.Context, cfg jetstream.StreamConfig, least int64, tries int) (made bool, err error) {
	if _, err := l.stream(ctx, cfg.Name); err == nil {
		return false, nil // creating it again with the same settings would also succeed
	}
	for try := 0; ; try++ {
		one, cancel := context.WithTimeout(ctx, 2*attempt)
		_, err := l.js.CreateStream(one, cfg)
		cancel()
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, jetstream.ErrStreamNameAlreadyInUse):
			return false, nil
		case storageFull(err) && try%2 == 1 && cfg.MaxBytes > least:
			cfg.MaxBytes = max(least, cfg.MaxBytes/4)
		case try > tries || !IsTemporary(err), backOff(ctx, try) != nil:
			return false, notCreated(cfg.Name, err)
		}
	}
}

// notCreated says what to do about limits. The account of the ledger has none, unless somebody signed its JWT again.
func notCreated(name string, err error) error {
	advice := ""
	switch code := codeOf(err); {
	case code == codeMostStreams || code == codeBytesRequired || code == codeNoTier:
		advice = `; raise the limit in the JWT of the account LEDGER, or give the servers what "askbus auth config" prints, which has no limit`
	case storageFull(err):
		advice = "; give the servers more room (--max-store, or max_file_store of a nats-server of your own), or raise the limit in the JWT of the account LEDGER"
	}
	return fmt.Errorf("ledger: create stream %s: %w%s", name, err, advice)
}

func codeIs(err error, code int) bool {
	return codeOf(err) == code
}

// place returns the partition and stream of an ask.
func (l *Ledger) place(k ask.Key) (p int, stream string) {
	p = subject.Partition(k.Tenant, k.Session, l.n)
	return p, subject.Stream(p)
}
