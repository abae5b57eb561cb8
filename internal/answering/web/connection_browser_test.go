package web_test

import (
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/web"
	"github.com/chromedp/chromedp"
)

func TestBrowserSignedOutWhileTyping(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k := bus.ask(question("t", text("t", "What is it called?")), 0)
	in := serve(t, bus, func(o *web.Options) { o.Flags = "--dir /srv/askbus" })
	b := in.open(t, mei).live()
	b.keys("my words")
	bus.people.mu.Lock()
	for id := range bus.people.held {
		delete(bus.people.held, id)
	}
	bus.people.mu.Unlock()
	b.click(".send")
	b.sees("You are signed out")
	b.sees("askbus login --dir /srv/askbus")
	b.wait(`document.querySelector('#lost').hidden`) // it does not say that it connects as well
	b.wait(`document.querySelector('.typed').value === 'my words' && document.querySelector('article').dataset.key.endsWith('/t')`)
	// In another tab of the same browser.
	b.do(chromedp.Evaluate[chromedp.Void](`fetch(` + quoted(in.link(t, mei)) + `)`))
	b.wait(`document.querySelector('#signedout').hidden && document.querySelector('.typed').value === 'my words'`)
	b.live()
	b.click(".send")
	b.wait(`!!document.querySelector('.done')`)
	if o := bus.outcome(k); o == nil || o.Answers[0].Text != "my words" {
		t.Errorf("outcome %+v", o)
	}
}

func quoted(s string) string { return "'" + strings.TrimSpace(s) + "'" }

func TestBrowserNotSentGoesWhenTheInboxIsBack(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k := bus.ask(question("db", database()), 0)
	b := serve(t, bus).open(t, mei).live()
	b.keys("1")
	b.js(`globalThis.real = fetch; globalThis.fetch = () => Promise.reject(new TypeError('away')); ''`)
	b.click(".send")
	b.sees("Not sent yet: the inbox cannot be reached")
	b.js(`globalThis.fetch = globalThis.real; ''`)
	b.in.CloseClientConnections() // the stream reconnects
	b.wait(`!document.querySelector('.problem') && !!document.querySelector('.done')`)
	if o := bus.outcome(k); o == nil || !slices.Equal(o.Answers[0].Selected, []string{"pg"}) {
		t.Errorf("outcome: %+v", o)
	}
}

// It goes as well if the page's stream lives through what the answer did not, at once or held.
func TestBrowserNotSentGoesWhereTheStreamLivesOn(t *testing.T) {
	t.Parallel()
	for name, undo := range map[string]time.Duration{"sent at once": 0, "held": time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bus := newBus()
			k := bus.ask(question("db", database()), 0)
			b := serve(t, bus, func(o *web.Options) { o.Undo = undo }).open(t, mei).live()
			b.keys("1")
			b.js(`globalThis.real = fetch; globalThis.fetch = (to, how) => new URLSearchParams(how?.body).get('held') === 'check' ? real(to, how) : Promise.reject(new TypeError('away')); ''`)
			b.click(".send")
			if undo > 0 {
				b.sees("is sent when the inbox is back")
			} else {
				b.sees("Not sent yet: the inbox cannot be reached")
			}
			b.js(`globalThis.fetch = globalThis.real; ''`)
			if o := bus.untilEnded(t, k); !slices.Equal(o.Answers[0].Selected, []string{"pg"}) {
				t.Errorf("outcome: %+v", o)
			}
			b.wait(`!document.querySelector('.problem')`)
		})
	}
}

// What somebody changes after it could not be sent waits for them.
func TestBrowserAChangedAnswerIsNotSentByItself(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k := bus.ask(question("db", database()), 0)
	b := serve(t, bus).open(t, mei).live()
	b.keys("1")
	b.js(`globalThis.real = fetch; globalThis.fetch = () => Promise.reject(new TypeError('away')); ''`)
	b.click(".send")
	b.sees("Not sent yet: the inbox cannot be reached")
	b.keys("2")
	b.js(`globalThis.fetch = globalThis.real; document.documentElement.dataset.live = 'off'; ''`)
	b.in.CloseClientConnections()
	b.live()
	b.wait(`document.querySelector('article').dataset.state === 'pending' && document.querySelector('input[value="=lite"]').checked`)
	if o := bus.outcome(k); o != nil {
		t.Errorf("outcome: %+v", o)
	}
}

