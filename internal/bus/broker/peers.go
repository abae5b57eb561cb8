package broker

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
)

// Brokers share one ledger, and each applies its own --max-store, --policy and --approvals.
// Where these differ, the broker that a request happens to reach decides what is
// refused. So brokers compare theirs.

const (
	peersEvery   = 15 * time.Second
	peersSilence = 500 * time.Millisecond // how long another broker's reply is waited for
	maxPeers     = 100                    // replies that are read
	maxDiffering = 5                      // brokers that are named
)

// Settings are what a broker was told about limits, and what its servers say.
type Settings struct {
	Host           string `json:"host"`
	MaxStore       int64  `json:"max_store"`        // of this broker; 0: no limit
	Server         string `json:"server"`           // that may store least; empty: none says what it may store
	ServerMaxStore int64  `json:"server_max_store"` // what it may store
	Policy         string `json:"policy"`           // digest of the limits of tenants; empty: no limits
	Approvals      string `json:"approvals"`        // digest of the policies of approvals; empty: none

	// Unread says why a file of these cannot be read as it is now: its previous
	// content counts, and the next start fails.
	Unread []string `json:"unread,omitempty"`
}

func (b *Broker) settings() Settings {
	limit := b.led.Limit()
	s := Settings{MaxStore: limit.Broker, Server: limit.Server, ServerMaxStore: limit.ServerBytes}
	s.Host, _ = os.Hostname()
	if b.opts.Quotas != nil {
		s.Policy = b.opts.Quotas().Digest()
	}
	if b.opts.Approvals != nil {
		s.Approvals = b.opts.Approvals().Digest()
	}
	if b.opts.Unread != nil {
		s.Unread = b.opts.Unread()
	}
	return s
}

// differ says how another broker's settings differ from these, a line each.
func (s *Settings) differ(other *Settings, name string) (lines []string) {
	here, there := amount(s.MaxStore), amount(other.MaxStore)
	if here == there { // rounded
		here, there = fmt.Sprint(s.MaxStore, " bytes"), fmt.Sprint(other.MaxStore, " bytes")
	}
	for _, v := range []struct {
		same                       bool
		setting, here, there, give string
	}{
		{s.MaxStore == other.MaxStore, "--max-store", here, there, "start all brokers with the same"},
		{s.Policy == other.Policy, "--policy", digest(s.Policy, "limits"), digest(other.Policy, "limits"), "give all brokers the same policy file"},
		{s.Approvals == other.Approvals, "--approvals", digest(s.Approvals, "policies"), digest(other.Approvals, "policies"), "give all brokers the same approvals file"},
	} {
		if !v.same {
			lines = append(lines, fmt.Sprintf("%s is %s here and %s at broker %s on %s: %s", v.setting, v.here, v.there, name, other.Host, v.give))
		}
	}
	return lines
}

// digest names what a file with this digest says; empty: there is none.
func digest(of, says string) string {
	if of == "" {
		return "without " + says
	}
	return "of digest " + of
}

func amount(bytes int64) string {
	if bytes == 0 {
		return "without a limit"
	}
	return file.SizeText(bytes)
}

// Notes returns what an operator should change although the broker serves.
func (b *Broker) Notes() []string {
	var notes []string
	s := b.settings()
	switch {
	case s.Server == "":
		notes = append(notes, "no NATS server says how much it may store: keep --max-store below its max_file_store")
	case s.MaxStore > s.ServerMaxStore:
		notes = append(notes, fmt.Sprintf("--max-store is %s here and %s at server %s, which counts: start both with the same", amount(s.MaxStore), amount(s.ServerMaxStore), s.Server))
	}
	for _, why := range s.Unread {
		notes = append(notes, why+"; its previous content counts, and the next start fails: correct it")
	}
	if err := b.led.ClockWarning(); err != nil { // of a server that leads nothing
		notes = append(notes, err.Error())
	}
	if lines := b.differing.Load(); lines != nil {
		notes = append(notes, *lines...)
	}
	return append(notes, b.scheduleNotes()...)
}

// comparePeers compares the settings of all brokers until ctx ends. id is this
// one's as a service.
func (b *Broker) comparePeers(ctx context.Context, id string) {
	var told []string
	for on := true; on; on = backoff.Sleep(ctx, peersEvery) == nil {
		own := b.settings()
		peers, err := b.askPeers(ctx, id)
		var lines []string
		for _, p := range peers {
			if len(lines) < maxDiffering {
				lines = append(lines, own.differ(&p.Settings, p.id)...)
			}
		}
		slices.Sort(lines)
		if err == nil && ctx.Err() == nil {
			b.differing.Store(&lines)
			for _, line := range lines {
				if !slices.Contains(told, line) {
					b.opts.Logger.WarnContext(ctx, "brokers have different settings", slog.String("difference", line))
				}
			}
			told = lines
		}
	}
}

// peer is another broker.
type peer struct {
	id string
	Settings
}

// askPeers returns the settings of the brokers that reply, other than own.
func (b *Broker) askPeers(ctx context.Context, own string) (peers []peer, err error) {
	inbox := subject.BrokerSettings + "." + cloudevent.NewID()
	sub, err := b.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer sub.Unsubscribe() //nolint:errcheck // the connection may be closed
	if err := b.nc.PublishRequest(subject.BrokerStats, inbox, nil); err != nil {
		return nil, err
	}
	for range maxPeers {
		one, cancel := context.WithTimeout(ctx, peersSilence)
		msg, err := sub.NextMsgWithContext(one)
		cancel()
		if err != nil {
			break // no other reply comes
		}
		var said struct {
			ID        string `json:"id"`
			Endpoints []struct {
				Data Settings `json:"data"`
			} `json:"endpoints"`
		}
		if json.Unmarshal(msg.Data, &said) == nil && said.ID != own && len(said.Endpoints) > 0 {
			peers = append(peers, peer{said.ID, said.Endpoints[0].Data})
		}
	}
	return peers, nil
}
