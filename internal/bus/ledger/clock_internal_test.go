package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/askbus/askbus/internal/bus/servertime"
	"github.com/askbus/askbus/internal/protocol/subject"
)

// info is a reply to STREAM.INFO that names a leader and has a time.
func info(leader string, at time.Time) []byte {
	return fmt.Appendf(nil, `{"ts":%q,"cluster":{"name":"askbus","leader":%q,"replicas":[{"name":"n2","current":true},{"name":"n3","current":true}]}}`, at.Format(time.RFC3339Nano), leader)
}

// While a leader moves, the former one answers STREAM.INFO with its own time and
// names the new leader, or nobody. That time is credited to neither: these are
// the two replies of an experiment in which n3 was 2 s ahead.
func TestATimeIsCreditedOnlyToWhoSaidIt(t *testing.T) {
	t.Parallel()
	const off = 1999 * time.Millisecond
	for _, leader := range []string{"n1", ""} {
		t.Run("leader "+leader, func(t *testing.T) {
			t.Parallel()
			now := time.Now()
			k := newClock(func() time.Time { return now }, 2)
			k.servers = servertime.NewServers(k.now, 0)
			for name, ahead := range map[string]time.Duration{"n1": 0, "n2": 0, "n3": off} {
				k.servers.Note(name, servertime.Between(now, now.Add(time.Millisecond), now.Add(ahead)))
			}
			for i := range 2 {
				if _, err := k.noteInfo(i, now, now.Add(time.Millisecond), info(leader, now.Add(off))); err != nil {
					t.Fatal(err)
				}
			}
			if names := k.servers.Names(); len(names) != 3 || k.servers.Wrong("n1") != 0 || k.servers.Wrong("n3") == 0 {
				t.Errorf("of %v: %v", names, k.servers.Err())
			}
			if wrong, _, _ := k.leads(0); wrong != "" {
				t.Errorf("%s has a wrong clock", wrong)
			}
			if at, err := k.moment(0); err != nil || at.Sub(now).Abs() > 100*time.Millisecond {
				t.Errorf("it is %s, %v", at.Sub(now), err)
			}
		})
	}
}

// A server with a wrong clock that leads is known by name, and so are those that
// could lead instead.
func TestALeaderWithAWrongClockIsReplacedByOneThatIsRight(t *testing.T) {
	t.Parallel()
	now := time.Now()
	k := newClock(func() time.Time { return now }, 1)
	k.servers = servertime.NewServers(k.now, 0)
	for name, ahead := range map[string]time.Duration{"n1": -time.Hour, "n3": 0, "n4": 0} {
		k.servers.Note(name, servertime.Between(now, now.Add(time.Millisecond), now.Add(ahead)))
	}
	if _, err := k.noteInfo(0, now, now, info("n1", now.Add(-time.Hour))); err != nil {
		t.Fatal(err)
	}
	if leader, ahead, peers := k.leads(0); leader != "n1" || ahead > -59*time.Minute || !slices.Equal(peers, []string{"n3"}) { // n2 is unknown
		t.Errorf("%s leads, %s; instead %v", leader, ahead, peers)
	}
	if at, err := k.moment(0); err != nil || at.Sub(now).Abs() > 100*time.Millisecond {
		t.Errorf("it is %s, %v", at.Sub(now), err)
	}
}

// Without the right to ask the servers, nobody's name is credited with a time. A
// single odd one is not used, and clocks that differ are reported.
func TestWithoutTheServersATimeHasNoName(t *testing.T) {
	t.Parallel()
	now := time.Now()
	k := newClock(func() time.Time { return now }, 2)
	said := func(i int, leader string, ahead time.Duration) (jumped time.Duration) {
		jumped, err := k.noteInfo(i, now, now.Add(time.Millisecond), info(leader, now.Add(ahead)))
		if err != nil {
			t.Fatal(err)
		}
		return jumped
	}
	name := func(i int) string { return subject.Stream(i) }
	for i := range 2 {
		said(i, "n1", 0)
	}
	said(0, "n2", 2*time.Second) // a former leader's
	if at, err := k.moment(0); err != nil || at.Sub(now).Abs() > 100*time.Millisecond || k.split(name) != nil {
		t.Errorf("it is %s, %v, %v", at.Sub(now), err, k.split(name))
	}
	if by := said(0, "n2", 2*time.Second); by.Round(time.Second) != 2*time.Second {
		t.Errorf("set by %s", by)
	}
	if err := k.split(name); err == nil || !strings.Contains(err.Error(), "ASKS_00") || !strings.Contains(err.Error(), "NTP") {
		t.Errorf("%v", err)
	}
	if leader, _, _ := k.leads(0); leader != "" {
		t.Errorf("%s would be asked to step down", leader)
	}
}

// A moment is never in the future of any of the clocks, and an old measurement,
// or one from before the machine slept, does not count.
func TestAMomentIsTheEarliest(t *testing.T) {
	t.Parallel()
	start := time.Now()
	now := start
	k := newClock(func() time.Time { return now }, 1)
	k.servers = servertime.NewServers(k.now, 0)
	if _, err := k.moment(0); err == nil {
		t.Error("no error before the first probe")
	}
	k.servers.Note("n1", servertime.Reading{At: start, Time: start, Half: 10 * time.Millisecond})
	now = start.Add(10 * time.Second)
	if at, err := k.moment(0); err != nil || at != now.Add(-12*time.Millisecond) {
		t.Errorf("after 10 s: %s, %v", at.Sub(now), err)
	}
	k.servers.Note("n1", servertime.Reading{At: now, Time: now.Add(50 * time.Millisecond), Half: 100 * time.Millisecond})
	if at, _ := k.moment(0); at != now.Add(-12*time.Millisecond) {
		t.Errorf("a slower probe was used: %s", at.Sub(now))
	}
	now = start.Add(3 * time.Hour)
	if _, err := k.moment(0); err == nil || !strings.Contains(err.Error(), "uncertain") {
		t.Errorf("after 3 h: %v", err)
	}
	slept := servertime.Reading{At: start, Time: start}
	if _, unsure := slept.When(start.Round(0).Add(time.Minute)); unsure > time.Second {
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

// A server further ahead than the margin has removed outcomes that are still needed.
func TestAServerBeyondTheMarginIsToBeEmptied(t *testing.T) {
	t.Parallel()
	wrong := errors.New("the clock of server n1 is wrong")
	if err := removedEarly(wrong, map[string]time.Duration{"n1": time.Hour, "n2": -30 * time.Hour}, 24*time.Hour); !errors.Is(err, wrong) || err.Error() != wrong.Error() {
		t.Errorf("within the margin: %v", err)
	}
	err := removedEarly(wrong, map[string]time.Duration{"n1": 25 * time.Hour}, 24*time.Hour)
	if !errors.Is(err, wrong) || !strings.Contains(err.Error(), "server n1 is further ahead") || !strings.Contains(err.Error(), "empty its store") {
		t.Errorf("beyond it: %v", err)
	}
}
