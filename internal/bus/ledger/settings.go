package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// syncAlways says that the ledger's servers sync every acknowledged message to
// disk. A NATS client cannot query it, so it is recorded, not checked.
const syncAlways = "always"

// Metadata of the first stream: the settings that all brokers share.
const (
	metaPartitions = "askbus.partitions" // of every stream
	metaProtocol   = "askbus.protocol"
	metaRetention  = "askbus.retention"
	metaMargin     = "askbus.margin"
	metaReplicas   = "askbus.replicas"
	metaSync       = "askbus.sync"
	metaLongest    = "askbus.longest-retention" // the longest one it ever had
)

// Settings are shared by every broker of a ledger. They are stored in the
// metadata of its first stream.
type Settings struct {
	Partitions int
	Replicas   int
	Retention  time.Duration
	Margin     time.Duration

	longest time.Duration // retention that the timer of a stored question may have
}

func (s Settings) metadata() map[string]string {
	return map[string]string{
		metaPartitions: strconv.Itoa(s.Partitions), metaProtocol: strconv.Itoa(wire.Protocol()), metaRetention: s.Retention.String(),
		metaMargin: s.Margin.String(), metaReplicas: strconv.Itoa(s.Replicas), metaSync: syncAlways, metaLongest: max(s.longest, s.Retention).String(),
	}
}

// check returns an error for an invalid setting.
func (s Settings) check() error {
	switch {
	case s.Partitions < 1 || s.Partitions > MaxPartitions:
		return fmt.Errorf("ledger: %d partitions; use 1 to %d", s.Partitions, MaxPartitions)
	case s.Replicas < 1 || s.Replicas > 5:
		return fmt.Errorf("ledger: %d replicas; use 1 to 5", s.Replicas)
	case s.Retention < time.Second:
		return fmt.Errorf("ledger: retention %s; use at least 1s", s.Retention)
	case s.Margin < MinMargin:
		return fmt.Errorf("ledger: margin %s; use at least %s", s.Margin, MinMargin)
	}
	return nil
}

// readSettings parses the metadata of a ledger.
func readSettings(meta map[string]string) (Settings, error) {
	name := subject.Stream(0)
	var s Settings
	var err error
	if s.Partitions, err = strconv.Atoi(meta[metaPartitions]); err != nil || s.Partitions < 1 || s.Partitions > MaxPartitions {
		return Settings{}, fmt.Errorf("ledger: stream %s says %s=%q; it was not made by askbus", name, metaPartitions, meta[metaPartitions])
	}
	if got := meta[metaProtocol]; got != strconv.Itoa(wire.Protocol()) {
		return Settings{}, fmt.Errorf("ledger: stream %s says %s=%q, and this version uses %d; run the version that made the ledger, or start with an empty directory or account", name, metaProtocol, got, wire.Protocol())
	}
	if got := meta[metaSync]; got != syncAlways {
		return Settings{}, fmt.Errorf("ledger: stream %s says %s=%q, and this version needs %q: run nats-server with sync_interval: always", name, metaSync, got, syncAlways)
	}
	var errs [4]error
	s.Replicas, errs[0] = strconv.Atoi(meta[metaReplicas])
	s.Retention, errs[1] = time.ParseDuration(meta[metaRetention])
	s.Margin, errs[2] = time.ParseDuration(meta[metaMargin])
	s.longest, errs[3] = time.ParseDuration(meta[metaLongest])
	if err := errors.Join(errs[:]...); err != nil {
		return Settings{}, fmt.Errorf("ledger: the metadata of stream %s is damaged: %w", name, err)
	}
	return s, nil
}

// agree adopts the ledger's settings. Options that differ are an error that
// names both values and what to do.
func (o *Options) agree(s Settings) error {
	var differ []string
	check := func(name, told, has string, change string) {
		differ = append(differ, fmt.Sprintf("%s is %s here and %s in the ledger: leave --%s (ASKBUS_%s) out, or %s",
			name, told, has, name, strings.ToUpper(name), change))
	}
	set := "change it for all brokers with: askbus ledger set --%s %s"
	if o.Partitions != 0 && o.Partitions != s.Partitions {
		check("partitions", strconv.Itoa(o.Partitions), strconv.Itoa(s.Partitions), "start with an empty directory or account; the partitions of a ledger never change")
	}
	if o.Replicas != 0 && o.Replicas != s.Replicas {
		check("replicas", strconv.Itoa(o.Replicas), strconv.Itoa(s.Replicas), fmt.Sprintf(set, "replicas", strconv.Itoa(o.Replicas)))
	}
	if o.Retention != 0 && o.Retention != s.Retention {
		check("retention", o.Retention.String(), s.Retention.String(), fmt.Sprintf(set, "retention", o.Retention))
	}
	if o.Margin != 0 && o.Margin != s.Margin {
		check("margin", o.Margin.String(), s.Margin.String(), fmt.Sprintf(set, "margin", o.Margin))
	}
	if len(differ) > 0 {
		return fmt.Errorf("ledger: the settings of this broker differ from the ledger's: %s", strings.Join(differ, "; "))
	}
	o.Partitions, o.Replicas, o.Retention, o.Margin = s.Partitions, s.Replicas, s.Retention, s.Margin
	return nil
}

