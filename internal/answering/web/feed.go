package web

import (
	"bytes"
	"context"
	"encoding/json"
	"runtime"
	"slices"
	"sync"
	"time"
	"weak"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
)

// Bounds of a feed.
const (
	feedEvents = 64       // events kept for streams that are behind
	feedBytes  = 64 << 10 // bytes of these events
	feedPause  = 100 * time.Millisecond
	feedShare  = 8 // a feed pauses for this many times its drawing time
	feedLook   = 15 * time.Second
)

// feeds holds one feed per open view, which is what one person sees of one
// listing. All streams of a view share its feed. If each page fetched itself at
// every change, it would be 107 KB and 205 ms of a browser's main thread at 500
// asks, for each viewer and up to ten times a second. Each event is compressed
// once for all streams (pack.go): a compressor for each would hold most of a
// megabyte.
type feeds struct {
	s       *Server
	slots   chan struct{} // bounds concurrent drawing
	running sync.WaitGroup

	mu   sync.Mutex
	open map[string]*feed
}

// feed turns changes of the board into events. It keeps the latest events: a
// stream that is behind, because it is slow or was cut off, gets these; one
// that is further behind gets the whole frame once. There is no queue per
// stream.
type feed struct {
	s    *Server
	me   board.Viewer
	at   listing
	n    int // streams; guarded by mu of feeds
	stop func()

	changed <-chan struct{}
	touched func() board.Touched

	drawing sync.Mutex // held while told, parts, kept and late are used or whole is drawn
	told    []row
	late    board.Touched // what was touched while the last frame was drawn: it may show it or not
	parts   map[string]string
	kept    keptRows
	timed   bool // its content also changes with time

	mu    sync.Mutex
	seq   uint64 // of the last event; 0: nothing is drawn yet
	mark  string
	base  *event // the event before the log
	log   []*event
	bytes int
	whole weak.Pointer[event] // the whole frame as of seq, while a stream is sending it
	news  chan struct{}
}

// event is one message to the streams.
type event struct {
	seq  uint64
	mark string // of what a page shows after this event
	data []byte

	once   sync.Once
	packed []byte
}

// segment returns the event for a gzip stream. It is compressed once for all
// streams.
func (e *event) segment() []byte {
	e.once.Do(func() { e.packed = segment(e.data) })
	return e.packed
}

func newFeeds(s *Server) *feeds {
	return &feeds{s: s, slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0))), open: map[string]*feed{}}
}

// viewKey names a view: the person, the language and time zone, and the
// listing.
func viewKey(me board.Viewer, at listing) string {
	zone := ""
	if me.Zone != nil {
		zone = me.Zone.String()
	}
	key, _ := json.Marshal([]any{me.By, me.Tenants, me.Access, me.Language, zone, at.query()}) // strings always marshal
	return string(key)
}

// join returns the feed of a view. The caller calls leave when it is done with
// it.
//
//nolint:contextcheck,nolintlint // it outlives the request of the first stream
func (fs *feeds) join(me board.Viewer, at listing) (f *feed, leave func()) {
	key := viewKey(me, at)
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f = fs.open[key]
	if f == nil {
		ctx, cancel := context.WithCancel(context.Background())
		f = &feed{s: fs.s, me: me, at: at, parts: map[string]string{}, kept: keptRows{rows: map[ask.Key]*keptRow{}}, news: make(chan struct{})}
		var forget func()
		f.changed, f.touched, forget = fs.s.board.Follow(board.Filter{Viewer: me})
		f.stop = func() { cancel(); forget() }
		fs.open[key] = f
		fs.running.Go(func() { fs.run(ctx, f) })
	}
	f.n++
	return f, sync.OnceFunc(func() {
		fs.mu.Lock()
		defer fs.mu.Unlock()
		if f.n--; f.n == 0 {
			f.stop()
			delete(fs.open, key)
		}
	})
}

// run draws a feed when its board changes, until ctx ends. It draws a single
// change at once and combines changes in quick succession.
func (fs *feeds) run(ctx context.Context, f *feed) {
	look := time.NewTicker(feedLook)
	defer look.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case fs.slots <- struct{}{}:
		}
		began := time.Now()
		f.drawing.Lock()
		f.draw(ctx)
		timed := f.timed
		f.drawing.Unlock()
		<-fs.slots
		pause.Reset(max(feedPause, feedShare*time.Since(began)))
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		var passed <-chan time.Time
		if timed {
			passed = look.C
		}
		select {
		case <-ctx.Done():
			return
		case <-f.changed:
		case <-passed:
		}
	}
}

