package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/pkg/ask"
)

// CacheOptions tunes a [Cache]. The zero value is ready to use.
type CacheOptions struct {
	FailAfter time.Duration         // how long the cache is usable without contact; default 60s
	Poll      time.Duration         // interval of reading changes, in addition to live ones; default 10s
	Now       func() time.Time      // default: time.Now
	Changed   func(old, now *Entry) // called for each change, one at a time; old is nil if there was no entry, now if there is none any more
	Logger    *slog.Logger          // default: discard
}

func (o *CacheOptions) fill() {
	o.FailAfter, o.Poll = cmp.Or(o.FailAfter, time.Minute), cmp.Or(o.Poll, 10*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Changed == nil {
		o.Changed = func(_, _ *Entry) {}
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
}

// wholeEvery is how often everything is read: at most half of the time for which
// deletions are kept.
const wholeEvery = 10 * time.Minute

// refreshEvery is how often lookups of missing entries may make a cache read
// the changes: they share the reads.
const refreshEvery = 100 * time.Millisecond

// Cache is a replica of a bucket. It follows republished changes, and reads all
// changes every [CacheOptions.Poll], after a reconnect, and when it was too
// slow. Use it while Run runs.
type Cache struct {
	feed feed
	name string
	opts CacheOptions

	refresh chan chan error // lookups that need the latest changes
	over    chan struct{}   // closed when Run has ended

	mu      sync.Mutex
	held    map[Key]*Entry
	watched map[Key]map[*watcher]struct{}
	contact time.Time // when the last successful read began
}

// Ending is why the watch of an entry ended.
type Ending int

// The endings. Only Gone says something about the entry.
const (
	Gone    Ending = iota + 1 // it was deleted or has expired
	Unknown                   // it may still be there: the replica is outdated, or Run has ended
)

// watcher waits for the end of an entry.
type watcher struct {
	ended func(Ending)
	timer *time.Timer // at the entry's expiry
}

// NewCache makes a replica of a bucket, or of the part that the role may see.
// It starts nothing.
func NewCache(b *Bucket, opts CacheOptions) *Cache {
	return newCache(b, b.name, opts)
}

func newCache(f feed, name string, opts CacheOptions) *Cache {
	opts.fill()
	return &Cache{
		feed: f, name: name, opts: opts, refresh: make(chan chan error), over: make(chan struct{}),
		held: map[Key]*Entry{}, watched: map[Key]map[*watcher]struct{}{},
	}
}

// errStale is the refusal while the replica may be outdated.
func (c *Cache) errStale() error {
	return ask.Refuse(ask.CodeUnavailable, "%s cannot be checked now: the broker did not answer for %s; try again", c.name, c.opts.FailAfter)
}

// fresh reports whether the replica is recent enough. The caller holds mu.
func (c *Cache) fresh() bool {
	return !c.contact.IsZero() && c.opts.Now().Sub(c.contact) < c.opts.FailAfter
}

// Read reports whether the bucket has been read, if only once: until then every
// look-up is refused, so a replica of a service is not ready.
func (c *Cache) Read() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.contact.IsZero()
}

// left returns how long the replica stays recent enough.
func (c *Cache) left() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.contact.IsZero() {
		return 0
	}
	return c.contact.Add(c.opts.FailAfter).Sub(c.opts.Now())
}

// Get returns an entry of this replica. The error is [ask.ErrNotFound], or
// [ask.ErrUnavailable] if the broker has been unreachable for too long.
func (c *Cache) Get(k Key) (Entry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.fresh() {
		return Entry{}, c.errStale()
	}
	e := c.held[k]
	if e == nil || !e.Live(c.opts.Now()) {
		return Entry{}, ask.Refuse(ask.CodeNotFound, "no entry %s in bucket %s", k.Name, c.name)
	}
	return *e, nil
}

// Lookup is Get, but reads the latest changes before it reports an entry as
// missing: another replica may have just written it. Lookups share these reads,
// so many lookups of missing entries cost one.
func (c *Cache) Lookup(ctx context.Context, k Key) (Entry, error) {
	e, err := c.Get(k)
	if err == nil {
		return e, nil
	}
	done := make(chan error, 1)
	select {
	case c.refresh <- done:
	case <-c.over:
		return Entry{}, ask.Refuse(ask.CodeUnavailable, "%s cannot be checked: this process is stopping; try again", c.name)
	case <-ctx.Done():
		return Entry{}, c.errStale()
	}
	select {
	case read := <-done:
		if e, err = c.Get(k); err != nil && read != nil {
			return Entry{}, c.errStale()
		}
		return e, err
	case <-ctx.Done():
		return Entry{}, c.errStale()
	}
}

// All returns every entry, in any order.
func (c *Cache) All() ([]Entry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.fresh() {
		return nil, c.errStale()
	}
	now, all := c.opts.Now(), make([]Entry, 0, len(c.held))
	for _, e := range c.held {
		if e.Live(now) {
			all = append(all, *e)
		}
	}
	return all, nil
}

