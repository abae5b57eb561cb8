package web_test

import (
	"context"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/web"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// bus is an in-memory stand-in for the bus, with the broker's rules: the first
// answer wins, and only one that fits.
type bus struct {
	mu       sync.Mutex
	held     map[ask.Key]*ask.Record
	watchers map[chan responder.Event]struct{}
	seq      uint64
	fail     error // what Answer and Cancel say, if set
	receipts chan ask.Receipt
	present  chan int // +1 when somebody comes, -1 when they leave
	now      func() time.Time
}

func newBus() *bus {
	return &bus{
		held: make(map[ask.Key]*ask.Record), watchers: make(map[chan responder.Event]struct{}),
		receipts: make(chan ask.Receipt, 100), present: make(chan int, 100), now: time.Now,
	}
}

// ask puts an ask on the bus, asked so long ago.
func (b *bus) ask(a ask.Ask, age time.Duration) ask.Key {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.Tenant == "" {
		a.Tenant = ask.DefaultTenant
	}
	if a.Session == "" {
		a.Session = "s1"
	}
	a.Normalize()
	b.seq++
	r := &ask.Record{State: ask.StatePending, Ask: a, AskedAt: b.now().Add(-age), Seq: b.seq}
	b.held[a.Key()] = r
	b.tell(responder.Event{Kind: responder.Pending, Record: *r})
	return a.Key()
}

func (b *bus) tell(e responder.Event) {
	for ch := range b.watchers {
		ch <- e
	}
}

// say tells the watchers something that is no ask.
func (b *bus) say(kind responder.EventKind) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tell(responder.Event{Kind: kind})
}

// shownOn records a receipt of another surface.
func (b *bus) shownOn(k ask.Key, r ask.Receipt) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held[k].Receipts = append(b.held[k].Receipts, r)
}

// end resolves an ask, whoever does it.
func (b *bus) end(k ask.Key, o ask.Outcome) (ask.Outcome, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.held[k]
	if r == nil {
		return ask.Outcome{}, ask.Refuse(404, ask.CodeNotFound, "there is no ask %s", k)
	}
	if r.Outcome != nil {
		if o.AnswerID != "" && r.Outcome.AnswerID == o.AnswerID {
			return *r.Outcome, nil
		}
		e := ask.Refuse(409, ask.CodeResolved, "already resolved")
		if r.Outcome.Status == ask.StatusExpired {
			e = ask.Refuse(410, ask.CodeExpired, "expired")
		}
		e.Outcome = r.Outcome
		return ask.Outcome{}, e
	}
	o.AskID, o.Tenant, o.Session, o.At = k.ID, k.Tenant, k.Session, b.now()
	r.State, r.Outcome = ask.StateResolved, &o
	b.tell(responder.Event{Kind: responder.Resolved, Record: *r})
	return o, nil
}

func (b *bus) outcome(k ask.Key) *ask.Outcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held[k].Outcome
}

func (b *bus) Watch(ctx context.Context, handle func(responder.Event)) error {
	ch := make(chan responder.Event, 1000)
	b.mu.Lock()
	for _, r := range b.held {
		kind := responder.Pending
		if r.Outcome != nil {
			kind = responder.Resolved
		}
		ch <- responder.Event{Kind: kind, Record: *r}
	}
	ch <- responder.Event{Kind: responder.Synced}
	b.watchers[ch] = struct{}{}
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.watchers, ch)
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-ch:
			handle(e)
		}
	}
}

func (b *bus) Get(_ context.Context, k ask.Key) (ask.Record, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.held[k]
	if r == nil {
		return ask.Record{}, ask.Refuse(404, ask.CodeNotFound, "there is no ask %s", k)
	}
	copied := *r
	copied.Receipts = slices.Clone(r.Receipts)
	return copied, nil
}

