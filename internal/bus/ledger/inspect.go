package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Inspection is the state of a ledger as seen from outside.
type Inspection struct {
	Domain     string // of JetStream
	Used       int64  // bytes used by the account
	Reserved   int64  // bytes that its streams with a limit may use
	MaxStore   int64  // -1: no limit
	HasStreams int    // how many the account has
	MaxStreams int    // 0 or less: no limit
	Bounded    bool   // the account may have no stream without a limit, and so no ledger
	Settings   Settings
	Streams    []StreamInspection // shared state, the partitions, files
	Audit      AuditInspection
	// Unlisted says why the consumers of a stream, and of those after it, are not known: a server that stores
	// nothing more, such as one with a full disk, does not answer for those that it leads.
	Unlisted error
}

// StreamInspection is the state of one stream of a ledger.
type StreamInspection struct {
	Name      string
	There     bool
	Wrong     []string // settings that differ from a broker's
	Used      int64    // bytes
	Most      int64    // bytes that it may have; 0 or less: no limit
	Replicas  int
	Clustered bool
	Leader    string // empty in a cluster: no leader
	Peers     []PeerInspection
	Ahead     time.Duration // how far the leader's clock is ahead of this machine's
	Unsure    time.Duration // uncertainty of Ahead
	Consumers []ConsumerInspection
}

// PeerInspection is a server that has a copy and does not lead.
type PeerInspection struct {
	Name    string
	Current bool
	Offline bool
	Lag     uint64
}

// ConsumerInspection is a durable consumer: the work of a posting surface.
type ConsumerInspection struct {
	Name        string
	Waiting     uint64 // never handed out
	UnderWay    int    // handed out and not settled
	Redelivered int
}

// ErrNoLedger means that no broker has created a ledger here yet.
var ErrNoLedger = errors.New("no ledger is here")

// inspectTries is how often Inspect repeats a request without a reply: longer
// than the choice of a leader takes.
const inspectTries = 4

// eachTry calls read with a limit for each try, and repeats it if there was no
// reply. A request that arrives while no server leads is never answered, and
// jetstream would wait for it until ctx ends.
func eachTry[T any](ctx context.Context, read func(context.Context) (T, error)) (T, error) {
	for try := 1; ; try++ {
		one, cancel := context.WithTimeout(ctx, 2*attempt)
		v, err := read(one)
		cancel()
		if err == nil || !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil || try == inspectTries {
			return v, err
		}
	}
}

// tierOf returns the limits of an account for streams with this many copies, which a JWT may have for each number, and
// what uses them. Those count every byte once.
func tierOf(a *jetstream.AccountInfo, copies int) jetstream.Tier {
	if len(a.Tiers) == 0 {
		return a.Tier
	}
	tier := a.Tiers["R"+strconv.Itoa(copies)]
	tier.Store /= uint64(max(1, copies))
	return tier
}

// Inspect reads the state of a ledger over a connection with maintenance
// rights. Without a leader it gives up after some seconds, not when ctx ends.
func Inspect(ctx context.Context, nc *nats.Conn) (Inspection, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return Inspection{}, fmt.Errorf("ledger: %w", err)
	}
	account, err := eachTry(ctx, js.AccountInfo)
	if err != nil {
		return Inspection{}, fmt.Errorf("ledger: JetStream does not answer: %w", err)
	}
	copies := 1
	if nc.ConnectedClusterName() != "" {
		copies = clusterCopies
	}
	first, err := eachTry(ctx, func(ctx context.Context) (jetstream.Stream, error) { return js.Stream(ctx, subject.Stream(0)) })
	if err == nil {
		copies = first.CachedInfo().Config.Replicas
	}
	tier := tierOf(account, copies)
	in := Inspection{
		Domain: account.Domain, Used: int64(tier.Store), Reserved: int64(tier.ReservedStore), MaxStore: tier.Limits.MaxStore, //nolint:gosec // bytes of a disk
		HasStreams: tier.Streams, MaxStreams: tier.Limits.MaxStreams, Bounded: tier.Limits.MaxBytesRequired,
	}
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return in, ErrNoLedger
	}
	if err != nil {
		return in, fmt.Errorf("ledger: open stream %s: %w", subject.Stream(0), err)
	}
	if in.Settings, err = readSettings(first.CachedInfo().Config.Metadata); err != nil {
		return in, err
	}
	l := &Ledger{nc: nc, js: js, n: in.Settings.Partitions}
	for _, name := range l.streams() {
		s, err := eachTry(ctx, func(ctx context.Context) (StreamInspection, error) { return l.inspect(ctx, name, &in.Settings) })
		if err != nil {
			return in, err
		}
		if in.Unlisted == nil && s.There {
			s.Consumers, in.Unlisted = l.listConsumers(ctx, name)
		}
		if s.There || name != subject.FileStream { // else the next broker creates it
			in.Streams = append(in.Streams, s)
		}
	}
	in.Audit, err = eachTry(ctx, l.inspectAudit)
	return in, err
}

