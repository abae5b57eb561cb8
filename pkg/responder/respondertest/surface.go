package respondertest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// Surface is a surface that posts, with a fake of its foreign service. All
// methods are called concurrently.
type Surface interface {
	// Type returns its responder type.
	Type() string
	// Serve runs one replica until ctx ends, as [responder.Responder.Serve]
	// does, with these options. Several run at once on one foreign service.
	Serve(ctx context.Context, r *responder.Responder, opts responder.ServeOptions) error
	// Posts lists what people see in the foreign service.
	Posts() []Post
	// Click lets a person choose the option of the post's only question,
	// through any running replica. It returns what that person is told, if
	// anything.
	Click(ctx context.Context, p Post, c Click) string
	// Intercept makes the foreign service call f before every call and again
	// after it took effect. An error fails the call. A nil f stops it.
	Intercept(f func(Call) error)
}

// Preparer is a [Surface] that needs more of the bus before it runs, such as subscriptions of people. Connect
// connects as a responder of a type.
type Preparer interface {
	Prepare(connect func(typ string) *nats.Conn)
}

// Without names cases of a suite that a surface cannot have, each with its reason, which is logged; a name that
// the suite does not have fails the test.
type Without map[string]string

func left(t *testing.T, without []Without, name string) bool {
	t.Helper()
	for _, w := range without {
		if why := w[name]; why != "" {
			t.Logf("left out, %s: %s", name, why)
			return true
		}
	}
	return false
}

// check fails for names that are not of cases.
func check[C any](t *testing.T, cases map[string]C, without []Without) {
	t.Helper()
	for _, w := range without {
		for name := range w {
			if _, ok := cases[name]; !ok || w[name] == "" {
				t.Errorf("no case is called %q, or the reason is missing", name)
			}
		}
	}
}

// Post is a post as people see it.
type Post struct {
	Ref  string // identifies it
	Key  string // the idempotency key
	Text string
	Open bool // people can still answer here
}

// Click is a person's click.
type Click struct {
	ID     string // of the click: the same one may arrive twice
	Option string // the option's id
	By     ask.By
}

// Call is a call of the foreign service.
type Call struct {
	Op   Op
	Key  string
	Done bool // it took effect; false: it is about to
}

// Op is the operation of a call.
type Op string

// The operations of a foreign service.
const (
	OpPost   Op = "post"
	OpUpdate Op = "update"
	OpFind   Op = "find"
)

// Link is [responder.ServeOptions.Link] in the suite.
func Link(k ask.Key) string { return "https://inbox.example/ask/" + k.String() }

// Clock is virtual time: a sleep advances it.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now returns the virtual time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Sleep advances the virtual time by d, and lets other goroutines run: for a
// millisecond, and longer in long sleeps, so that what only repeats every minute
// does not keep the processor busy.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(min(max(d/2000, time.Millisecond), 20*time.Millisecond)):
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return ctx.Err()
}

// scene is one case: a bus, an agent, another surface, and replicas.
type scene struct {
	t       *testing.T
	bus     *natstest.Bus
	surface Surface
	clock   *Clock
	agent   client.Session
	other   *responder.Responder // of another type: answers elsewhere
	own     *responder.Responder // reads receipts
}

// lease is how long work stays with a replica that has died. A live replica
// extends it after each third: on a busy machine that may be late, and work
// whose lease is lost is done twice.
const lease = waittest.Limit / 24

