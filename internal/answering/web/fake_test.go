package web_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
)

// bus is an in-memory fake of the bus with the broker's rules: the first valid
// answer wins.
type bus struct {
	mu       sync.Mutex
	held     map[ask.Key]*ask.Record
	ended    []ask.Key // newest last
	watchers map[chan struct{}]struct{}
	status   board.Status
	seq      uint64
	fail     error // returned by Answer and Cancel, if set
	receipts chan ask.Receipt
	present  chan int // +1 when presence is declared, -1 when it ends
	now      func() time.Time
	people   people
	handed   map[ask.Key]*board.Handover
	there    map[ask.Key][]board.Attention
	snoozes  map[string]map[ask.Key]time.Time // by principal
	lists    int                              // calls of List
	heard    chan board.Filter                // receives the filter of each opened page, if set
	follows  map[*follow]struct{}
	drained  func() // called after a subscriber took what was touched, if set
}

// follow is one subscriber to changes.
type follow struct {
	filter  board.Filter
	changed chan struct{}
	touched board.Touched
}

func newBus() *bus {
	return &bus{
		held: make(map[ask.Key]*ask.Record), watchers: make(map[chan struct{}]struct{}),
		snoozes: make(map[string]map[ask.Key]time.Time),
		follows: make(map[*follow]struct{}), handed: make(map[ask.Key]*board.Handover), there: make(map[ask.Key][]board.Attention),
		receipts: make(chan ask.Receipt, 100), present: make(chan int, 100), now: time.Now,
	}
}

// ask adds an ask that was made age ago.
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
	if a.Deadline.IsZero() {
		a.Deadline = b.now().Add(ask.MaxTimeout - age) // as in the broker
	}
	b.seq++
	r := &ask.Record{State: ask.StatePending, Ask: a, AskedAt: b.now().Add(-age), Life: "l" + strconv.FormatUint(b.seq, 10), Seq: b.seq}
	b.held[a.Key()] = r
	delete(b.there, a.Key())
	b.ended = slices.DeleteFunc(b.ended, func(k ask.Key) bool { return k == a.Key() })
	b.tell(a.Key())
	return a.Key()
}

// tell reports changed asks; no keys mean that any may have changed.
func (b *bus) tell(keys ...ask.Key) {
	stir := func(ch chan struct{}) {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
	for ch := range b.watchers {
		stir(ch)
	}
	for f := range b.follows {
		seen := len(keys) == 0
		f.touched.Any = f.touched.Any || seen
		for _, k := range keys {
			if r := b.held[k]; r != nil && f.filter.Viewer.Sees(k, r.Ask.Audience) {
				f.touched.Keys, seen = append(f.touched.Keys, k), true
			}
		}
		if seen {
			stir(f.changed)
		}
	}
}

func (b *bus) Follow(filter board.Filter) (<-chan struct{}, func() board.Touched, func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.heard != nil {
		b.heard <- filter
	}
	f := &follow{filter: filter, changed: make(chan struct{}, 1)}
	b.follows[f] = struct{}{}
	take := func() board.Touched {
		if b.drained != nil {
			defer b.drained()
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		t := f.touched
		f.touched = board.Touched{}
		return t
	}
	return f.changed, take, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.follows, f)
	}
}

// offline sets whether the bus is disconnected.
func (b *bus) offline(is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.status.Offline = is
	b.tell()
}

// shownOn records a receipt of another surface.
func (b *bus) shownOn(k ask.Key, r ask.Receipt) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held[k].Receipts = append(b.held[k].Receipts, r)
}

// end resolves an ask.
func (b *bus) end(k ask.Key, o ask.Outcome) (ask.Outcome, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.held[k]
	if r == nil {
		return ask.Outcome{}, ask.Refuse(ask.CodeNotFound, "there is no ask %s", k)
	}
	if r.Outcome != nil {
		if o.AnswerID != "" && r.Outcome.AnswerID == o.AnswerID {
			return *r.Outcome, nil
		}
		e := ask.Refuse(ask.CodeResolved, "already resolved")
		if r.Outcome.Status == ask.StatusExpired {
			e = ask.Refuse(ask.CodeExpired, "expired")
		}
		e.Outcome = r.Outcome
		return ask.Outcome{}, e
	}
	o.AskID, o.Tenant, o.Session, o.At = k.ID, k.Tenant, k.Session, b.now()
	r.State, r.Outcome = ask.StateResolved, &o
	b.ended = append(b.ended, k)
	b.tell(k)
	return o, nil
}

func (b *bus) life(k ask.Key) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held[k].Life
}

func (b *bus) outcome(k ask.Key) *ask.Outcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held[k].Outcome
}

// Run, Status, Pending, Ended, Recent, Learn and Changes behave as those of a
// board that is always up to date.
func (b *bus) Run(ctx context.Context) error {
	b.mu.Lock()
	b.status.Synced = true
	b.tell()
	b.mu.Unlock()
	<-ctx.Done()
	return nil
}

func (b *bus) Status() board.Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.status
}

func (b *bus) Pending(f board.Filter, offset, limit int) (heads []board.Head, total int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.pending(f)
	rest := all[min(offset, len(all)):]
	return rest[:min(limit, len(rest))], len(all)
}