func (l *Ledger) inspect(ctx context.Context, name string, has *Settings) (StreamInspection, error) {
	in := StreamInspection{Name: name}
	s, err := l.js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return in, nil
	}
	if err != nil {
		return in, fmt.Errorf("ledger: open stream %s: %w", name, err)
	}
	info := s.CachedInfo()
	in.There, in.Replicas, in.Wrong = true, info.Config.Replicas, wrongs(&info.Config, has)
	in.Used, in.Most = int64(info.State.Bytes), info.Config.MaxBytes //nolint:gosec // bytes of a disk
	if c := info.Cluster; c != nil && c.Name != "" {
		in.Clustered, in.Leader = true, c.Leader
		for _, r := range c.Replicas {
			in.Peers = append(in.Peers, PeerInspection{r.Name, r.Current, r.Offline, r.Lag})
		}
	}
	in.Ahead, in.Unsure, err = l.ahead(ctx, name)
	return in, err
}

func (l *Ledger) listConsumers(ctx context.Context, stream string) ([]ConsumerInspection, error) {
	return eachTry(ctx, func(ctx context.Context) (all []ConsumerInspection, err error) {
		found, err := l.durables(ctx, stream)
		for _, c := range found {
			all = append(all, ConsumerInspection{c.Name, c.NumPending, c.NumAckPending, c.NumRedelivered})
		}
		return all, err
	})
}

// ahead returns how far the clock of a stream's leader is ahead of this
// machine's.
func (l *Ledger) ahead(ctx context.Context, stream string) (ahead, unsure time.Duration, err error) {
	for probed, tries := 0, 0; probed < probes; {
		began := time.Now()
		msg, err := l.request(ctx, &nats.Msg{Subject: "$JS.API.STREAM.INFO." + stream})
		if err != nil {
			return 0, 0, err
		}
		half := time.Since(began) / 2
		var info streamInfo
		if err := json.Unmarshal(msg.Data, &info); err != nil {
			return 0, 0, fmt.Errorf("ledger: %s: %w", stream, err)
		}
		if info.Time.IsZero() { // an error, such as that nobody leads
			if err := backOff(ctx, tries); err != nil {
				return 0, 0, fmt.Errorf("ledger: %s: no server says what time it is: %w", stream, err)
			}
			tries++
			continue
		}
		if probed == 0 || half < unsure {
			ahead, unsure = info.Time.Sub(began.Add(half).Round(0)), half
		}
		probed++
	}
	return ahead, unsure, nil
}

// wrongs lists the settings of a stream that differ from those that a broker
// makes.
func wrongs(c *jetstream.StreamConfig, has *Settings) (wrong []string) {
	beside := c.Name == subject.StateStream || c.Name == subject.FileStream // of the asks
	for _, v := range []struct {
		ok   bool
		what string
	}{
		{c.Storage == jetstream.FileStorage, "it is kept in memory: a restart loses it"},
		{c.Retention == jetstream.LimitsPolicy, "its retention is " + c.Retention.String() + ", not limits: asks are removed when they are read"},
		{c.MaxAge == 0, "max_age is " + c.MaxAge.String() + ": asks are removed before they end"},
		{c.MaxMsgs <= 0, "max_msgs is " + strconv.FormatInt(c.MaxMsgs, 10) + ": the oldest asks are removed"},
		{c.AllowDirect, "allow_direct is off: brokers cannot read"},
		{c.AllowMsgTTL, "allow_msg_ttl is off: outcomes never expire, or cannot be written"},
		{c.DenyDelete, "deny_delete is off: messages can be deleted one by one"},
		{c.Name == subject.FileStream || c.RePublish != nil, "republish is off: agents and surfaces get no events until they poll"},
		{c.Replicas == has.Replicas, fmt.Sprintf("it has %d copies and the ledger's settings say %d", c.Replicas, has.Replicas)},
		{beside || c.AllowMsgSchedules, "allow_msg_schedules is off: nothing expires at its deadline"},
		{beside || c.AllowAtomicPublish, "allow_atomic is off: in a cluster nobody can end asks with votes or a ladder"},
		{beside || c.AllowRollup, "allow_rollup_hdrs is off: receipts cannot be written"},
		{beside || c.MaxBytes <= 0, "max_bytes is " + strconv.FormatInt(c.MaxBytes, 10) + ": the oldest asks are removed when it is full"},
	} {
		if !v.ok {
			wrong = append(wrong, v.what)
		}
	}
	return wrong
}