func newScene(t *testing.T, s Surface) *scene {
	t.Helper()
	b := natstest.Start(t, natstest.Options{Ledger: ledger.Options{Lease: lease}})
	c, err := client.New(b.Agent("acme", "s1"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	sc := &scene{t: t, bus: b, surface: s, clock: &Clock{now: time.Now()}, agent: c.Session("acme", "s1")}
	sc.other, _ = sc.responder("elsewhere")
	sc.own, _ = sc.responder(s.Type())
	if p, ok := s.(Preparer); ok {
		p.Prepare(func(typ string) *nats.Conn { _, nc := sc.responder(typ); return nc })
	}
	return sc
}

func (s *scene) responder(typ string) (*responder.Responder, *nats.Conn) {
	s.t.Helper()
	nc := s.bus.Connect(rights.Role{Name: rights.RoleResponder, Type: typ})
	r, err := responder.New(nc, typ, responder.Options{Logger: natstest.Logger()})
	if err != nil {
		s.t.Fatal(err)
	}
	return r, nc
}

// replica starts one; kill ends it as a crash does, stop as a signal does.
func (s *scene) replica() (kill, stop func()) {
	s.t.Helper()
	r, nc := s.responder(s.surface.Type())
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan error, 1)
	go func() {
		done <- s.surface.Serve(ctx, r, responder.ServeOptions{
			WorkOptions: responder.WorkOptions{Concurrency: 4, Grace: 5 * time.Second}, Link: Link, Clock: s.clock,
		})
	}()
	wait := sync.OnceFunc(func() {
		err := <-done
		if err != nil && !nc.IsClosed() {
			s.t.Errorf("Serve: %v", err)
		}
	})
	s.t.Cleanup(func() { cancel(); wait() })
	return func() { nc.Close(); cancel() }, func() { cancel(); wait() }
}

func (s *scene) key(id string) ask.Key { return ask.Key{Tenant: "acme", Session: "s1", ID: id} }

// ask asks, by default which database to use.
func (s *scene) ask(a ask.Ask) {
	s.t.Helper()
	if a.Questions == nil {
		a.Questions = []ask.Question{{ID: "db", Kind: ask.KindChoice, Text: "Which database for " + a.ID + "?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}, {ID: "lite", Label: "SQLite"}}}}
	}
	if _, err := s.agent.Ask(s.t.Context(), a); err != nil {
		s.t.Fatal(err)
	}
}

// elsewhere answers at another surface.
func (s *scene) elsewhere(id string) {
	s.t.Helper()
	_, err := s.other.Answer(s.t.Context(), s.key(id), ask.Reply{
		Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"lite"}}}, By: ask.By{Principal: "os:mei", Name: "Mei"},
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) posts(id string) (posts []Post) {
	rec, err := s.own.Get(s.t.Context(), s.key(id))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, p := range s.surface.Posts() {
		if p.Key == responder.PostKey(s.surface.Type(), s.key(id), rec.Life) {
			posts = append(posts, p)
		}
	}
	return posts
}

// open waits for the one open post of an ask.
func (s *scene) open(id string) Post {
	s.t.Helper()
	natstest.Eventually(s.t, id+" is posted", func() bool { // a mail to each person: the first may be to somebody who may not decide
		return slices.ContainsFunc(s.posts(id), func(p Post) bool { return p.Open })
	})
	posts := s.posts(id)
	if len(posts) != 1 || !posts[0].Open {
		s.t.Fatalf("%s has posts %+v; want one, open", id, posts)
	}
	return posts[0]
}

// closed waits until an ask has one post, which cannot be answered, and names
// the person who answered.
func (s *scene) closed(id, who string) {
	s.t.Helper()
	natstest.Eventually(s.t, id+" is updated", func() bool {
		posts := s.posts(id)
		return len(posts) > 0 && !posts[0].Open
	})
	posts := s.posts(id)
	if len(posts) != 1 || !contains(posts[0].Text, who) {
		s.t.Errorf("%s has posts %+v; want one that names %s", id, posts, who)
	}
}

// posted waits for the receipt of a post.
func (s *scene) posted(id string) {
	s.t.Helper()
	natstest.Eventually(s.t, id+" has a receipt", func() bool {
		rec, err := s.own.Get(s.t.Context(), s.key(id))
		if err != nil {
			s.t.Fatal(err)
		}
		for _, r := range rec.Receipts {
			if r.Type == s.surface.Type() && r.State == ask.ReceiptPosted && len(r.Places) > 0 {
				return true
			}
		}
		return false
	})
}
