package bench

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

// InboxScreen is the result for the web inbox in a browser with pending asks.
type InboxScreen struct {
	Pending    int     `json:"pending"`
	Load       int     `json:"load_bytes"` // the first load, as sent
	EventBytes float64 `json:"event_bytes"`
	EventMain  float64 `json:"event_main_us"` // of the main thread
	Visible    Times   `json:"visible"`       // from an ask to its row
	Counted    Times   `json:"counted"`       // from an ask below the page's end to its number
	Elsewhere  Times   `json:"elsewhere"`     // from an answer elsewhere to the card
	Next       Tail    `json:"next"`          // from Enter to the next card
	Typing     Tail    `json:"typing"`        // from a key to the next frame, with 50 asks a second
}

// Tail is the 95th percentile of times, and their number.
type Tail struct {
	N   int     `json:"n"`
	P95 float64 `json:"p95_us"`
}

func tailOf(millis []float64) Tail {
	all := make([]time.Duration, len(millis))
	for i, m := range millis {
		all[i] = time.Duration(m * float64(time.Millisecond))
	}
	slices.Sort(all)
	return Tail{N: len(all), P95: micros(percentile(all, 95))}
}

// String implements fmt.Stringer.
func (t Tail) String() string { return fmt.Sprintf("p95 %s, of %d", ms(&t.P95), t.N) }

// InboxStreams is the cost of open inboxes for a server.
type InboxStreams struct {
	Open    int     `json:"open"`
	Pending int     `json:"pending"`
	Memory  float64 `json:"bytes_each"` // heap and stacks, with the bench's own end of each connection
}

// measureScript measures in the page what a person experiences.
const measureScript = `(() => {
	window.bench = { next: [], typing: [] };
	let enter = 0, was = '';
	const frame = (then) => requestAnimationFrame(() => { const c = new MessageChannel(); c.port1.onmessage = then; c.port2.postMessage(0); });
	const key = () => document.querySelector('#card > article')?.dataset.key ?? '';
	addEventListener('keydown', (e) => {
		const at = e.timeStamp;
		if (e.key === 'Enter') { enter = at; was = key(); }
		else if (bench.on) frame(() => bench.typing.push(performance.now() - at));
	}, { capture: true });
	addEventListener('DOMContentLoaded', () => new MutationObserver(() => requestAnimationFrame(() => askbusShown('count-' + document.title))).observe(document.querySelector('title'), { childList: true, characterData: true, subtree: true }));
	addEventListener('DOMContentLoaded', () => new MutationObserver(() => {
		const article = document.querySelector('#card > article');
		if (article?.dataset.state === 'resolved' && article.dataset.key !== bench.over) { bench.over = article.dataset.key; requestAnimationFrame(() => askbusShown('over-' + article.dataset.key)); }
		if (enter && article && article.dataset.key !== was) { const at = enter; enter = 0; frame(() => bench.next.push(performance.now() - at)); }
	}).observe(document.querySelector('#card'), { childList: true, subtree: true, attributes: true, attributeFilter: ['data-state'] }));
})()`

// audience holds what a measurement in the browser needs.
type audience struct {
	agent   client.Session
	screen  *responder.Responder
	pending int
}

// screens opens the inbox in a browser with each number of pending asks, and then many streams of
// different people.
func (b *Bed) screens(ctx context.Context, chrome string, sizes []int, streams int, r *Inbox) error {
	site, err := b.inboxSite(ctx)
	if err != nil {
		return err
	}
	nc, err := b.open(rights.Role{Name: rights.RoleAgent, Tenant: b.Tenant, Session: "crowd"})
	if err != nil {
		return err
	}
	agent, err := client.New(nc, client.Options{Logger: b.log})
	if err != nil {
		return err
	}
	c := &audience{agent: agent.Session(b.Tenant, "crowd")}
	if nc, err = b.open(rights.Role{Name: rights.RoleResponder, Type: responderType, Tenant: b.Tenant}); err != nil {
		return err
	}
	if c.screen, err = responder.New(nc, b.surface(), responder.Options{Tenant: b.Tenant, Logger: b.log}); err != nil {
		return err
	}
	for _, n := range sizes {
		if err := c.fill(ctx, n); err != nil {
			return err
		}
		link, err := site.link("os:bench")
		if err != nil {
			return err
		}
		s, err := c.measure(ctx, chrome, link)
		if err != nil {
			return fmt.Errorf("bench: with %d pending: %w", n, err)
		}
		s.Pending = n
		r.Screens = append(r.Screens, s)
	}
	if streams > 0 {
		if r.Streams, err = c.streams(ctx, site, streams); err != nil {
			return fmt.Errorf("bench: %d streams: %w", streams, err)
		}
	}
	return nil
}

