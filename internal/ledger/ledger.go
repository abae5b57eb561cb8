package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/sabotage"
	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Defaults of [Options].
const (
	DefaultPartitions = 4
	MaxPartitions     = 99
	DefaultRetention  = 720 * time.Hour
	DefaultMargin     = 24 * time.Hour
	MinMargin         = 5 * time.Second
)

// Options tunes a [Ledger]. The zero value is ready to use.
type Options struct {
	Partitions int           // when the ledger is created; default 4, at most 99
	Replicas   int           // when the ledger is created; default 1
	Retention  time.Duration // how long an outcome is kept after its ask's deadline; default 720h, at least 1s
	Margin     time.Duration // how much longer than anything the timer can write; default 24h, at least 5s
	Budget     int64         // bytes that the ledger may use; default: the account's limit, else no limit
	Logger     *slog.Logger  // default: discard
	Sabotage   sabotage.Kind // set only by internal/torture: a promise to break
}

func (o *Options) fill() error {
	if o.Partitions == 0 {
		o.Partitions = DefaultPartitions
	}
	if o.Replicas == 0 {
		o.Replicas = 1
	}
	if o.Retention == 0 {
		o.Retention = DefaultRetention
	}
	if o.Margin == 0 {
		o.Margin = DefaultMargin
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case o.Partitions < 1 || o.Partitions > MaxPartitions:
		return fmt.Errorf("ledger: %d partitions; use 1 to %d", o.Partitions, MaxPartitions)
	case o.Replicas < 1 || o.Replicas > 5:
		return fmt.Errorf("ledger: %d replicas; use 1 to 5", o.Replicas)
	case o.Retention < time.Second:
		return fmt.Errorf("ledger: retention %s; use at least 1s", o.Retention)
	case o.Margin < MinMargin:
		return fmt.Errorf("ledger: margin %s; use at least %s", o.Margin, MinMargin)
	}
	return nil
}

// Ledger is the open ledger. It is safe for concurrent use.
type Ledger struct {
	nc     *nats.Conn
	js     jetstream.JetStream
	n      int
	copies int // of each stream, when the ledger was opened
	opts   Options

	used     atomic.Int64 // bytes, as last seen plus what was stored since
	budget   atomic.Int64
	swept    []swept
	surely   []atomic.Int64 // by partition: when its leader was seen to lead
	readers  readers
	fresh    *fresh
	restored atomic.Bool  // the server was away since the last sweep
	broken   atomic.Int64 // writes that sabotage saw
}