// OnEnd calls f, once, in its own goroutine, when an entry is deleted or
// expires, or when that can no longer be known; at once if it is already so. A
// change of its value does not call it. After stop returns it is not called,
// unless it is already running. stop must be called.
func (c *Cache) OnEnd(k Key, f func(Ending)) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.held[k]
	switch {
	case !c.fresh() || c.stopped():
		go f(Unknown)
		return func() {}
	case e == nil || !e.Live(c.opts.Now()):
		go f(Gone)
		return func() {}
	}
	w := &watcher{ended: f}
	if c.watched[k] == nil {
		c.watched[k] = map[*watcher]struct{}{}
	}
	c.watched[k][w] = struct{}{}
	c.arm(k, w, e)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.drop(k, w)
	}
}

// Watches returns the number of open watches.
func (c *Cache) Watches() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, all := range c.watched {
		n += len(all)
	}
	return n
}

// arm sets a watcher's timer to the expiry of its entry.
func (c *Cache) arm(k Key, w *watcher, e *Entry) {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	if e.Expires.IsZero() {
		return
	}
	w.timer = time.AfterFunc(max(time.Millisecond, e.Expires.Sub(c.opts.Now())), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if _, waits := c.watched[k][w]; !waits {
			return
		}
		if e := c.held[k]; e == nil || !e.Live(c.opts.Now()) {
			c.end(k, w, Gone)
		} else {
			c.arm(k, w, e) // it was extended, or the clocks differ a little
		}
	})
}

func (c *Cache) end(k Key, w *watcher, why Ending) {
	if _, still := c.watched[k][w]; still {
		c.drop(k, w)
		go w.ended(why)
	}
}

func (c *Cache) drop(k Key, w *watcher) {
	if w.timer != nil {
		w.timer.Stop()
	}
	delete(c.watched[k], w)
	if len(c.watched[k]) == 0 {
		delete(c.watched, k)
	}
}

// Run follows the bucket until ctx ends. A cache runs once.
func (c *Cache) Run(ctx context.Context) error {
	live, again, stop, err := c.feed.subscribe()
	if err != nil {
		return fmt.Errorf("state: follow %s: %w", c.name, err)
	}
	defer stop()
	defer c.lapse()
	defer close(c.over)
	r := &reading{c: c, next: time.NewTimer(0), whole: true}
	defer r.next.Stop()
	old := time.NewTimer(c.opts.FailAfter)
	defer old.Stop()
	for {
		select {
		case <-ctx.Done():
			if r.result != nil {
				<-r.result // it ends with ctx
			}
			r.finish(ctx.Err())
			return nil
		case err, ok := <-again:
			if !ok || err != nil {
				r.finish(err)
				return fmt.Errorf("state: follow %s: %w", c.name, errors.Join(err, ask.ErrUnavailable))
			}
			r.soon(true)
		case e := <-live:
			c.apply(&e)
			r.touched(e.Key)
		case done := <-c.refresh:
			r.wanted(done)
		case <-r.next.C:
			r.begin(ctx)
		case got := <-r.result:
			r.end(ctx, got)
			if errors.Is(got.err, connection.ErrProtocol) {
				r.finish(got.err)
				return fmt.Errorf("state: follow %s: %w", c.name, got.err)
			}
			if got.err == nil {
				old.Reset(c.left())
			}
		case <-old.C:
			if left := c.left(); left > 0 {
				old.Reset(left)
				continue
			}
			c.opts.Logger.WarnContext(ctx, "shared state cannot be reached: requests that need it are refused", slog.String("bucket", c.name))
			c.lapse()
		}
	}
}

// stopped reports whether Run has ended.
func (c *Cache) stopped() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}

// lapse ends every watch: the replica may be outdated.
func (c *Cache) lapse() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, all := range c.watched {
		for w := range all {
			c.end(k, w, Unknown)
		}
	}
}

// apply applies a change, if it is new.
func (c *Cache) apply(e *Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if held := c.held[e.Key]; held == nil || held.Revision < e.Revision {
		c.set(e)
	}
}

func (c *Cache) set(e *Entry) {
	now := c.opts.Now()
	old := c.held[e.Key]
	was := old
	if old != nil && old.Deleted {
		was = nil
	}
	if !e.Live(now) {
		if c.held[e.Key] = e; !e.Deleted {
			delete(c.held, e.Key)
		} else {
			e.Value = nil // kept until the next full read, so that an older change cannot bring it back
		}
		for w := range c.watched[e.Key] {
			c.end(e.Key, w, Gone)
		}
		if was != nil {
			c.opts.Changed(was, nil)
		}
		return
	}
	c.held[e.Key] = e
	for w := range c.watched[e.Key] {
		c.arm(e.Key, w, e)
	}
	c.opts.Changed(was, e)
}

// forget drops entries that a full read does not have, except live changes
// since, and everything if the bucket was recreated.
func (c *Cache) forget(entries []Entry, during map[Key]struct{}) {
	there := make(map[Key]uint64, len(entries))
	for i := range entries {
		there[entries[i].Key] = entries[i].Revision
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, e := range c.held {
		rev, still := there[k]
		if _, live := during[k]; live || still && rev >= e.Revision {
			continue
		}
		delete(c.held, k)
		if e.Deleted {
			continue
		}
		if !still {
			for w := range c.watched[k] {
				c.end(k, w, Gone)
			}
			c.opts.Changed(e, nil)
		}
	}
}