func (c *audience) ask(ctx context.Context, id string, p ask.Priority) error {
	q := question("crowd")
	q.ID, q.Title, q.Timeout, q.Priority = id, id, time.Hour, p
	_, err := c.agent.Ask(ctx, q)
	return err
}

// fill asks until n are pending.
func (c *audience) fill(ctx context.Context, n int) error {
	var all sync.WaitGroup
	slots, failed := make(chan struct{}, 16), make(chan error, n)
	for ; c.pending < n; c.pending++ {
		slots <- struct{}{}
		all.Go(func() {
			failed <- c.ask(ctx, "wait-"+rand.Text(), ask.PriorityNormal)
			<-slots
		})
	}
	all.Wait()
	close(failed)
	var err error
	for one := range failed {
		err = errors.Join(err, one)
	}
	return err
}

// Rounds of each measurement in a browser.
const (
	eventRounds = 20
	nextRounds  = 30
	burstEvery  = 20 * time.Millisecond
	burstFor    = 8 * time.Second
	typeEvery   = 90 * time.Millisecond
)

func (c *audience) measure(ctx context.Context, chrome, link string) (InboxScreen, error) {
	var s InboxScreen
	t, err := openTab(ctx, chrome, link)
	if err != nil {
		return s, err
	}
	defer t.close()
	if err := t.until(ctx, `document.documentElement.dataset.live === 'on'`); err != nil {
		return s, err
	}
	s.Load = int(t.bytes.Load())
	for _, part := range []func(context.Context, *tab, *InboxScreen) error{c.events, c.counted, c.elsewhere, c.next, c.burst} {
		if err := part(ctx, t, &s); err != nil {
			return s, err
		}
	}
	return s, nil
}

// events shows asks one by one above the others, and withdraws them.
func (c *audience) events(ctx context.Context, t *tab, s *InboxScreen) error {
	const rest = 5 * time.Second // measures what a page does without events
	idle, err := t.busy(ctx)
	if err != nil {
		return err
	}
	if err := backoff.Sleep(ctx, rest); err != nil {
		return err
	}
	before, err := t.busy(ctx)
	if err != nil {
		return err
	}
	bytes, began := t.bytes.Load(), time.Now()
	var took []time.Duration
	for range eventRounds {
		id := "show-" + rand.Text()
		one, err := c.shown(ctx, t, id, ask.PriorityUrgent, id)
		if err != nil {
			return err
		}
		took = append(took, one)
	}
	after, err := t.busy(ctx)
	s.Visible = timesOf(took)
	s.EventBytes = float64(t.bytes.Load()-bytes) / (2 * eventRounds)
	own := (before - idle) / rest.Seconds() * time.Since(began).Seconds()
	s.EventMain = max(0, after-before-own) * 1e6 / (2 * eventRounds)
	return err
}

// counted asks one by one below the others. A page shows only part of a long list; such an ask has
// no row, but it is counted.
func (c *audience) counted(ctx context.Context, t *tab, s *InboxScreen) error {
	var took []time.Duration
	for range eventRounds {
		one, err := c.shown(ctx, t, "last-"+rand.Text(), ask.PriorityLow, fmt.Sprintf("count-(%d) askbus", c.pending+1))
		if err != nil {
			return err
		}
		took = append(took, one)
	}
	s.Counted = timesOf(took)
	return nil
}

