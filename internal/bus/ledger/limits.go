package ledger

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/internal/protocol/subject"
)

// A server refuses every write from its own limit on, whatever a broker's
// budget says: answers and deadlines too. So brokers ask each server for its
// limit, and reserve what pending asks need below the smallest one.

const (
	limitsEvery   = 10 * time.Second
	limitsSilence = 500 * time.Millisecond // how long another server's reply is waited for
	limitsKept    = 10 * time.Minute       // how long the limit of a server that is silent counts
	maxServers    = 64                     // replies that are read
)

// limits are what each server may store, by its name. The zero value knows
// none. It is safe for concurrent use.
type limits struct {
	mu       sync.Mutex
	byServer map[string]serverLimit
	told     string // what was logged last
}

type serverLimit struct {
	bytes int64
	seen  time.Time // by this machine's clock
}

// note records what a server may store. With 0 its JetStream is off, as it is while its disk is full: what it said last
// counts a while longer.
func (s *limits) note(name string, bytes int64, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byServer == nil {
		s.byServer = map[string]serverLimit{}
	}
	maps.DeleteFunc(s.byServer, func(_ string, l serverLimit) bool { return now.Sub(l.seen) > limitsKept })
	if bytes > 0 {
		s.byServer[name] = serverLimit{bytes, now}
	}
}

// smallest returns the server that may store least; empty: none is known.
func (s *limits) smallest() (name string, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range slices.Sorted(maps.Keys(s.byServer)) {
		if l := s.byServer[n]; name == "" || l.bytes < bytes {
			name, bytes = n, l.bytes
		}
	}
	return name, bytes
}

// least returns what every server may store; 0: unknown.
func (s *limits) least() int64 {
	_, bytes := s.smallest()
	return bytes
}

// news reports whether text differs from what was logged last.
func (s *limits) news(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told == text {
		return false
	}
	s.told = text
	return true
}

// smaller returns the smallest positive number; 0: there is none.
func smaller(all ...int64) (least int64) {
	for _, n := range all {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// refreshLimits asks every server how much it may store. A server that does
// not say so, or too late, keeps its last limit for some minutes.
func (l *Ledger) refreshLimits(ctx context.Context) {
	found := l.askServers(ctx)
	now := time.Now()
	for name, bytes := range found {
		l.limits.note(name, bytes, now)
	}
	name, bytes := l.limits.smallest()
	switch own := l.opts.Budget; {
	case name == "":
		if l.limits.news("unknown") {
			l.opts.Logger.WarnContext(ctx, "no NATS server says how much it may store: it refuses answers and deadlines too when it is full; give it what \"askbus auth config\" of this version prints, with the system_account, and keep this broker's --max-store below its max_file_store",
				slog.Int64("max_store", own))
		}
	case own > 0 && bytes < own:
		if l.limits.news(name + " " + file.SizeText(bytes)) {
			l.opts.Logger.WarnContext(ctx, "a NATS server may store less than this broker: the server's limit counts; raise --max-store of the server, or lower this broker's to the same",
				slog.String("server", name), slog.String("server_max_store", file.SizeText(bytes)), slog.String("max_store", file.SizeText(own)))
		}
	default:
		l.limits.news("")
	}
}

// KeepLimits asks again from time to time, until ctx ends.
func (l *Ledger) KeepLimits(ctx context.Context) {
	for backoff.Sleep(ctx, limitsEvery) == nil {
		l.refreshLimits(ctx)
	}
}

// askServers returns what each server that replies may store, 0 for one whose
// JetStream is off. It waits until all servers of the cluster have replied, or
// no other reply comes.
func (l *Ledger) askServers(ctx context.Context) map[string]int64 {
	found, size := map[string]int64{}, 1
	for data, err := range connection.Everybody(ctx, l.nc, subject.Servers, l.nc.NewInbox(), attempt, limitsSilence) {
		var said struct {
			Server struct {
				Name string `json:"name"`
			} `json:"server"`
			Data struct {
				Config struct {
					MaxStore int64 `json:"max_storage"`
				} `json:"config"`
				Meta struct {
					Size int `json:"cluster_size"`
				} `json:"meta_cluster"`
			} `json:"data"`
		}
		if err != nil || json.Unmarshal(data, &said) != nil || said.Server.Name == "" {
			continue
		}
		found[said.Server.Name] = said.Data.Config.MaxStore
		if size = max(size, said.Data.Meta.Size); len(found) >= min(size, maxServers) {
			break
		}
	}
	return found
}

// Limit is how much the ledger may use, and what sets it.
type Limit struct {
	Broker      int64  // bytes that this broker allows; 0: no limit
	Server      string // the server that allows least; empty: unknown
	ServerBytes int64  // bytes that it allows
}

// Limit returns what is known of the limits.
func (l *Ledger) Limit() Limit {
	name, bytes := l.limits.smallest()
	return Limit{l.opts.Budget, name, bytes}
}
