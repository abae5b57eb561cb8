package state

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// fakeFeed is a bucket whose broker can be unreachable.
type fakeFeed struct {
	live    chan Entry
	again   chan error
	away    atomic.Bool
	reads   atomic.Int64
	takes   atomic.Int64 // how long a read takes, in nanoseconds
	entries atomic.Pointer[[]Entry]
}

func newFake(entries ...Entry) *fakeFeed {
	f := &fakeFeed{live: make(chan Entry), again: make(chan error)}
	f.entries.Store(&entries)
	return f
}

func (f *fakeFeed) changes(ctx context.Context, after uint64) ([]Entry, uint64, error) {
	f.reads.Add(1)
	select {
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	case <-time.After(time.Duration(f.takes.Load())):
	}
	if f.away.Load() {
		return nil, 0, ask.ErrUnavailable
	}
	var found []Entry
	last := after
	for _, e := range *f.entries.Load() {
		if e.Revision > after && (after > 0 || !e.Deleted) {
			found, last = append(found, e), max(last, e.Revision)
		}
	}
	return found, last, nil
}

func (f *fakeFeed) subscribe() (<-chan Entry, <-chan error, func(), error) {
	return f.live, f.again, func() {}, nil
}

func running(t *testing.T, f *fakeFeed) (c *Cache, stop func()) {
	t.Helper()
	c = newCache(f, "things", CacheOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	synctest.Wait()
	return c, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// Watch is OnEnd with a channel.
func (c *Cache) Watch(k Key) (ended <-chan Ending, stop func()) {
	ch := make(chan Ending, 1)
	return ch, c.OnEnd(k, func(why Ending) { ch <- why })
}

func TestAReplicaWithoutContactFailsClosedAfterAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := Key{Name: "k"}
		f := newFake(Entry{Key: k, Revision: 1, Value: []byte("{}")})
		c, stop := running(t, f)
		defer stop()
		ended, unwatch := c.Watch(k)
		defer unwatch()
		time.Sleep(time.Hour) // it retries repeatedly
		if _, err := c.Get(k); err != nil {
			t.Fatal(err)
		}
		f.away.Store(true)
		time.Sleep(49 * time.Second) // the last read began at most 10 s ago
		if _, err := c.Get(k); err != nil {
			t.Errorf("after 49 s: %v", err)
		}
		select {
		case <-ended:
			t.Error("the watch ended early")
		default:
		}
		time.Sleep(11 * time.Second)
		if _, err := c.Get(k); !errors.Is(err, ask.ErrUnavailable) {
			t.Errorf("after 60 s: %v", err)
		}
		select {
		case <-ended:
		default:
			t.Error("the watch goes on")
		}
		f.away.Store(false)
		time.Sleep(2 * time.Second)
		if _, err := c.Get(k); err != nil {
			t.Errorf("when the broker is back: %v", err)
		}
	})
}

// A broker that needs long for each read, because many write, is given the time.
func TestASlowBrokerIsStillRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := Key{Name: "k"}
		f := newFake(Entry{Key: k, Revision: 1, Value: []byte("{}")})
		c, stop := running(t, f)
		defer stop()
		f.takes.Store(int64(12 * time.Second))
		for range 60 {
			time.Sleep(time.Minute)
			if _, err := c.Get(k); err != nil {
				t.Fatal(err)
			}
		}
		if n := f.reads.Load(); n > 180 {
			t.Errorf("%d reads in an hour", n)
		}
	})
}