func (b *bus) Head(k ask.Key) (h board.Head, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, h := range b.pending(board.Filter{}) {
		if h.Key == k {
			return h, true
		}
	}
	return board.Head{}, false
}

func (b *bus) pending(f board.Filter) (all []board.Head) {
	for k, r := range b.held {
		h := board.Head{
			Key: k, Life: r.Life, Heading: r.Ask.Heading(), Agent: r.Ask.Agent.Name, Source: r.Ask.Agent.Repository, Priority: r.Ask.Priority,
			AskedAt: r.AskedAt, Deadline: r.Ask.Deadline, Audience: r.Ask.Audience, Handed: b.handed[k],
		}
		if r.Ask.ExcludeAsker {
			h.Excluded = r.Ask.Asker
		}
		if r.State == ask.StatePending && f.Takes(h) {
			all = append(all, h)
		}
	}
	slices.SortFunc(all, board.Compare)
	f.Group.Arrange(all)
	return all
}

func (b *bus) Ended(f board.Filter) (ended []ask.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range slices.Backward(b.ended) {
		if f.Viewer.Sees(k, b.held[k].Ask.Audience) {
			ended = append(ended, *b.held[k])
		}
	}
	return ended
}

func (b *bus) Learn(ask.Record) {}

func (b *bus) Changes(f board.Filter) (changed <-chan struct{}, stop func()) {
	ch := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.heard != nil {
		b.heard <- f
	}
	b.watchers[ch] = struct{}{}
	return ch, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.watchers, ch)
	}
}

func (b *bus) Recent(ctx context.Context, k ask.Key, _ time.Duration) (ask.Record, error) {
	return b.Get(ctx, k)
}

func (b *bus) Get(_ context.Context, k ask.Key) (ask.Record, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.held[k]
	if r == nil {
		return ask.Record{}, ask.Refuse(ask.CodeNotFound, "there is no ask %s", k)
	}
	copied := *r
	copied.Receipts = slices.Clone(r.Receipts)
	return copied, nil
}

// List returns the stored asks, oldest first. The cursor is a number.
func (b *bus) List(_ context.Context, q responder.Query) (responder.Page, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lists++
	var all []ask.Record
	for k, r := range b.held {
		asked := q.Question == "" || slices.ContainsFunc(r.Ask.Questions, func(one ask.Question) bool { return one.Text == q.Question })
		if (q.Tenant == "" || k.Tenant == q.Tenant) && (q.Session == "" || k.Session == q.Session) && r.State == q.State && asked {
			all = append(all, *r)
		}
	}
	slices.SortFunc(all, func(x, y ask.Record) int { return int(x.Seq) - int(y.Seq) })
	from, _ := strconv.Atoi(q.Cursor)
	all = all[min(from, len(all)):]
	page := responder.Page{Items: all}
	if q.PageSize > 0 && len(all) > q.PageSize {
		page.Items, page.Next = all[:q.PageSize], strconv.Itoa(from+q.PageSize)
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
		Answers: answers, Response: reply.Response, By: through(reply.By), BreakGlass: reply.BreakGlass,
	}
	if cancelled != nil {
		o.Status, o.CancelledBy = ask.StatusCancelled, cancelled
	}
	return b.end(k, o)
}

// uploaded are the files of all buses of the tests: their ids name their bytes.
var uploaded sync.Map

func put(name string, data []byte) (ask.File, error) {
	f, fault := ask.NewFile(name, data)
	if fault != nil {
		return f, ask.InvalidError("file", []ask.Fault{*fault})
	}
	uploaded.Store(f.ID, data)
	return f, nil
}

func (b *bus) Upload(_ context.Context, _ ask.Session, name string, data []byte) (ask.File, error) {
	return put(name, data)
}

func (b *bus) File(_ context.Context, _ ask.Session, id string) (ask.File, []byte, error) {
	data, ok := uploaded.Load(id)
	if !ok {
		return ask.File{}, nil, ask.ErrNotFound
	}
	f, _ := ask.NewFile("shot.png", data.([]byte))
	return f, data.([]byte), nil
}

func (b *bus) Cancel(_ context.Context, k ask.Key, d responder.Decline) (ask.Outcome, error) {
	if b.fail != nil {
		return ask.Outcome{}, b.fail
	}
	return b.end(k, ask.Outcome{Status: ask.StatusCancelled, AnswerID: d.AnswerID, Reason: d.Reason, By: through(d.By)})
}

// Unvote takes back the votes of one person on the asks that the bus holds.
func (b *bus) Unvote(ctx context.Context, k ask.Key, _ string, by ask.By) ([]ask.Vote, error) {
	r, err := b.Get(ctx, k)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(r.Votes, func(v ask.Vote) bool { return v.By.Principal == by.Principal })
	if at < 0 {
		return nil, ask.Refuse(ask.CodeConflict, "%s has no vote on this ask to take back", by.Principal)
	}
	votes := slices.Clone(r.Votes)
	votes[at].Choice = ask.ChoiceWithdrawn
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held[k].Votes = votes
	return votes, nil
}

func through(by ask.By) *ask.By {
	if by.Responder == "" {
		by.Responder = "web"
	}
	return &by
}