// shown asks, measures the time until the page shows it, and withdraws the ask.
func (c *audience) shown(ctx context.Context, t *tab, id string, p ask.Priority, says string) (time.Duration, error) {
	for len(t.shown) > 0 {
		<-t.shown // from before
	}
	start := time.Now()
	if err := c.ask(ctx, id, p); err != nil {
		return 0, err
	}
	at, err := until(ctx, t.shown, says)
	if err != nil {
		return 0, err
	}
	if err := backoff.Sleep(ctx, browserPause); err != nil {
		return 0, err
	}
	if _, err := c.agent.Withdraw(ctx, id, "it was seen"); err != nil {
		return 0, err
	}
	return at.Sub(start), backoff.Sleep(ctx, browserPause)
}

// elsewhere answers the shown ask elsewhere.
func (c *audience) elsewhere(ctx context.Context, t *tab, s *InboxScreen) error {
	var took []time.Duration
	for range eventRounds / 2 {
		var key string
		if err := t.eval(ctx, `document.querySelector('#card > article').dataset.key`, &key); err != nil {
			return err
		}
		part := strings.Split(key, "/")
		start := time.Now()
		if _, err := c.screen.Answer(ctx, ask.Key{Tenant: part[0], Session: part[1], ID: part[2]}, reply()); err != nil {
			return err
		}
		at, err := until(ctx, t.shown, "over-"+key)
		if err != nil {
			return err
		}
		took = append(took, at.Sub(start))
		c.pending--
		// Not by Enter: the page keeps what was chosen here before, until somebody leaves it on purpose.
		leave := t.eval(ctx, `document.querySelector('#card [data-next]').click()`, nil)
		if err := errors.Join(leave, backoff.Sleep(ctx, browserPause), t.until(ctx, `document.querySelector('#card > article')?.dataset.state === 'pending'`)); err != nil {
			return err
		}
	}
	s.Elsewhere = timesOf(took)
	return t.eval(ctx, `void (bench.next.length = 0)`, nil)
}

// next answers one ask after the other with keys.
func (c *audience) next(ctx context.Context, t *tab, s *InboxScreen) error {
	for i := range nextRounds {
		if err := errors.Join(t.press(ctx, "1"), t.press(ctx, "Enter"), t.until(ctx, "bench.next.length > "+strconv.Itoa(i)), backoff.Sleep(ctx, browserPause)); err != nil {
			return err
		}
		c.pending--
	}
	var all []float64
	err := t.eval(ctx, `bench.next`, &all)
	s.Next = tailOf(all)
	return err
}

// burst types while 50 asks per second arrive, every other one above the others.
func (c *audience) burst(ctx context.Context, t *tab, s *InboxScreen) error {
	if err := errors.Join(t.press(ctx, "o"), t.until(ctx, `document.activeElement.type === 'text'`), t.eval(ctx, `void (bench.on = true)`, nil)); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ids := make([]string, burstFor/burstEvery)
	asked := make(chan error, len(ids))
	go func() {
		every := time.NewTicker(burstEvery)
		defer every.Stop()
		for i := range ids {
			<-every.C
			ids[i] = "burst-" + rand.Text()
			go func() {
				asked <- c.ask(ctx, ids[i], []ask.Priority{ask.PriorityHigh, ask.PriorityNormal}[i%2])
			}()
		}
	}()
	for end := time.Now().Add(burstFor); time.Now().Before(end); {
		if err := errors.Join(t.press(ctx, "e"), backoff.Sleep(ctx, typeEvery)); err != nil {
			return err
		}
	}
	for range ids {
		if err := <-asked; err != nil {
			return err
		}
	}
	var typed int
	var all []float64
	if err := errors.Join(t.eval(ctx, `document.activeElement.value.length`, &typed), t.eval(ctx, `bench.typing`, &all)); err != nil {
		return err
	}
	if typed != len(all) {
		return fmt.Errorf("bench: %d keys were typed, and %d are in the field", len(all), typed)
	}
	s.Typing = tailOf(all)
	for _, id := range ids { // the next queue begins without asks above the others
		if _, err := c.agent.Withdraw(ctx, id, "the burst is over"); err != nil {
			return err
		}
	}
	return nil
}

