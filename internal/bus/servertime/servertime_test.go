package servertime

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// What each server says about its own clock, in the order in which the replies
// come, and the verdict.
func TestTheMajorityDecidesWhoseClockIsRight(t *testing.T) {
	t.Parallel()
	type said struct {
		server string
		ahead  time.Duration
	}
	for name, c := range map[string]struct {
		own   time.Duration // this machine's clock
		size  int
		said  []said
		wrong string
		split bool
		ahead time.Duration // the agreed time
	}{
		"a single server is right, whatever this machine says": {own: time.Hour, said: []said{{"n1", 0}}},
		"its clock may be set":                                 {said: []said{{"n1", 0}, {"n1", time.Hour}}, ahead: time.Hour},
		"two that agree are right":                             {own: time.Hour, said: []said{{"n1", 0}, {"n2", 900 * time.Millisecond}}},
		"most are right":                                       {own: time.Hour, said: []said{{"n3", time.Hour}, {"n1", 0}, {"n2", 0}}, wrong: "n3"},
		"two seconds are wrong":                                {said: []said{{"n1", 0}, {"n2", 0}, {"n3", 2 * time.Second}}, wrong: "n3"},
		"a clock that is behind is wrong":                      {said: []said{{"n1", 0}, {"n2", -time.Hour}, {"n3", 0}}, wrong: "n2"},
		"of two, nobody knows":                                 {said: []said{{"n1", 0}, {"n2", time.Hour}}, split: true},
		"of two of three as well":                              {size: 3, said: []said{{"n1", 0}, {"n2", time.Hour}}, split: true},
		"three that all differ":                                {said: []said{{"n1", 0}, {"n2", time.Hour}, {"n3", -time.Hour}}, split: true},
		"two of five that agree are no majority":               {size: 5, said: []said{{"n1", 0}, {"n2", 0}, {"n3", time.Hour}}, split: true},
		"a clock that was corrected is right again":            {said: []said{{"n1", 0}, {"n2", 0}, {"n3", time.Hour}, {"n3", 0}}},
		"a time of nobody does not count":                      {said: []said{{"n1", 0}, {"n2", 0}, {"", time.Hour}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			now := start.Add(c.own)
			s := NewServers(func() time.Time { return now }, c.size)
			for _, said := range c.said {
				s.Note(said.server, Reading{At: now, Time: start.Add(said.ahead), Half: time.Millisecond})
			}
			if (s.Split() != nil) != c.split || c.split && s.Err() == nil {
				t.Errorf("split: %v", s.Err())
			}
			for _, said := range c.said {
				if wrong := s.Wrong(said.server) != 0; wrong != (said.server == c.wrong && c.wrong != "") || wrong && s.Right(said.server) {
					t.Errorf("%q is wrong by %s", said.server, s.Wrong(said.server))
				}
			}
			if c.wrong != "" && !strings.Contains(s.Err().Error(), "server "+c.wrong+" is ") {
				t.Errorf("%v", s.Err())
			}
			if !c.split {
				for _, server := range []string{c.wrong, "n1", "unknown"} {
					if at, _ := s.Of(server).When(now); at.Sub(start.Add(c.ahead)).Abs() > MaxSkew {
						t.Errorf("by %q it is %s", server, at.Sub(start))
					}
				}
			}
			if slices.Contains(s.Names(), "") {
				t.Errorf("servers are %v", s.Names())
			}
		})
	}
}

// A slow reply says little about a clock: it neither makes a right clock wrong
// nor a wrong one right.
func TestASlowReplyIsNotAWrongClock(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := NewServers(func() time.Time { return now }, 3)
	for _, name := range []string{"n1", "n2", "n3"} {
		s.Note(name, Between(now, now.Add(time.Millisecond), now))
	}
	s.Note("n3", Between(now, now.Add(900*time.Millisecond), now.Add(1400*time.Millisecond))) // at most 1.4 s ahead, and at least 0.5 s
	s.Note("n2", Between(now, now.Add(4*time.Second), now.Add(4*time.Second)))
	if err := s.Err(); err != nil {
		t.Errorf("slow replies: %v", err)
	}
	s.Note("n3", Between(now, now.Add(time.Millisecond), now.Add(2*time.Second)))
	s.Note("n3", Between(now, now.Add(4*time.Second), now.Add(2*time.Second)))
	if s.Wrong("n3") == 0 {
		t.Error("a slow reply made a wrong clock right")
	}
}

// Without a majority, a clock that was found wrong stays wrong: when one of the
// two right servers fails, the wrong one must not lead.
func TestAWrongClockStaysWrongWhileMostAreSilent(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := NewServers(func() time.Time { return now }, 3)
	say := func(server string, ahead time.Duration) {
		s.Note(server, Between(now, now.Add(time.Millisecond), now.Add(ahead)))
	}
	say("n1", 0)
	say("n2", 0)
	say("n3", time.Hour)
	for range 12 { // n1 has failed
		now = now.Add(time.Minute)
		say("n2", 0)
		say("n3", time.Hour)
	}
	if got := slices.Collect(maps.Keys(s.Skews())); slices.Contains(got, "n1") || s.Wrong("n3") == 0 || s.Wrong("n2") != 0 {
		t.Errorf("of %v, n3 is wrong by %s, n2 by %s", got, s.Wrong("n3"), s.Wrong("n2"))
	}
	if _, unsure := s.Of("n2").When(now); unsure > time.Second {
		t.Errorf("the time by n2 is uncertain by %s", unsure)
	}
}

// A clock that was set is noticed also when it is the clock of this machine, as
// for a single server and its broker.
func TestAClockThatWasSetIsNoticed(t *testing.T) {
	t.Parallel()
	start := time.Now()
	own := start
	s := NewServers(func() time.Time { return own }, 0)
	s.Note("askbus", Reading{At: start, Time: start, Half: time.Millisecond})
	// Ten seconds later; the wall clock says an hour more.
	own = start.Add(10 * time.Second)
	if by := s.Note("askbus", Reading{At: own, Time: own.Add(time.Hour), Half: time.Millisecond}); by.Round(time.Second) != time.Hour {
		t.Errorf("set by %s", by)
	}
	if by := s.Note("askbus", Reading{At: own, Time: own.Add(time.Hour), Half: time.Millisecond}); by != 0 {
		t.Errorf("set again by %s", by)
	}
	if at, unsure := s.Of("").When(own); unsure > time.Second || at.Sub(own) < 59*time.Minute {
		t.Errorf("it is %s, uncertain by %s", at.Sub(own), unsure)
	}
}