// Set changes the non-zero settings of change in a ledger, over a connection
// that may update streams, and restores what somebody changed of the streams
// themselves. Brokers read the settings when they start; a change of replicas
// needs no restart, and Set returns when every copy is current. It returns the
// settings before and after, which are the same if an error changed nothing.
func Set(ctx context.Context, nc *nats.Conn, change Settings) (before, after Settings, err error) {
	js, first, err := streamOver(ctx, nc, subject.Stream(0))
	if err != nil {
		return before, after, err
	}
	if before, err = readSettings(first.CachedInfo().Config.Metadata); err != nil {
		return before, after, err
	}
	after = before
	if change == (Settings{}) {
		return before, after, nil
	}
	if change.Partitions != 0 && change.Partitions != before.Partitions {
		return before, before, errors.New("ledger: the partitions of a ledger cannot change: they determine the stream of each ask")
	}
	after.Replicas = cmp.Or(change.Replicas, after.Replicas)
	after.Retention = cmp.Or(change.Retention, after.Retention)
	after.Margin = cmp.Or(change.Margin, after.Margin)
	if err := after.check(); err != nil {
		return before, before, err
	}
	// Pending questions have a timer with the retention of their time. What it
	// writes late must not outlive the outcome.
	if after.Retention+after.Margin < before.longest+MinMargin {
		return before, before, fmt.Errorf("ledger: retention %s and margin %s together must be at least %s: questions stored with a retention of %s may still be pending; raise the margin as well",
			after.Retention, after.Margin, before.longest+MinMargin, before.longest)
	}
	names := make([]string, 0, after.Partitions+2)
	for p := range after.Partitions {
		names = append(names, subject.Stream(p))
	}
	names = append(names, subject.StateStream, subject.FileStream)
	moved := false
	for _, name := range names {
		s, err := openStream(ctx, js, name)
		if err != nil {
			return before, after, err
		}
		cfg := s.CachedInfo().Config
		moved = moved || cfg.Replicas != after.Replicas
		cfg.Replicas = after.Replicas
		asCreated(&cfg)
		if name == names[0] {
			maps.Copy(cfg.Metadata, after.metadata())
		}
		if err := update(ctx, js, cfg); err != nil {
			return before, after, err
		}
	}
	if moved {
		err = caughtUp(ctx, js, names, after.Replicas)
	}
	return before, after, err
}

// update changes one of the streams that a command changes one after the other.
func update(ctx context.Context, js jetstream.JetStream, cfg jetstream.StreamConfig) error {
	if _, err := js.UpdateStream(ctx, cfg); err != nil {
		return fmt.Errorf("ledger: update stream %s: %w; what was changed before stays: mend this, and give the same command again", cfg.Name, err)
	}
	return nil
}

// asCreated gives a stream the settings with which a broker creates it, as far as
// they can change. Also one that was made before ADR 0175 gets them.
func asCreated(c *jetstream.StreamConfig) {
	c.MaxAge, c.MaxMsgs, c.AllowDirect, c.AllowMsgTTL, c.RePublish = 0, -1, true, true, republished(c.Name)
	if c.Name != subject.StateStream && c.Name != subject.FileStream {
		c.MaxBytes, c.AllowMsgSchedules, c.AllowAtomicPublish, c.AllowRollup = -1, true, true, true
	}
}

// republished says what of a stream goes to clients, and where.
func republished(stream string) *jetstream.RePublish {
	switch stream {
	case subject.FileStream:
		return nil
	case subject.StateStream:
		return &jetstream.RePublish{Source: subject.StateLedger + ".>", Destination: subject.StateOut + ".>"}
	}
	return &jetstream.RePublish{
		Source:      subject.LedgerRoot + ".*.*.*.*.*",
		Destination: subject.Out + ".{{wildcard(2)}}.{{wildcard(3)}}.{{wildcard(4)}}.{{wildcard(5)}}",
	}
}

// caughtUp waits until every stream has this many current copies.
func caughtUp(ctx context.Context, js jetstream.JetStream, streams []string, replicas int) error {
	for _, name := range streams {
		for try := 0; ; try++ {
			s, err := js.Stream(ctx, name)
			if err == nil {
				current := 1 // the leader
				if c := s.CachedInfo().Cluster; c != nil {
					for _, r := range c.Replicas {
						if r.Current {
							current++
						}
					}
				}
				if current == replicas {
					break
				}
				err = fmt.Errorf("%d of %d copies are current", current, replicas)
			}
			if backOff(ctx, max(try, 4)) != nil {
				return fmt.Errorf("ledger: stream %s: %w; its settings are changed, and the servers continue copying", name, err)
			}
		}
	}
	return nil
}
