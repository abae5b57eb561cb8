package ratelimit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/process/ratelimit"
)

func TestASubscribersAddressesAreOneCaller(t *testing.T) {
	t.Parallel()
	for remote, want := range map[string]string{
		"192.0.2.7": "192.0.2.7", "192.0.2.7:443": "192.0.2.7", "[::ffff:192.0.2.7]:1": "192.0.2.7", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "[2001:db8:1:2::9]:7": "2001:db8:1:2::/64",
		"2001:db8:1:3::9": "2001:db8:1:3::/64", "fe80::1%eth0": "fe80::/64", "[::1]:9": "::/64", "": "", "pipe": "pipe",
	} {
		if got := ratelimit.Network(remote); got != want {
			t.Errorf("%q is of %q, want %q", remote, got, want)
		}
	}
}

func TestEachKeyHasItsMinute(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	for name, l := range map[string]*ratelimit.PerMinute{"open": ratelimit.NewOpen(2), "closed": ratelimit.New(2)} {
		for i, want := range []bool{true, true, false, false} {
			if got := l.Take("mei", now.Add(time.Duration(i)*time.Second)); got != want {
				t.Errorf("%s: use %d: %v, want %v", name, i, got, want)
			}
		}
		if !l.Take("ben", now) {
			t.Errorf("%s: a key is refused because of another", name)
		}
		if !l.Take("mei", now.Add(time.Minute)) {
			t.Errorf("%s: it is refused in the next minute", name)
		}
	}
}

// Strangers with many networks keep nobody out.
func TestManyStrangersLeaveRoom(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	open, closed := ratelimit.NewOpen(1), ratelimit.New(1)
	for i := range 100_000 {
		if !open.Take(fmt.Sprint(i), now) {
			t.Fatalf("key %d is refused because of others", i)
		}
		closed.Take(fmt.Sprint(i), now)
	}
	if !open.Take("mei", now) || open.Full("ben", now) {
		t.Error("somebody is kept out")
	}
	if open.Take("7", now) || !open.Full("7", now) {
		t.Error("one that is remembered has no limit")
	}
	if closed.Take("mei", now) {
		t.Error("a closed counter allows a key that it cannot remember")
	}
	if !open.Take("7", now.Add(time.Minute)) || !closed.Take("mei", now.Add(time.Minute)) {
		t.Error("a counter that was full refuses in the next minute")
	}
}

// A clock that is set back, such as a server's, ends the minute and does not make it last
// until the clock is there again.
func TestAClockThatIsSetBackBeginsAMinute(t *testing.T) {
	t.Parallel()
	l, now := ratelimit.New(1), time.Unix(0, 0)
	if !l.Take("mei", now) || l.Take("mei", now.Add(time.Second)) {
		t.Fatal("one is allowed")
	}
	if !l.Take("mei", now.Add(-time.Hour+2*time.Second)) {
		t.Error("it is refused for an hour")
	}
}