// Open opens the ledger over a connection with the ledger's rights, creating
// its streams if they are not there. It adopts the number of partitions of an
// existing ledger. It needs nats-server 2.14 or newer.
func Open(ctx context.Context, nc *nats.Conn, opts Options) (*Ledger, error) {
	if err := opts.fill(); err != nil {
		return nil, err
	}
	if err := checkVersion(nc.ConnectedServerVersion()); err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(attempt))
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	l := &Ledger{nc: nc, js: js, opts: opts, fresh: newFresh(opts.Retention)}
	if l.n, err = l.partitions(ctx); err != nil {
		return nil, err
	}
	for p := 1; p < l.n; p++ {
		if err := l.create(ctx, p); err != nil {
			return nil, err
		}
	}
	l.swept, l.surely = make([]swept, l.n), make([]atomic.Int64, l.n)
	if err := l.RefreshUsage(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// Partitions is the number of partitions, fixed when the ledger was created.
func (l *Ledger) Partitions() int { return l.n }

func checkVersion(v string) error {
	parts := strings.SplitN(strings.TrimPrefix(v, "v"), ".", 3)
	if len(parts) >= 2 {
		major, err1 := strconv.Atoi(parts[0])
		minor, err2 := strconv.Atoi(parts[1])
		if err1 == nil && err2 == nil && (major > 2 || major == 2 && minor >= 14) {
			return nil
		}
	}
	return fmt.Errorf("ledger: nats-server %q is too old; askbus needs 2.14 or newer (message schedules that a client can cancel)", v)
}

const metaPartitions = "askbus.partitions"

// partitions creates the first stream, whose metadata says how many there are,
// or adopts what it says.
func (l *Ledger) partitions(ctx context.Context) (int, error) {
	for {
		s, err := l.stream(ctx, subject.Stream(0))
		if err == nil {
			n, err := strconv.Atoi(s.CachedInfo().Config.Metadata[metaPartitions])
			if err != nil || n < 1 || n > MaxPartitions {
				return 0, fmt.Errorf("ledger: stream %s says %s=%q; it was not made by askbus",
					subject.Stream(0), metaPartitions, s.CachedInfo().Config.Metadata[metaPartitions])
			}
			l.copies = s.CachedInfo().Config.Replicas
			return n, nil
		}
		if !errors.Is(err, jetstream.ErrStreamNotFound) {
			if ctx.Err() != nil {
				return 0, fmt.Errorf("ledger: JetStream does not answer: %w", err)
			}
			if pause(ctx, 3) != nil {
				return 0, fmt.Errorf("ledger: JetStream does not answer: %w", err)
			}
			continue
		}
		l.n = l.opts.Partitions
		if err := l.create(ctx, 0); err != nil && !codeIs(err, codeMetadataDiffers) {
			return 0, err
		}
	}
}

// stream looks a stream up. A cluster that has no leader yet does not reply, so
// each try has a limit of its own.
func (l *Ledger) stream(ctx context.Context, name string) (jetstream.Stream, error) {
	one, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	return l.js.Stream(one, name)
}

// create makes one partition's stream. It never updates one that is there.
func (l *Ledger) create(ctx context.Context, p int) error {
	cfg := jetstream.StreamConfig{
		Name: subject.Stream(p), Subjects: []string{subject.LedgerStream(p)}, Storage: jetstream.FileStorage,
		Description: "askbus ledger: asks and their outcomes; only the broker writes here",
		Replicas:    l.opts.Replicas, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld, MaxMsgsPerSubject: -1,
		AllowDirect: true, AllowMsgTTL: true, AllowMsgSchedules: true, AllowRollup: true, DenyDelete: true,
		RePublish: &jetstream.RePublish{
			Source:      subject.LedgerRoot + ".*.*.*.*.*",
			Destination: subject.Out + ".{{wildcard(2)}}.{{wildcard(3)}}.{{wildcard(4)}}.{{wildcard(5)}}",
		},
		Metadata: map[string]string{metaPartitions: strconv.Itoa(l.n)},
	}
	l.breakStream(&cfg)
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
			if got := s.CachedInfo().Config.Metadata[metaPartitions]; got != strconv.Itoa(l.n) {
				if p == 0 {
					return &apiError{ErrCode: codeMetadataDiffers, Description: "made with other partitions"}
				}
				return fmt.Errorf("ledger: stream %s says %s=%q, %s says %d", cfg.Name, metaPartitions, got, subject.Stream(0), l.n)
			}
			return nil
		case codeIs(err, codeStorageExceeded), codeIs(err, codeInsufficient):
			if try < 5 && pause(ctx, try) == nil {
				continue // a cluster that just started says so while peers are missing
			}
			return fmt.Errorf("ledger: create stream %s: %w", cfg.Name, err)
		case ctx.Err() != nil || try > 10 || !transient(err):
			return fmt.Errorf("ledger: create stream %s: %w", cfg.Name, err)
		}
		if pause(ctx, try) != nil {
			return fmt.Errorf("ledger: create stream %s: %w", cfg.Name, err)
		}
	}
}

func transient(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.Code == 503
	}
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, jetstream.ErrJetStreamNotEnabled)
}

func codeIs(err error, code int) bool {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e.ErrCode == code
	}
	if e, ok := errors.AsType[*jetstream.APIError](err); ok {
		return int(e.ErrorCode) == code
	}
	return false
}

// place is where an ask lies.
func (l *Ledger) place(k ask.Key) (p int, stream string) {
	p = subject.Partition(k.Tenant, k.Session, l.n)
	return p, subject.Stream(p)
}
