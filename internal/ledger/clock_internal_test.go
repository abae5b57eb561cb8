package ledger

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Servers that lead, in the order in which they are seen, and the verdict on
// their clocks.
func TestTheMajorityDecidesWhoseClockIsRight(t *testing.T) {
	t.Parallel()
	type seen struct {
		leader string
		ahead  time.Duration
	}
	for name, c := range map[string]struct {
		own   time.Duration // this machine's clock
		seen  []seen
		wrong string
		tied  bool
		ahead time.Duration // the result of moment
	}{
		"a single server is right, whatever this machine says":   {own: time.Hour, seen: []seen{{"", 0}}},
		"its clock may be set":                                   {seen: []seen{{"", 0}, {"", time.Hour}}, ahead: time.Hour},
		"two that agree are right":                               {own: time.Hour, seen: []seen{{"n1", 0}, {"n2", 900 * time.Millisecond}}},
		"most are right":                                         {own: time.Hour, seen: []seen{{"n3", time.Hour}, {"n1", 0}, {"n2", 0}}, wrong: "n3"},
		"of two, the one that continues the agreed time":         {own: time.Hour, seen: []seen{{"n1", 0}, {"n3", 0}, {"n2", time.Hour}}, wrong: "n2"},
		"at a start, the one that agrees with this machine":      {seen: []seen{{"n3", time.Hour}, {"n1", 0}}, wrong: "n3"},
		"a wrong machine and a wrong server: no majority":        {own: -time.Hour, seen: []seen{{"n3", time.Hour}, {"n1", 0}}, tied: true},
		"with a third server there is a majority again":          {own: -time.Hour, seen: []seen{{"n3", time.Hour}, {"n1", 0}, {"n2", 0}}, wrong: "n3"},
		"a clock that is behind is wrong":                        {seen: []seen{{"n1", 0}, {"n2", -time.Hour}}, wrong: "n2"},
		"two that were set by NTP while one led are right again": {seen: []seen{{"n1", 0}, {"n1", 5 * time.Second}, {"n2", 5 * time.Second}}, ahead: 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			now := start.Add(c.own)
			k := newClock(func() time.Time { return now }, len(c.seen))
			for i, s := range c.seen {
				k.note(i, reading{at: now, server: start.Add(s.ahead), half: time.Millisecond, leader: s.leader, peers: []string{"n1", "n2", "n3"}})
			}
			if (k.tied != nil) != c.tied || len(k.wrong) > 1 || c.wrong != "" && k.wrong[c.wrong] == 0 || c.wrong == "" && len(k.wrong) > 0 {
				t.Errorf("wrong are %v; %v", k.wrong, k.tied)
			}
			for i, s := range c.seen {
				leader, _, peers := k.leads(i)
				if leader != "" && (s.leader != c.wrong || peers[0] == c.wrong) || leader == "" && s.leader == c.wrong && c.wrong != "" {
					t.Errorf("%q leads %d, and may be followed by %v", leader, i, peers)
				}
				if at, err := k.moment(i); c.own != 0 && !c.tied && (err != nil || at.Sub(start.Add(c.ahead)).Abs() > MaxSkew) {
					t.Errorf("of %d it is %s, %v", i, at.Sub(start), err)
				}
			}
		})
	}
}

func TestClocksWithoutAMajorityAreAnError(t *testing.T) {
	t.Parallel()
	start := time.Now()
	k := newClock(func() time.Time { return start.Add(time.Hour) }, 2)
	k.servers["n1"] = reading{at: start.Add(time.Hour), server: start, leader: "n1"}
	k.note(1, reading{at: start.Add(time.Hour), server: start.Add(10 * time.Minute), leader: "n2"})
	if _, err := k.moment(1); err == nil || !strings.Contains(err.Error(), "n1 says") || !strings.Contains(err.Error(), "NTP") {
		t.Errorf("%v", err)
	}
}

// A moment is never in the future of any of the clocks, and an old measurement,
// or one from before the machine slept, does not count.
func TestAMomentIsTheEarliest(t *testing.T) {
	t.Parallel()
	start := time.Now()
	now := start
	k := newClock(func() time.Time { return now }, 1)
	if _, err := k.moment(0); err == nil {
		t.Error("no error before the first probe")
	}
	k.note(0, reading{at: start, server: start, half: 10 * time.Millisecond})
	now = start.Add(10 * time.Second)
	if at, err := k.moment(0); err != nil || at != now.Add(-12*time.Millisecond) {
		t.Errorf("after 10 s: %s, %v", at.Sub(now), err)
	}
	k.note(0, reading{at: now, server: now.Add(50 * time.Millisecond), half: 100 * time.Millisecond})
	if at, _ := k.moment(0); at != now.Add(-12*time.Millisecond) {
		t.Errorf("a slower probe was used: %s", at.Sub(now))
	}
	now = start.Add(3 * time.Hour)
	if _, err := k.moment(0); err == nil || !strings.Contains(err.Error(), "uncertain") {
		t.Errorf("after 3 h: %v", err)
	}
	slept := reading{at: start, server: start}
	if _, unsure := slept.when(start.Round(0).Add(time.Minute)); unsure > time.Second {
		t.Errorf("without a monotonic clock: %s", unsure)
	}
}

// While the server answers too slowly, requests that need its time fail together after one probe,
// instead of one after the other. In a drill on Kubernetes 181 requests of a starved broker waited
// for their own probe each, and nothing else was decided.
func TestRequestsShareAFailedProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := probing{busy: make(chan struct{}, 1)}
		probes := 0
		slow := func() error { probes++; time.Sleep(attempt); return context.DeadlineExceeded }
		began := time.Now()
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				if err := p.once(func() bool { return true }, slow); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v", err)
				}
			})
		}
		all.Wait()
		if took := time.Since(began); probes != 1 || took > attempt {
			t.Errorf("%d probes in %s", probes, took)
		}
		// The next request probes again; a probe that succeeded is not repeated.
		needed := true
		for range 2 {
			if err := p.once(func() bool { return needed }, func() error { probes++; needed = false; return nil }); err != nil {
				t.Error(err)
			}
		}
		if probes != 2 {
			t.Errorf("%d probes", probes)
		}
	})
}