// Only a deletion says that an entry is gone: a replica that lost the broker,
// or whose process stops, does not know.
func TestAnEndingSaysWhetherTheEntryIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gone, stays := Key{Name: "gone"}, Key{Name: "stays"}
		f := newFake(Entry{Key: gone, Revision: 1, Value: []byte("{}")}, Entry{Key: stays, Revision: 2, Value: []byte("{}")})
		c, stop := running(t, f)
		deleted, drop := c.Watch(gone)
		defer drop()
		f.live <- Entry{Key: gone, Revision: 3, Deleted: true}
		if why := <-deleted; why != Gone {
			t.Errorf("deleted: %v", why)
		}
		outdated, drop := c.Watch(stays)
		defer drop()
		f.away.Store(true)
		if why := <-outdated; why != Unknown {
			t.Errorf("without contact: %v", why)
		}
		f.away.Store(false)
		time.Sleep(2 * time.Second)
		stopped, drop := c.Watch(stays)
		defer drop()
		stop()
		if why := <-stopped; why != Unknown {
			t.Errorf("stopped: %v", why)
		}
		late, drop := c.Watch(stays)
		defer drop()
		if why := <-late; why != Unknown {
			t.Errorf("after it stopped: %v", why)
		}
		if _, err := c.Lookup(t.Context(), Key{Name: "another"}); !errors.Is(err, ask.ErrUnavailable) {
			t.Errorf("a lookup after it stopped: %v", err)
		}
	})
}

func TestManyLookupsOfWhatIsNotThereShareReadings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c, stop := running(t, f)
		defer stop()
		before, began := f.reads.Load(), time.Now()
		for range 10 {
			for range 100 {
				go func() {
					if _, err := c.Lookup(t.Context(), Key{Name: "bogus"}); !errors.Is(err, ask.ErrNotFound) {
						t.Error(err)
					}
				}()
			}
			time.Sleep(100 * time.Millisecond)
		}
		synctest.Wait()
		if n := f.reads.Load() - before; n > int64(time.Since(began)/refreshEvery)+2 {
			t.Errorf("%d readings for 1,000 lookups in %s", n, time.Since(began))
		}
	})
}

func TestWhatIsOlderDoesNotComeBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := Key{Name: "k"}
		f := newFake(Entry{Key: k, Revision: 1, Value: []byte("{}")})
		c, stop := running(t, f)
		defer stop()
		f.entries.Store(new([]Entry{{Key: k, Revision: 7, Deleted: true}}))
		f.live <- Entry{Key: k, Revision: 7, Deleted: true}
		f.live <- Entry{Key: k, Revision: 5, Value: []byte("{}")} // late
		synctest.Wait()
		if _, err := c.Get(k); !errors.Is(err, ask.ErrNotFound) {
			t.Errorf("deleted, and yet: %v", err)
		}
		time.Sleep(time.Hour)
		c.mu.Lock()
		n := len(c.held)
		c.mu.Unlock()
		if n != 0 {
			t.Errorf("%d entries are held of what is gone", n)
		}
	})
}

// A full read finds what no message reported, even that a bucket was recreated.
func TestAWholeReadingMendsEverything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gone, old := Key{Name: "gone"}, Key{Name: "old"}
		f := newFake(Entry{Key: gone, Revision: 90, Value: []byte("{}")}, Entry{Key: old, Revision: 91, Value: []byte("{}")})
		c, stop := running(t, f)
		defer stop()
		ended, unwatch := c.Watch(gone)
		defer unwatch()
		f.entries.Store(new([]Entry{{Key: old, Revision: 2, Value: []byte(`{"x":1}`)}}))
		f.again <- nil // a reconnect
		synctest.Wait()
		select {
		case <-ended:
		default:
			t.Error("what is gone is still held")
		}
		if e, err := c.Get(old); err != nil || e.Revision != 2 {
			t.Errorf("%+v, %v", e, err)
		}
	})
}

func TestAWatchEndsWithItsEntryAndLivesOnWhenThatIsRenewed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := Key{Name: "k"}
		e := Entry{Key: k, Revision: 1, Value: []byte("{}"), Expires: time.Now().Add(time.Minute)}
		f := newFake(e)
		c, stop := running(t, f)
		defer stop()
		ended, unwatch := c.Watch(k)
		defer unwatch()
		time.Sleep(50 * time.Second)
		e.Revision, e.Expires = 2, e.Expires.Add(time.Minute)
		f.live <- e
		f.entries.Store(new([]Entry{e}))
		time.Sleep(60 * time.Second)
		select {
		case <-ended:
			t.Error("it ended although it was renewed")
		default:
		}
		time.Sleep(11 * time.Second)
		select {
		case <-ended:
		default:
			t.Error("it did not end")
		}
	})
}
