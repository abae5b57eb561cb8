package web

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/lang"
	"github.com/askbus/askbus/internal/present"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// Bounds of the history.
const (
	maxPast     = 10_000                  // ended asks that are held, the newest
	pastPage    = 500                     // asks of one reading
	pastPages   = 1000                    // readings, at most
	pastLimit   = 2 * time.Minute         // for all of them
	pastWait    = 1500 * time.Millisecond // that a page waits for the first of them to be done
	pastAgain   = time.Minute             // between two times that everything is read, at least
	pastLeisure = 20                      // and so many times as long as that took
)

// past is one ended ask as lists and searches need it.
type past struct {
	key     ask.Key
	heading string
	told    map[string]gist // by the tag of a language
	agent   string
	status  ask.Status
	by      *ask.By
	named   []string // its audience
	asked   time.Time
	ended   time.Time
	text    string // what is searched, in lower case
}

// gist is how an ask ended, in the words of a language.
type gist struct{ gist, where string }

// gists says how an ask ended in every language.
func gists(r *ask.Record, now time.Time) (told map[string]gist, all []string) {
	told = map[string]gist{}
	for _, l := range lang.All() {
		end := present.NewEnd(r, viewer(responder.Viewer{Language: l.Tag}), now)
		one := gist{strings.Clone(end.Gist), end.Where}
		if first, ok := told[lang.English]; ok && first.gist == one.gist {
			one.gist = first.gist
		}
		told[l.Tag] = one
		all = append(all, one.gist, one.where)
	}
	return told, all
}

func languageOrEnglish(me responder.Viewer) string { return lang.Of(me.Language).Tag }

// archive holds what ended, as far as somebody wanted to see it: it reads
// nothing before the first look at the history.
type archive struct {
	asks Asks
	now  func() time.Time
	log  *slog.Logger

	ended   chan struct{} // closed when the server drains
	running sync.WaitGroup

	mu      sync.Mutex
	rows    map[ask.Key]*past
	read    time.Time     // when the last reading began that succeeded
	took    time.Duration // how long it took
	reading chan struct{} // closed when the one under way ends; nil: none is
	closed  bool
}

func newArchive(asks Asks, now func() time.Time, log *slog.Logger) *archive {
	return &archive{asks: asks, now: now, log: log, ended: make(chan struct{}), rows: map[ask.Key]*past{}}
}

// newest returns what ended, the newest first, and whether that is all that is
// kept as far as it is known. Recent is what the board saw ending.
func (a *archive) newest(ctx context.Context, recent []ask.Record) (rows []*past, whole bool) {
	done := a.begin(ctx)
	late := time.NewTimer(pastWait)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range recent {
		a.take(&recent[i])
	}
	rows = make([]*past, 0, len(a.rows))
	for _, p := range a.rows {
		rows = append(rows, p)
	}
	slices.SortFunc(rows, newestFirst)
	return rows, !a.read.IsZero()
}

func newestFirst(x, y *past) int {
	if c := y.ended.Compare(x.ended); c != 0 {
		return c
	}
	return strings.Compare(x.key.String(), y.key.String())
}

// begin reads everything if that was not done for a while. The first reading is
// worth waiting for.
func (a *archive) begin(ctx context.Context) (done <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	first := a.read.IsZero()
	if a.reading == nil && !a.closed && (first || a.now().Sub(a.read) > max(pastAgain, pastLeisure*a.took)) {
		a.reading = make(chan struct{})
		life := context.WithoutCancel(ctx) // even if this reader leaves, the next page has it
		a.running.Go(func() { a.readAll(life) })
	}
	if first && a.reading != nil {
		return a.reading
	}
	closed := make(chan struct{})
	close(closed)
	return closed
}

func (a *archive) readAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, pastLimit)
	defer cancel()
	a.running.Go(func() {
		select {
		case <-a.ended:
			cancel()
		case <-ctx.Done():
		}
	})
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
			a.take(&page.Items[i])
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

// close ends a reading that is under way, and waits for it.
func (a *archive) close() {
	a.mu.Lock()
	if !a.closed {
		a.closed = true
		close(a.ended)
	}
	a.mu.Unlock()
	a.running.Wait()
}

// take takes an ended ask in. The caller holds mu.
func (a *archive) take(r *ask.Record) {
	end := present.NewEnd(r, viewer(responder.Viewer{}), a.now())
	if end == nil {
		return
	}
	k := r.Ask.Key()
	if was := a.rows[k]; was != nil && !was.ended.Before(r.Outcome.At) {
		return
	}
	p := &past{
		key: k, heading: strings.Clone(end.Heading), status: end.Status,
		agent: present.Clip(ask.CleanLine(orElse(r.Ask.Agent.Name, r.Ask.Agent.ID)), 80), asked: r.AskedAt, ended: r.Outcome.At, named: slices.Clone(r.Ask.Audience),
	}
	if by := r.Outcome.By; by != nil {
		p.by = &ask.By{Principal: by.Principal, Name: by.Name}
	}
	who := ""
	if p.by != nil {
		who = p.by.Principal + " " + p.by.Name
	}
	told, all := gists(r, a.now())
	p.told = told
	p.text = strings.ToLower(strings.Join(append([]string{p.heading, p.agent, k.String(), who}, all...), "\n"))
	if a.rows[k] = p; len(a.rows) > maxPast+maxPast/5 {
		a.cut()
	}
}

// cut drops the oldest.
func (a *archive) cut() {
	rows := make([]*past, 0, len(a.rows))
	for _, p := range a.rows {
		rows = append(rows, p)
	}
	slices.SortFunc(rows, newestFirst)
	for _, p := range rows[maxPast:] {
		delete(a.rows, p.key)
	}
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}
