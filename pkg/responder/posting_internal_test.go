package responder

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	lru "github.com/hashicorp/golang-lru/v2"
)

// nowhere finds no post.
type nowhere struct{}

func (nowhere) Present(context.Context, Post) ([]ask.Place, error) { return nil, nil }
func (nowhere) Update(context.Context, Ended) error                { return nil }
func (nowhere) Find(context.Context, Post) ([]ask.Place, error)    { return nil, nil }

// Whether the replica that was about to post has died is decided by the ledger's
// clock, which dated its receipt: this machine's may be an hour off.
func TestTheAgeOfAReceiptIsMeasuredByOneClock(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{"the same time": 0, "an hour ahead": time.Hour, "an hour behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, err := NewServer(&Responder{typ: "slack"}, nowhere{}, ServeOptions{})
				if err != nil {
					t.Fatal(err)
				}
				s.stopping = t.Context()
				began := time.Now().Add(off) // by the ledger's clock
				it := Item{Key: ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}, Outcome: &ask.Outcome{}, Receipt: &ask.Receipt{State: ask.ReceiptPosting, At: began}}
				it.At = began.Add(posting / 2)
				if _, later := errors.AsType[*LaterError](s.retract(t.Context(), it)); !later {
					t.Error("a replica that began to post a minute ago counts as dead")
				}
				it.At = began.Add(posting + time.Second)
				if err := s.retract(t.Context(), it); err != nil {
					t.Errorf("a replica that began to post long ago is awaited: %v", err)
				}
			})
		})
	}
}

func newKeys(t *testing.T) *lru.Cache[string, ask.Key] {
	t.Helper()
	keys, err := lru.New[string, ask.Key](1)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// Each vote is work for its ask again: while the work for the ask posts it, that for a vote posts nothing.
func TestTheWorkForAVoteDoesNotPostASecondTime(t *testing.T) {
	t.Parallel()
	keys := newKeys(t)
	now := time.Now()
	it := Item{Key: ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}, Votes: []ask.Vote{{}}, At: now}
	for name, c := range map[string]struct {
		receipt *ask.Receipt
		busy    bool
	}{
		"in this process":    {nil, true},
		"in another process": {&ask.Receipt{State: ask.ReceiptPosting, At: now.Add(-time.Minute)}, false},
	} {
		s, err := NewServer(&Responder{typ: "slack", keys: keys}, nowhere{}, ServeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		one := it
		if one.Receipt = c.receipt; c.busy {
			s.beginPost(s.post(one).Key)
		}
		if _, later := errors.AsType[*LaterError](s.present(t.Context(), one)); !later {
			t.Errorf("%s: it is posted again", name)
		}
	}
}

// delayed posts a minute after an ask.
type delayed struct{ nowhere }

func (delayed) Delay(p Post) time.Duration { return time.Until(p.AskedAt.Add(time.Minute)) }

// An ask that is not due yet is put off without a receipt, also when a vote makes it work again.
func TestADelayedPostIsPutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := NewServer(&Responder{typ: "email", keys: newKeys(t)}, delayed{}, ServeOptions{}) // no bus: a receipt would panic
		if err != nil {
			t.Fatal(err)
		}
		it := Item{Key: ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}, AskedAt: time.Now(), At: time.Now()}
		time.Sleep(20 * time.Second)
		later, ok := errors.AsType[*LaterError](s.present(t.Context(), it))
		if !ok || later.After != 40*time.Second || later.Err != nil {
			t.Errorf("it is put off: %v", later)
		}
	})
}

// An ask that tries out a place is posted there only; a server that is yet to post there is awaited for a while.
func TestAnAskThatTriesOutAPlace(t *testing.T) {
	t.Parallel()
	place := "103"
	s, err := NewServer(&Responder{typ: "telegram"}, nowhere{}, ServeOptions{Default: func() string { return place }})
	if err != nil {
		t.Fatal(err)
	}
	approval := &ask.Approval{AnyOf: []ask.Alternative{{Need: 2}}}
	for name, c := range map[string]struct {
		of         any
		approval   *ask.Approval
		age        time.Duration
		skip, wait bool
	}{
		"its place": {of: ask.TryOut("telegram", place)}, "no such ask": {}, "nonsense": {of: "telegram"}, "a number": {of: 7},
		"another surface": {of: ask.TryOut("slack", place), skip: true},
		"another place":   {of: ask.TryOut("telegram", "104"), wait: true},
		"for too long":    {of: ask.TryOut("telegram", "104"), age: tryOutFor + time.Second, skip: true},
		"votes":           {of: ask.TryOut("slack", place), approval: approval},
	} {
		it := Item{Ask: ask.Ask{Approval: c.approval}, AskedAt: time.Now().Add(-c.age)}
		if c.of != nil {
			it.Ask.Metadata = map[string]any{ask.MetadataTryOut: c.of}
		}
		skip, err := s.elsewhere(&it)
		if _, later := errors.AsType[*LaterError](err); skip != c.skip || later != c.wait {
			t.Errorf("%s: skipped %t, %v", name, skip, err)
		}
	}
}

// An item is put off if it fails while the service works for others, but not if its last call failed just before
// the service was back: after an outage it is repeated within the pause, as the others are.
func TestOnlyAnItemThatFailsWhileOthersSucceedIsPutOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ othersSucceed, putOff int }{
		"others succeed before its last call": {3, 4}, "others succeed during its last call": {4, 0}, "nobody succeeds": {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, err := NewServer(&Responder{opts: Options{Logger: slog.New(slog.DiscardHandler)}}, nowhere{}, ServeOptions{})
				if err != nil {
					t.Fatal(err)
				}
				s.stopping = t.Context()
				n := 0
				err = s.try(t.Context(), []string{""}, Rank{}, func(context.Context) error {
					if n++; n > 4 {
						return nil
					}
					if time.Sleep(time.Second); n == c.othersSucceed {
						s.went(nil)
					}
					return errors.New("connection refused")
				})
				if _, later := errors.AsType[*LaterError](err); later != (c.putOff > 0) || later && n != c.putOff {
					t.Errorf("after %d calls: %v", n, err)
				}
			})
		})
	}
}