// List gives what is held of a session and has a question of this text.
func (b *bus) List(_ context.Context, q responder.Query) (responder.Page, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var page responder.Page
	for k, r := range b.held {
		asked := slices.ContainsFunc(r.Ask.Questions, func(one ask.Question) bool { return one.Text == q.Question })
		if k.Tenant == q.Tenant && k.Session == q.Session && r.State == q.State && asked {
			page.Items = append(page.Items, *r)
		}
	}
	return page, nil
}

func (b *bus) Answer(ctx context.Context, k ask.Key, reply ask.Reply) (ask.Outcome, error) {
	if b.fail != nil {
		return ask.Outcome{}, b.fail
	}
	r, err := b.Get(ctx, k)
	if err != nil {
		return ask.Outcome{}, err
	}
	answers, cancelled, err := r.Ask.Check(reply)
	if err != nil {
		return ask.Outcome{}, err
	}
	o := ask.Outcome{
		Status: ask.StatusAnswered, Source: ask.SourceHuman, AnswerID: reply.AnswerID,
		Answers: answers, Response: reply.Response, By: through(reply.By),
	}
	if cancelled != nil {
		o.Status, o.CancelledBy = ask.StatusCancelled, cancelled
	}
	return b.end(k, o)
}

func (b *bus) Cancel(_ context.Context, k ask.Key, d responder.Decline) (ask.Outcome, error) {
	if b.fail != nil {
		return ask.Outcome{}, b.fail
	}
	return b.end(k, ask.Outcome{Status: ask.StatusCancelled, AnswerID: d.AnswerID, Reason: d.Reason, By: through(d.By)})
}

func through(by ask.By) *ask.By {
	if by.Responder == "" {
		by.Responder = "web"
	}
	return &by
}

func (b *bus) Receipt(_ context.Context, _ ask.Key, r ask.Receipt) error {
	b.receipts <- r
	return nil
}

func (b *bus) Present(_, _ string) (func(), error) {
	b.present <- 1
	return func() { b.present <- -1 }, nil
}

var (
	cookieKey = []byte("0123456789abcdef0123456789abcdef")
	mei       = ask.By{Principal: "os:mei", Name: "Mei", Groups: []string{"platform"}, Proof: "local"}
	tom       = ask.By{Principal: "os:tom", Name: "Tom", Proof: "local"}
)

// inbox is a running server over a bus.
type inbox struct {
	*httptest.Server
	bus  *bus
	stop func() // ends Run and waits for it
}

func serve(t *testing.T, b *bus, change ...func(*web.Options)) inbox {
	t.Helper()
	srv := httptest.NewUnstartedServer(nil)
	opts := web.Options{CookieKey: cookieKey, BaseURL: "http://" + srv.Listener.Addr().String()}
	for _, c := range change {
		c(&opts)
	}
	s, err := web.New(b, opts)
	if err != nil {
		t.Fatal(err)
	}
	srv.Config.Handler = s.Handler()
	srv.Start()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(func() { stop(); srv.Close() })
	in := inbox{srv, b, stop}
	for {
		if in.synced(t) { // a page says so; each turn is a whole request
			return in
		}
	}
}

func (in inbox) synced(t *testing.T) bool {
	t.Helper()
	res := in.signedIn(t, mei).get("/")
	return !contains(res.body, "Connecting to the bus")
}

func (in inbox) link(t *testing.T, by ask.By) string {
	t.Helper()
	link, err := web.LoginLink(cookieKey, in.URL, by, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return link
}

// question makes an ask of these questions.
func question(id string, questions ...ask.Question) ask.Ask {
	return ask.Ask{ID: id, Agent: ask.Agent{Name: "builder"}, Questions: questions}
}

func database() ask.Question {
	return ask.Question{ID: "db", Header: "Storage", Text: "Which database should the ledger use?", Options: []ask.Option{
		{ID: "pg", Label: "PostgreSQL", Description: "Mature, transactional, already operated by the platform team.", Recommended: true},
		{ID: "lite", Label: "SQLite + Litestream", Description: "One file, replicated to object storage."},
		{ID: "kv", Label: "JetStream KV", Description: "No new dependency; limited queries."},
	}}
}