// A connection that is open and carries nothing, as after a laptop slept, is
// replaced, and what was sent into it goes again.
func TestBrowserNoticesADeadConnection(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k := bus.ask(question("db", database()), 0)
	wires := &wires{}
	in := serveOn(t, bus, bus, wires.listener, func(o *web.Options) { o.Heartbeat = time.Second })
	b := in.open(t, mei).live()
	b.keys("1")
	wires.die()
	b.click(".send")
	b.sees("Reconnecting to the inbox")
	wires.live()
	b.live()
	b.wait(`!!document.querySelector('.done')`)
	if o := bus.outcome(k); o == nil || !slices.Equal(o.Answers[0].Selected, []string{"pg"}) {
		t.Errorf("outcome: %+v", o)
	}
}

// wires has connections that can stay open and carry nothing any more.
type wires struct {
	mu   sync.Mutex
	dead bool
	open []*line
}

type line struct {
	net.Conn
	*wires
	gone chan struct{} // closed once the line carries nothing
	end  sync.Once
}

func (n *wires) listener(ln net.Listener) net.Listener { return networked{ln, n} }

// die makes the open connections, and all new ones, carry nothing.
func (n *wires) die() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dead = true
	for _, l := range n.open {
		l.end.Do(func() { close(l.gone) })
	}
}

// live lets new connections live; the old ones stay dead.
func (n *wires) live() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dead = false
}

type networked struct {
	net.Listener
	*wires
}

func (n networked) Accept() (net.Conn, error) {
	c, err := n.Listener.Accept()
	if err != nil {
		return nil, err //nolint:wrapcheck // as the listener says it
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	l := &line{Conn: c, wires: n.wires, gone: make(chan struct{})}
	if n.open = append(n.open, l); n.dead {
		close(l.gone)
		l.end.Do(func() {})
	}
	return l, nil
}

func (l *line) Write(p []byte) (int, error) {
	select {
	case <-l.gone:
		return len(p), nil // as the kernel, which accepts what never arrives
	default:
		return l.Conn.Write(p) //nolint:wrapcheck // as the connection says it
	}
}

func (l *line) Read(p []byte) (int, error) {
	for {
		n, err := l.Conn.Read(p)
		select {
		case <-l.gone:
			if err == nil {
				continue // never arrived
			}
		default:
		}
		return n, err //nolint:wrapcheck // as the connection says it
	}
}

func TestBrowserTheSignInPage(t *testing.T) {
	t.Parallel()
	in := serve(t, newBus(), func(o *web.Options) { o.Flags = "--dir /srv/askbus" })
	b := in.open(t, mei, screen(1280, 800, "light")).live()
	b.sees("askbus ask --dir /srv/askbus --question")
	b.click("[data-logout] button")
	b.sees("askbus login --dir /srv/askbus")
	b.wait(`document.querySelector('[data-copy]').offsetParent !== null`)
	b.wait(`(() => { const r = document.querySelector('.gate section').getBoundingClientRect(); return Math.abs(r.left - (document.documentElement.clientWidth - r.right)) < 2 })()`)
}

// Whoever is signed out by an operator or the provider does not look at the questions any longer than the page needs to
// notice.
func TestBrowserASignedOutPageShowsTheSignInAtOnce(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.ask(question("secret", database()), 0)
	b := serve(t, bus).open(t, mei).live()
	b.onLoad(`(() => { const later = window.setTimeout; window.setTimeout = (then, ms) => (ms < 3000 ? later(then, ms) : 0); })()`)
	b.do(chromedp.Reload())
	b.live()
	bus.people.endAll()
	b.sees("askbus login")
}
