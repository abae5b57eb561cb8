package web

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/answering/waiting"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// Bounds of the history.
const (
	maxPast     = 10_000                  // ended asks that are kept, the newest
	pastPage    = 500                     // asks per page
	pastPages   = 1000                    // pages, at most
	pastLimit   = 2 * time.Minute         // for all pages
	pastWait    = 1500 * time.Millisecond // how long a page waits for the first read
	pastAgain   = time.Minute             // minimum time between two full reads
	pastLeisure = 20                      // and at least this many times the duration of a read
)

// past is one ended ask as lists and searches use it.
type past struct {
	key     ask.Key
	heading string
	ends    map[string]summary // by language tag
	agent   string
	status  ask.Status
	by      *ask.By
	named   []string // audience
	human   bool     // a person answered: no default, and no policy
	test    bool     // of "askbus doctor"
	asked   time.Time
	ended   time.Time
	text    string // searchable text, in lower case
}

// summary describes how an ask ended, in one language.
type summary struct{ summary, where string }

// summaries describes how an ask ended in every language.
func summaries(r *ask.Record, now time.Time) (ends map[string]summary, all []string) {
	ends = map[string]summary{}
	for _, l := range lang.All() {
		end := card.NewEnd(r, viewer(board.Viewer{Language: l.Tag}), now)
		one := summary{strings.Clone(end.Brief), end.Where}
		if first, ok := ends[lang.English]; ok && first.summary == one.summary {
			one.summary = first.summary
		}
		ends[l.Tag] = one
		all = append(all, one.summary, one.where)
	}
	return ends, all
}

// archive caches ended asks. It reads nothing before somebody first opens the
// history.
type archive struct {
	asks Asks
	now  func() time.Time
	log  *slog.Logger

	life    context.Context //nolint:containedctx // of the reads: pages share them; ends with close
	end     context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	rows    map[ask.Key]*past
	read    time.Time     // start of the last successful read
	took    time.Duration // its duration
	reading chan struct{} // closed when the current read ends; nil: none is running
}

func newArchive(asks Asks, now func() time.Time, log *slog.Logger) *archive {
	life, end := context.WithCancel(context.Background())
	return &archive{asks: asks, now: now, log: log, life: life, end: end, rows: map[ask.Key]*past{}}
}

// newest returns the ended asks, newest first, and whether these are all that
// the bus keeps, as far as is known. Recent holds those that the board saw
// ending.
func (a *archive) newest(ctx context.Context, recent []ask.Record) (rows []*past, whole bool) {
	done := a.load()
	late := time.NewTimer(pastWait)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	case <-ctx.Done():
	}
	return a.known(recent)
}

// known is newest without a read.
func (a *archive) known(recent []ask.Record) (rows []*past, whole bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range recent {
		a.add(&recent[i])
	}
	return slices.SortedFunc(maps.Values(a.rows), newestFirst), !a.read.IsZero()
}

func newestFirst(x, y *past) int {
	return cmp.Or(y.ended.Compare(x.ended), strings.Compare(x.key.String(), y.key.String()))
}

// load starts a full read if the last one is old enough. A page waits only for
// the first read.
func (a *archive) load() (done <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	first := a.read.IsZero()
	if a.reading == nil && a.life.Err() == nil && (first || a.now().Sub(a.read) > max(pastAgain, pastLeisure*a.took)) {
		a.reading = make(chan struct{})
		a.running.Go(a.readAll)
	}
	if first && a.reading != nil {
		return a.reading
	}
	closed := make(chan struct{})
	close(closed)
	return closed
}

func (a *archive) readAll() {
	ctx, cancel := context.WithTimeout(a.life, pastLimit)
	defer cancel()
	began := a.now()
	q := responder.Query{State: ask.StateResolved, PageSize: pastPage}
	var err error
	for range pastPages {
		var page responder.Page
		if page, err = a.asks.List(ctx, q); err != nil {
			break
		}
		a.mu.Lock()
		for i := range page.Items {
			a.add(&page.Items[i])
		}
		a.mu.Unlock()
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.log.WarnContext(ctx, "cannot read the history", slog.Any("error", err))
	} else {
		a.read, a.took = began, a.now().Sub(began)
	}
	close(a.reading)
	a.reading = nil
}

// close cancels a running read and waits for it. None begins after it.
func (a *archive) close() {
	a.mu.Lock()
	a.end()
	a.mu.Unlock()
	a.running.Wait()
}

// add adds an ended ask. The caller holds mu.
func (a *archive) add(r *ask.Record) {
	end := card.NewEnd(r, viewer(board.Viewer{}), a.now())
	if end == nil {
		return
	}
	k := r.Ask.Key()
	if was := a.rows[k]; was != nil && !was.ended.Before(r.Outcome.At) {
		return
	}
	p := &past{
		key: k, heading: strings.Clone(end.Heading), status: end.Status,
		agent: ask.Clip(ask.CleanLine(cmp.Or(r.Ask.Agent.Name, r.Ask.Agent.ID)), 80), asked: r.AskedAt, ended: r.Outcome.At, named: slices.Clone(r.Ask.Audience),
		test: waiting.IsTest(r), human: r.Outcome.Source == ask.SourceHuman,
	}
	if by := r.Outcome.By; by != nil {
		p.by = &ask.By{Principal: by.Principal, Name: by.Name}
	}
	who := ""
	if p.by != nil {
		who = p.by.Principal + " " + p.by.Name
	}
	ends, all := summaries(r, a.now())
	p.ends = ends
	p.text = strings.ToLower(strings.Join(append([]string{p.heading, p.agent, k.String(), who}, all...), "\n"))
	if a.rows[k] = p; len(a.rows) > maxPast+maxPast/5 {
		a.cut()
	}
}

// cut drops the oldest asks.
func (a *archive) cut() {
	for _, p := range slices.SortedFunc(maps.Values(a.rows), newestFirst)[maxPast:] {
		delete(a.rows, p.key)
	}
}