// draw adds an event with the changes since the last one. The caller holds
// drawing.
func (f *feed) draw(ctx context.Context) frame {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	before, late := f.touched(), f.late
	now := f.s.newFrame(ctx, f.me, f.at, true, &f.kept)
	f.timed = f.at.narrowed() || len(now.off) > 0 // an urgent ask that ends soon is shown despite filter and snooze
	// Pages tell people only of new rows that are named, so each is named in every event that may add its row.
	f.late = f.touched()
	d := delta{Waiting: now.Waiting, Any: late.Any || before.Any || f.late.Any}
	for _, k := range slices.Concat(late.Keys, before.Keys, f.late.Keys) {
		if key := k.String(); !slices.Contains(d.Touched, key) {
			d.Touched = append(d.Touched, key)
		}
	}
	first := f.seq == 0 // written only by this goroutine or while holding drawing
	if !first {
		d.changes(f.told, now.List, f.row)
	}
	d.Parts = f.redraw(&now)
	f.told = rowsOf(now.List)
	if first {
		f.publish(nil, now.Mark)
		return now
	}
	if now.Mark != f.mark || len(d.Touched) > 0 || d.Any {
		f.publish(&d, now.Mark)
	}
	return now
}

// row draws an entry in the language of this view.
func (f *feed) row(e *entry) string { return f.s.row(f.me.Language, e) }

// redraw draws the parts that changed.
func (f *feed) redraw(now *frame) map[string]string {
	var out map[string]string
	for _, p := range parts() {
		v := p.version(now)
		if was, told := f.parts[p.name]; told && was == v {
			continue
		}
		if f.seq > 0 {
			if out == nil {
				out = map[string]string{}
			}
			out[p.name] = f.s.part(f.me.Language, p.name, now)
		}
		f.parts[p.name] = v
	}
	return out
}

// publish sends an event to all streams. Without a delta it sets the initial
// state.
func (f *feed) publish(d *delta, mark string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seq++
	f.mark, f.whole = mark, weak.Pointer[event]{}
	if d == nil {
		f.base = &event{seq: f.seq, mark: mark}
	} else {
		e := &event{seq: f.seq, mark: mark, data: encode(d, mark)}
		f.log = append(f.log, e)
		f.bytes += len(e.data)
		for len(f.log) > feedEvents || f.bytes > feedBytes && len(f.log) > 0 {
			f.bytes -= len(f.log[0].data)
			f.base, f.log = &event{seq: f.log[0].seq, mark: f.log[0].mark}, f.log[1:]
		}
	}
	close(f.news)
	f.news = make(chan struct{})
}

// encode returns a delta as a server-sent event.
func encode(d *delta, mark string) []byte {
	out := bytes.NewBufferString("event: rows\nid: " + mark + "\ndata: ")
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false) // the JSON is not embedded in HTML
	_ = enc.Encode(d)        // strings always encode
	out.WriteByte('\n')
	return out.Bytes()
}

// drawn reports whether anything was drawn yet.
func (f *feed) drawn() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seq > 0
}

// resume returns the position of a page that has the content a mark names. It is
// 0 if that is not known, and before anything was drawn.
func (f *feed) resume(mark string) (seq uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if mark == "" || f.seq == 0 {
		return 0
	}
	if mark == f.mark {
		return f.seq
	}
	if mark == f.base.mark {
		seq = f.base.seq
	}
	for _, e := range f.log {
		if e.mark == mark {
			seq = e.seq
		}
	}
	return seq
}

// after returns the events after seq, and a channel that is closed when there
// are more. It returns late if those events are no longer kept; the caller then
// uses [feed.everything].
func (f *feed) after(seq uint64) (events []*event, late bool, news <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.seq == 0 || seq == f.seq:
		return nil, false, f.news
	case seq == 0 || len(f.log) == 0 || f.log[0].seq > seq+1:
		return nil, true, f.news
	}
	return append(events, f.log[len(f.log)-int(f.seq-seq):]...), false, f.news //nolint:gosec // at most feedEvents
}

// everything returns an event with the whole frame. It is drawn once for all
// streams that need it.
func (f *feed) everything(ctx context.Context) *event {
	f.drawing.Lock()
	defer f.drawing.Unlock()
	f.mu.Lock()
	whole := f.whole.Value()
	f.mu.Unlock()
	if whole != nil {
		return whole
	}
	now := f.draw(ctx)
	d := delta{All: true, Waiting: now.Waiting, Parts: map[string]string{}}
	above := ""
	for i := range now.List {
		key := now.List[i].Key.String()
		d.Rows = append(d.Rows, put{Key: key, After: above, HTML: f.row(&now.List[i])})
		above = key
	}
	for _, p := range parts() {
		d.Parts[p.name] = f.s.part(f.me.Language, p.name, &now)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	whole = &event{seq: f.seq, mark: f.mark, data: encode(&d, f.mark)}
	f.whole = weak.Make(whole)
	return whole
}

// close waits for feeds whose streams have ended.
func (fs *feeds) close() { fs.running.Wait() }