// streams opens the inboxes of different people, each with its own view.
func (c *audience) streams(ctx context.Context, site site, n int) (*InboxStreams, error) {
	ctx, stop := context.WithCancel(ctx)
	var bodies []io.Closer
	defer func() {
		stop()
		for _, b := range bodies {
			_ = b.Close()
		}
	}()
	transport := &http.Transport{DisableKeepAlives: true, ReadBufferSize: 1 << 10, WriteBufferSize: 1 << 10}
	cookies := make([]http.CookieJar, n)
	for i := range cookies {
		link, err := site.link("os:p" + strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		if cookies[i], err = cookiejar.New(nil); err != nil {
			return nil, err
		}
		signIn := &http.Client{Jar: cookies[i], Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		res, err := get(ctx, signIn, link)
		if err != nil {
			return nil, err
		}
		_ = res.Body.Close()
	}
	before := held()
	for i := range cookies {
		res, err := get(ctx, &http.Client{Jar: cookies[i], Transport: transport}, site.base+"/events") //nolint:bodyclose // closed with the others at the end
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, res.Body)
		if err := awaitHello(res.Body); err != nil {
			return nil, fmt.Errorf("stream %d: %s: %w", i, res.Status, err)
		}
	}
	return &InboxStreams{Open: n, Pending: c.pending, Memory: float64(held()-before) / float64(n)}, nil
}

func get(ctx context.Context, c *http.Client, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", "identity") // the bench holds no decompressors
	return c.Do(req)
}

func awaitHello(body io.Reader) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if lines.Text() == "event: hello" {
			return nil
		}
	}
	return errors.Join(lines.Err(), io.ErrUnexpectedEOF)
}

// held returns the process's heap and stacks.
func held() uint64 {
	runtime.GC()
	runtime.GC() // the second collection empties the pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// busy returns the working time of the page's main thread in seconds.
func (t *tab) busy(ctx context.Context) (float64, error) {
	raw, err := t.call(ctx, t.session, "Performance.getMetrics", map[string]any{})
	if err != nil {
		return 0, err
	}
	var all struct {
		Metrics []struct {
			Name  string  `json:"name"`
			Value float64 `json:"value"`
		} `json:"metrics"`
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return 0, err
	}
	for _, m := range all.Metrics {
		if m.Name == "TaskDuration" {
			return m.Value, nil
		}
	}
	return 0, errors.New("bench: the browser reports no TaskDuration")
}

// eval runs a script in the page and decodes its value into to, if not nil.
func (t *tab) eval(ctx context.Context, script string, to any) error {
	raw, err := t.call(ctx, t.session, "Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true})
	if err != nil {
		return err
	}
	var r struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text string `json:"text"`
		} `json:"exceptionDetails"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	if r.Exception != nil {
		return fmt.Errorf("bench: browser: %s: %s", script, r.Exception.Text)
	}
	if to == nil {
		return nil
	}
	return json.Unmarshal(r.Result.Value, to)
}

// until waits until a script returns true.
func (t *tab) until(ctx context.Context, script string) error {
	for range 1500 {
		var is bool
		if err := t.eval(ctx, "Boolean("+script+")", &is); err != nil || is {
			return err
		}
		if err := backoff.Sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("bench: browser: not true after 15 s: %s", script)
}

// press presses and releases a key.
func (t *tab) press(ctx context.Context, key string) error {
	down := map[string]any{"type": "keyDown", "key": key}
	switch key {
	case "Enter":
		down["text"], down["code"], down["windowsVirtualKeyCode"] = "\r", "Enter", 13
	default:
		down["text"] = key
	}
	_, err := t.call(ctx, t.session, "Input.dispatchKeyEvent", down)
	if err == nil {
		_, err = t.call(ctx, t.session, "Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key})
	}
	return err
}
