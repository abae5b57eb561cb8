// Package servertime learns the time of each server of a cluster from that
// server itself, and decides which of the clocks are right.
//
// A time counts only with proof of who said it: the reply to a ping in the
// system account has both the time and the name of its sender (see [Pinger]).
// Replies of JetStream's API have the time of one server and the name of
// another while a leader changes, so they are not used for this.
package servertime

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// MaxSkew is how far apart the clocks of a cluster's servers may be.
	MaxSkew = time.Second

	drift      = 200             // parts per million by which two clocks drift apart
	stepped    = time.Second / 2 // difference between wall and monotonic clock that means the wall clock was set, or the machine slept
	slowest    = MaxSkew / 2     // half of the longest round trip of which the time is used
	remembered = 10 * time.Minute
)

// Reading is one measurement of a clock.
type Reading struct {
	At   time.Time     // by this machine's clock, the middle of the round trip
	Time time.Time     // by the measured clock
	Half time.Duration // half of the round trip
}

// Between makes a reading of a time that was told between two moments of this
// machine's clock.
func Between(began, ended, said time.Time) Reading {
	half := ended.Sub(began) / 2
	return Reading{At: began.Add(half), Time: said, Half: half}
}

// When returns the time by the reading's clock, and its uncertainty. It is an
// hour after this machine's wall clock was set or the machine slept.
func (r Reading) When(now time.Time) (t time.Time, unsure time.Duration) {
	if r.At.IsZero() || r.stale(now) {
		return r.Time, time.Hour
	}
	age := now.Sub(r.At)
	return r.Time.Add(age), r.Half + age.Abs()*drift/1_000_000
}

// stale reports whether this machine's clocks do not agree on the reading's age.
func (r Reading) stale(now time.Time) bool {
	return (now.Round(0).Sub(r.At.Round(0)) - now.Sub(r.At)).Abs() > stepped
}

// Differs returns by how much two clocks certainly differ: positive if r is
// ahead of o.
func (r Reading) Differs(o Reading, now time.Time) time.Duration {
	a, au := r.When(now)
	b, bu := o.When(now)
	if d := a.Sub(b); d.Abs() > au+bu {
		return d
	}
	return 0
}

// jumped returns by how much the clock was set between two readings.
func (r Reading) jumped(old Reading) time.Duration {
	age := r.At.Sub(old.At)
	d := r.Time.Sub(old.Time) - age
	if d.Abs() <= r.Half+old.Half+age.Abs()*drift/1_000_000 {
		return 0
	}
	return d
}

// Follow returns the better of a clock's last two readings, and by how much the
// clock was set between them. Neither depends on this machine's wall clock.
func Follow(old, r Reading, now time.Time) (better Reading, jumped time.Duration) {
	if old.At.IsZero() {
		return r, 0
	}
	if jumped = r.jumped(old); jumped != 0 {
		return r, jumped
	}
	_, was := old.When(now)
	if _, is := r.When(now); was < is {
		return old, 0
	}
	return r, 0
}

// Servers holds the clocks of a cluster's servers. It is safe for concurrent
// use.
type Servers struct {
	now  func() time.Time
	size int

	mu     sync.Mutex
	all    map[string]Reading
	agreed Reading                  // of a server in the last majority
	wrong  map[string]time.Duration // servers outside the last majority, and how far ahead they are
	split  error                    // the clocks differ, and no majority agrees
}

// NewServers makes an empty set. now is this machine's clock, of which only the
// rate matters. A majority is more than half of size servers, or of those that
// replied within ten minutes if they are more.
func NewServers(now func() time.Time, size int) *Servers {
	return &Servers{now: now, size: size, all: map[string]Reading{}, wrong: map[string]time.Duration{}}
}

// Note records what a server said about its own clock. It returns by how much
// that clock was set since the last reading.
func (s *Servers) Note(server string, r Reading) (jumped time.Duration) {
	if server == "" || r.Half > slowest {
		return 0 // nobody's time, or too slow to tell a wrong clock from a slow reply
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	old, seen := s.all[server]
	maps.DeleteFunc(s.all, func(_ string, o Reading) bool { return o.stale(now) || now.Sub(o.At) > remembered })
	if seen {
		r, jumped = Follow(old, r, now)
	}
	s.all[server] = r
	s.judge(now)
	return jumped
}

// judge decides which clocks are right: those of the majority that agrees
// within [MaxSkew]. Without a majority, what the last one found wrong stays so.
// The caller holds mu.
func (s *Servers) judge(now time.Time) {
	var best Reading
	most, differ := 0, false
	for _, name := range slices.Sorted(maps.Keys(s.all)) {
		r, n := s.all[name], 0
		for _, o := range s.all {
			if r.Differs(o, now).Abs() <= MaxSkew {
				n++
			}
		}
		differ = differ || n < len(s.all)
		_, unsure := r.When(now)
		if _, least := best.When(now); n > most || n == most && unsure < least {
			best, most = r, n
		}
	}
	s.split = nil
	if most <= max(s.size, len(s.all))/2 {
		if differ {
			s.split = fmt.Errorf("the servers' clocks differ by more than %s, and no majority agrees: %s; set them by NTP", MaxSkew, s.times(now))
		}
		return
	}
	s.agreed = best
	clear(s.wrong)
	for name, r := range s.all {
		if d := r.Differs(best, now); d.Abs() > MaxSkew {
			s.wrong[name] = d
		}
	}
}

// times lists the time of each server's clock. The caller holds mu.
func (s *Servers) times(now time.Time) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s.all)) {
		t, _ := s.all[name].When(now)
		all = append(all, name+" says "+t.UTC().Format(time.RFC3339))
	}
	return strings.Join(all, ", ")
}

// Agreed returns the reading of a clock in the last majority.
func (s *Servers) Agreed() Reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.agreed
}

// Of returns the reading of a server's own clock, or of one in the majority if
// that clock is wrong or unknown.
func (s *Servers) Of(server string) Reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.all[server]; ok && s.wrong[server] == 0 {
		return r
	}
	return s.agreed
}

// Wrong returns how far a server's clock is ahead of the majority's; 0: it is
// right, or nobody knows.
func (s *Servers) Wrong(server string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrong[server]
}

// Right reports whether a majority, of which the server is part, agrees.
func (s *Servers) Right(server string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.all[server]
	return known && s.split == nil && s.wrong[server] == 0 && !s.agreed.At.IsZero()
}

// Names returns the servers whose clocks are known, in order.
func (s *Servers) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.all))
}

// Skews returns how far each known clock is ahead of the majority's, as exactly
// as it is known.
func (s *Servers) Skews() map[string]time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, skews := s.now(), map[string]time.Duration{}
	right, _ := s.agreed.When(now)
	for name, r := range s.all {
		t, _ := r.When(now)
		skews[name] = t.Sub(right)
	}
	return skews
}

// Err names the servers whose clocks are wrong, or says that no majority
// agrees.
func (s *Servers) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.split != nil {
		return s.split
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s.wrong)) {
		all = append(all, fmt.Sprintf("the clock of server %s is %s", name, Off(s.wrong[name])))
	}
	if all == nil {
		return nil
	}
	return fmt.Errorf("%s; set it by NTP", strings.Join(all, ", "))
}

// Split returns why no clock can be called right: they differ, and no majority
// agrees.
func (s *Servers) Split() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.split
}

// Off says how far a clock is off: "1h0m0s ahead of the others'".
func Off(ahead time.Duration) string {
	d := ahead.Abs().Round(10 * time.Millisecond).String()
	if ahead < 0 {
		return d + " behind the others'"
	}
	return d + " ahead of the others'"
}
