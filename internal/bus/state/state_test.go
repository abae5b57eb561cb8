package state_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

type thing struct {
	N int `json:"n"`
}

func webBucket(b *natstest.Bus, name string) *state.Bucket {
	return state.Open(b.Responder("web"), state.Responder("web", ""), name)
}

// replica is a running cache; changed receives every change.
type replica struct {
	*state.Cache
	changed chan state.Entry
	stop    func()
}

func follow(t *testing.T, b *state.Bucket, opts state.CacheOptions) *replica {
	t.Helper()
	r := &replica{changed: make(chan state.Entry, 10_000)}
	opts.Logger = natstest.Logger()
	opts.Changed = func(old, now *state.Entry) {
		if now == nil {
			r.changed <- state.Entry{Key: old.Key, Deleted: true}
			return
		}
		r.changed <- *now
	}
	r.Cache = state.NewCache(b, opts)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, ask.ErrUnavailable) {
			t.Errorf("cache: %v", err)
		}
	})
	t.Cleanup(r.stop)
	if _, err := r.Lookup(t.Context(), state.Key{Name: "nosuch"}); !errors.Is(err, ask.ErrNotFound) {
		t.Fatalf("a fresh replica: %v", err)
	}
	return r
}

func (r *replica) wait(t *testing.T, what string, is func(state.Entry) bool) {
	t.Helper()
	for end := time.After(waittest.Limit); ; {
		select {
		case e := <-r.changed:
			if is(e) {
				return
			}
		case <-end:
			t.Fatalf("not seen: %s", what)
		}
	}
}

// live returns the options of a replica that gets only live changes: it does
// not poll during the test.
func live() state.CacheOptions { return state.CacheOptions{Poll: time.Hour, FailAfter: 2 * time.Hour} }

func TestAReplicaSeesAnothersWrite(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	one, two := webBucket(b, state.Sessions), webBucket(b, state.Sessions)
	r := follow(t, two, live())
	k := state.Key{Name: "k1"}
	rev, err := one.Create(t.Context(), k, thing{1}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	r.wait(t, "the write", func(e state.Entry) bool { return e.Revision == rev })
	if e, err := r.Get(k); err != nil || string(e.Value) != `{"n":1}` || e.Revision != rev || e.Expires.IsZero() {
		t.Errorf("%+v, %v", e, err)
	}
	ended, stop := r.Watch(k)
	defer stop()
	if err := one.Delete(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(waittest.Limit):
		t.Fatal("a deletion is not seen")
	}
	if _, err := r.Get(k); !errors.Is(err, ask.ErrNotFound) {
		t.Errorf("after it was deleted: %v", err)
	}
	if err := one.Delete(t.Context(), k); err != nil {
		t.Errorf("deleted twice: %v", err)
	}
	if _, err := one.Create(t.Context(), k, thing{2}, time.Hour); err != nil {
		t.Errorf("created again: %v", err)
	}
}

func TestCompareAndSet(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	b.Broker(broker.Options{})
	one := webBucket(b, state.Sessions)
	k := state.Key{Tenant: "acme", Name: "s1.a1.mei"}
	var won atomic.Int32
	race := func(write func(i int) error) {
		won.Store(0)
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				switch err := write(i); {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, ask.ErrConflict):
					t.Error(err)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 {
			t.Errorf("%d of 20 won", won.Load())
		}
	}
	race(func(i int) error { _, err := one.Create(t.Context(), k, thing{i}, time.Hour); return err })
	e, err := one.Get(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	race(func(i int) error { _, err := one.Update(t.Context(), k, thing{i}, e.Revision, time.Hour); return err })
	if err := one.DeleteRevision(t.Context(), k, e.Revision); !errors.Is(err, ask.ErrConflict) {
		t.Errorf("an old revision deletes: %v", err)
	}
	var all sync.WaitGroup
	for i := range 20 { // without a revision every write succeeds
		all.Go(func() {
			if _, err := one.Put(t.Context(), k, thing{i}, time.Hour); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestAnEntryEnds(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	one := webBucket(b, state.Sessions)
	r := follow(t, webBucket(b, state.Sessions), state.CacheOptions{})
	k := state.Key{Name: "short"}
	rev, err := one.Create(t.Context(), k, thing{1}, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	r.wait(t, "the write", func(e state.Entry) bool { return e.Revision == rev })
	ended, stop := r.Watch(k)
	defer stop()
	select {
	case <-ended:
	case <-time.After(waittest.Limit):
		t.Fatal("it does not end")
	}
	if _, err := one.Get(t.Context(), k); !errors.Is(err, ask.ErrNotFound) {
		t.Errorf("after its TTL: %v", err)
	}
	if all, err := one.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := one.Create(t.Context(), k, thing{2}, time.Hour); err != nil {
		t.Errorf("created again: %v", err)
	}
}

func TestWhatABucketRefuses(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	web := func(name string) *state.Bucket { return webBucket(b, name) }
	k := state.Key{Name: "k"}
	for name, c := range map[string]struct {
		err  error
		says string
		do   func() error
	}{
		"no TTL where one is needed": {ask.ErrInvalid, "/ttl: is 0s; use 1s to 720h", func() error { _, err := web(state.Sessions).Put(t.Context(), k, thing{}, 0); return err }},
		"a TTL that is too long":     {ask.ErrInvalid, "/ttl: is 9000h0m0s; use 1s to 720h", func() error { _, err := web(state.Sessions).Put(t.Context(), k, thing{}, 9000*time.Hour); return err }},
		"a value that is too large": {ask.ErrTooLarge, "has at most 16384", func() error {
			_, err := web(state.Sessions).Put(t.Context(), k, map[string]string{"x": strings.Repeat("x", 16<<10)}, time.Hour)
			return err
		}},
		"a value that is not an object": {ask.ErrInvalid, "/value: is not a JSON object", func() error { _, err := web(state.Sessions).Put(t.Context(), k, "x", time.Hour); return err }},
	} {
		if err := c.do(); !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestABudgetIsKept(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Ledger: ledger.Options{Budget: 8 << 20}}) // shared state may use 1 MiB of it
	web := webBucket(b, state.Passkeys)
	full := map[string]string{"x": strings.Repeat("x", 15<<10)}
	var err error
	n := 0
	for ; n < 100 && err == nil; n++ {
		_, err = web.Create(t.Context(), state.Key{Tenant: "acme", Name: fmt.Sprint("k", n)}, full, 0)
	}
	if !errors.Is(err, ask.ErrUnavailable) || !strings.Contains(err.Error(), "shared state is full") {
		t.Fatalf("after %d: %v", n, err)
	}
	if err := web.Delete(t.Context(), state.Key{Tenant: "acme", Name: "k0"}); err != nil {
		t.Errorf("deleting in a full bucket: %v", err)
	}
	if _, err := web.Create(t.Context(), state.Key{Tenant: "acme", Name: "again"}, thing{1}, 0); err != nil {
		t.Errorf("after something was deleted: %v", err)
	}
}

func TestATenantHasItsOwnLimit(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	hooks := state.Open(b.Responder(subject.TypeWebhook), state.Responder(subject.TypeWebhook, ""), state.Callbacks)
	for i := range 100 {
		if _, err := hooks.Create(t.Context(), state.Key{Tenant: "small", Name: fmt.Sprint("k", i)}, thing{i}, 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := hooks.Create(t.Context(), state.Key{Tenant: "other", Name: "k"}, thing{}, 0); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	if _, err := hooks.Put(t.Context(), state.Key{Tenant: "small", Name: "k1"}, thing{}, 0); err != nil {
		t.Errorf("what replaces an entry: %v", err)
	}
	_, err := hooks.Create(t.Context(), state.Key{Tenant: "small", Name: "k100"}, thing{}, 0)
	if !errors.Is(err, ask.ErrQuota) || !strings.Contains(err.Error(), "of tenant small") {
		t.Errorf("more than a tenant may have: %v", err)
	}
}

// Every role tries every verb in every bucket; what the table does not allow is
// refused by NATS before the broker sees it.
func TestNobodyTouchesAnothersBucket(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	for _, who := range []struct {
		role  rights.Role
		state subject.StateRole
		own   subject.StateKey // a key that it may use
		other subject.StateKey // a key that it may not use
	}{
		{rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s1"}, subject.StateAgent, subject.StateKey{Tenant: "acme", Name: "s1"}, subject.StateKey{}},
		{rights.Role{Name: rights.RoleResponder, Type: "web"}, subject.StateResponder, subject.StateKey{Tenant: "acme", Name: "k"}, subject.StateKey{}},
		{rights.Role{Name: rights.RoleResponder, Type: "slack"}, subject.StateResponder, subject.StateKey{Tenant: "acme", Name: "k"}, subject.StateKey{}},
		{rights.Role{Name: rights.RoleResponder, Type: "web", Tenant: "acme"}, subject.StateResponder, subject.StateKey{Tenant: "acme", Name: "k"}, subject.StateKey{Tenant: "other", Name: "k"}},
		{rights.Role{Name: rights.RoleResponder, Type: "web", Tenant: "acme"}, subject.StateResponder, subject.StateKey{Tenant: "acme", Name: "k"}, subject.StateKey{Name: "k"}},
		{rights.Role{Name: rights.RoleResponder, Type: "web", Tenant: "acme", Session: "s1"}, subject.StateResponder, subject.StateKey{}, subject.StateKey{Tenant: "acme", Name: "k"}},
		{rights.Role{Name: rights.RoleGateway}, subject.StateGateway, subject.StateKey{Name: "k"}, subject.StateKey{}},
		{rights.Role{Name: rights.RoleOperator}, subject.StateOperator, subject.StateKey{Name: "k"}, subject.StateKey{}},
		{rights.Role{Name: rights.RoleIssuer}, subject.StateIssuer, subject.StateKey{Name: "k"}, subject.StateKey{}},
		{rights.Role{Name: rights.RoleBroker}, subject.StateOperator, subject.StateKey{}, subject.StateKey{Name: "k"}},
		{rights.Role{Name: rights.RoleLedger}, subject.StateOperator, subject.StateKey{}, subject.StateKey{Name: "k"}},
	} {
		t.Run(who.role.User(), func(t *testing.T) {
			t.Parallel()
			nc := b.Connect(who.role)
			for _, bucket := range append(subject.Buckets(), subject.Bucket{Name: "nosuch"}) {
				for _, verb := range []subject.Verb{subject.VerbGet, subject.VerbPut, subject.VerbDelete, subject.VerbList, subject.VerbWatch} {
					for _, k := range []subject.StateKey{who.own, who.other} {
						if k == (subject.StateKey{}) {
							continue
						}
						r := subject.StateRequest{Role: who.state, Type: who.role.Type, Tenant: who.role.Tenant, Session: who.role.Session, Bucket: bucket.Name, Verb: verb, Key: k}
						want := k == who.own && bucket.May(r.Role, r.Type, verb)
						if bucket.OwnType && r.Role == subject.StateResponder && verb != subject.VerbList && verb != subject.VerbWatch {
							if want && allowed(t, nc, r) {
								t.Errorf("%s %s %v: in the name of another type", verb, bucket.Name, k)
							}
							r.Key.Name = r.Type + ".k"
						}
						if got := allowed(t, nc, r); got != want {
							t.Errorf("%s %s %v: %t, want %t", verb, bucket.Name, k, got, want)
						}
					}
				}
			}
			// The verbs of other roles, and the entries themselves.
			for _, s := range []string{"ledgerv1.state.tokens.~.k", "statev1.tokens.~.k", "$JS.API.STREAM.INFO.STATE"} {
				if who.role.Name != rights.RoleLedger && publishes(t, nc, s) {
					t.Errorf("may publish to %s", s)
				}
			}
			for _, role := range []subject.StateRole{subject.StateAgent, subject.StateResponder, subject.StateGateway, subject.StateOperator, subject.StateIssuer} {
				r := subject.StateRequest{Role: role, Type: "tui", Tenant: "foreign", Session: "foreign", Bucket: state.Leases, Verb: subject.VerbDelete, Key: subject.StateKey{Tenant: "foreign", Name: "foreign"}}
				if own := role == who.state && role != subject.StateAgent && role != subject.StateResponder && who.own.Name != ""; !own && publishes(t, nc, r.String()) {
					t.Errorf("may publish to %s", r)
				}
			}
		})
	}
	// The broker itself also refuses what NATS should refuse.
	broker := b.Admin()
	for _, bucket := range subject.Buckets() {
		for _, verb := range []subject.Verb{subject.VerbGet, subject.VerbPut, subject.VerbDelete} {
			r := subject.StateRequest{Role: subject.StateResponder, Type: "tui", Bucket: bucket.Name, Verb: verb, Key: subject.StateKey{Name: "k"}}
			if bucket.May(r.Role, r.Type, verb) && !bucket.OwnType { // of another type's: k
				continue
			}
			sub, err := broker.SubscribeSync("_INBOX.r.tui.x")
			if err != nil {
				t.Fatal(err)
			}
			if err := broker.PublishRequest(r.String(), sub.Subject, []byte(`{"value":{}}`)); err != nil {
				t.Fatal(err)
			}
			if m, err := sub.NextMsg(10 * time.Second); err != nil || m.Header.Get("Nats-Service-Error-Code") != "403" {
				t.Errorf("%s: %v, %v", r, m, err)
			}
			_ = sub.Unsubscribe()
		}
	}
}

// allowed tries a request or a subscription against the server.
func allowed(t *testing.T, nc *nats.Conn, r subject.StateRequest) bool {
	t.Helper()
	if r.Verb != subject.VerbWatch {
		return publishes(t, nc, r.String())
	}
	return tries(t, nc, func() error {
		sub, err := nc.SubscribeSync(subject.OutState(r.Bucket, r.Key.Tenant, false))
		if err == nil {
			t.Cleanup(func() { _ = sub.Unsubscribe() })
		}
		return err
	})
}

func publishes(t *testing.T, nc *nats.Conn, s string) bool {
	t.Helper()
	return tries(t, nc, func() error { return nc.Publish(s, nil) })
}

func tries(t *testing.T, nc *nats.Conn, do func() error) bool {
	t.Helper()
	before := nc.LastError()
	if err := do(); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	after := nc.LastError()
	return after == before //nolint:errorlint // another one, not another kind
}

func TestAReplicaIsRightAgainAfterItWasAway(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	one := webBucket(b, state.Sessions)
	stays, goes := state.Key{Name: "stays"}, state.Key{Name: "goes"}
	for _, k := range []state.Key{stays, goes} {
		if _, err := one.Create(t.Context(), k, thing{1}, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	line := b.Line()
	nc := line.Connect(rights.Role{Name: rights.RoleResponder, Type: "web"})
	r := follow(t, state.Open(nc, state.Responder("web", ""), state.Sessions), live())
	ended, stop := r.Watch(goes)
	defer stop()
	mend := line.Block()
	natstest.Eventually(t, "the connection is lost", nc.IsReconnecting)
	if err := one.Delete(t.Context(), goes); err != nil {
		t.Fatal(err)
	}
	rev, err := one.Create(t.Context(), state.Key{Name: "new"}, thing{2}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	mend()
	r.wait(t, "what came meanwhile", func(e state.Entry) bool { return e.Revision == rev })
	select {
	case <-ended:
	case <-time.After(waittest.Limit):
		t.Fatal("what was deleted meanwhile is still held")
	}
	if _, err := r.Get(stays); err != nil {
		t.Error(err)
	}
}

func TestTheBrokerIsKilledInBetween(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	kill := b.Broker(broker.Options{})
	one := webBucket(b, state.Sessions)
	r := follow(t, webBucket(b, state.Sessions), state.CacheOptions{FailAfter: 5 * time.Second, Poll: 50 * time.Millisecond})
	k := state.Key{Name: "k"}
	rev, err := one.Create(t.Context(), k, thing{1}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	r.wait(t, "the write", func(e state.Entry) bool { return e.Revision == rev })
	ended, stop := r.Watch(k)
	defer stop()
	kill()
	done := make(chan error, 1)
	go func() { // it waits for a broker
		_, err := one.Update(t.Context(), k, thing{2}, rev, time.Hour)
		done <- err
	}()
	select {
	case <-ended: // its state is unknown
	case <-time.After(waittest.Limit):
		t.Fatal("the replica does not fail closed")
	}
	if _, err := r.Get(k); !errors.Is(err, ask.ErrUnavailable) {
		t.Errorf("without contact: %v", err)
	}
	if _, err := r.All(); !errors.Is(err, ask.ErrUnavailable) {
		t.Errorf("without contact: %v", err)
	}
	b.Broker(broker.Options{})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	r.wait(t, "the write", func(e state.Entry) bool { return string(e.Value) == `{"n":2}` })
	natstest.Eventually(t, "the replica may be believed again", func() bool { _, err := r.Get(k); return err == nil })
}

func TestWatchesLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	one := webBucket(b, state.Sessions)
	nc := b.Responder("web")
	r := follow(t, state.Open(nc, state.Responder("web", ""), state.Sessions), state.CacheOptions{})
	k := state.Key{Name: "k"}
	rev, err := one.Create(t.Context(), k, thing{1}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	r.wait(t, "the write", func(e state.Entry) bool { return e.Revision == rev })
	subs := nc.NumSubscriptions()
	for range 2000 {
		_, stop := r.Watch(k)
		stop()
	}
	if n := r.Watches(); n != 0 {
		t.Errorf("%d watches are left", n)
	}
	if n := nc.NumSubscriptions(); n > subs {
		t.Errorf("%d subscriptions, before %d", n, subs)
	}
	before := nc.NumSubscriptions()
	r.stop()
	for range 20 {
		c := follow(t, state.Open(nc, state.Responder("web", ""), state.Sessions), state.CacheOptions{})
		c.stop()
	}
	if n := nc.NumSubscriptions(); n != before-1 {
		t.Errorf("%d subscriptions after 20 replicas came and went, before them %d", n, before-1)
	}
}

// Writes and deletions survive a kill and a clean stop.
func TestSharedStateSurvives(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	one := webBucket(b, state.Sessions)
	key := func(i int) state.Key { return state.Key{Tenant: "acme", Name: fmt.Sprint("k", i)} }
	for i := range 150 {
		if _, err := one.Put(t.Context(), key(i%50), map[string]string{"x": strings.Repeat("x", 900)}, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 25 {
		if err := one.Delete(t.Context(), key(i)); err != nil {
			t.Fatal(err)
		}
	}
	killed := t.TempDir()
	if err := natstest.CopyDir(killed, b.Dir); err != nil {
		t.Fatal(err)
	}
	b.Close()
	for name, dir := range map[string]string{"after a kill": killed, "after a clean stop": b.Dir} {
		for range 2 {
			again := natstest.Again(t, dir)
			entries, err := webBucket(again, state.Sessions).List(t.Context())
			if err != nil || len(entries) != 25 {
				t.Errorf("%s: %d entries, %v", name, len(entries), err)
			}
			again.Close()
		}
	}
}

// A list has each entry once, as it was last, however often entries are written and
// deleted while its pages are read.
func TestAListHasEachEntryOnce(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true})
	bucket := webBucket(b, state.Push)
	const pages = 250 // entries: more than one page
	for i := range pages {
		if _, err := bucket.Put(t.Context(), state.Key{Name: fmt.Sprint("k", i)}, thing{}, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			_, _ = bucket.Put(ctx, state.Key{Name: "k0"}, thing{i}, time.Hour)
			_ = bucket.Delete(ctx, state.Key{Name: "k1"})
			_, _ = bucket.Put(ctx, state.Key{Name: "k1"}, thing{i}, time.Hour)
		}
	})
	for range 10 {
		all, err := bucket.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n := map[state.Key]int{}
		for i := range all {
			n[all[i].Key]++
		}
		for k, times := range n {
			if times != 1 {
				t.Errorf("%s is listed %d times", k.Name, times)
			}
		}
	}
	stop()
	writing.Wait()
}
