package httpserver

import (
	"container/list"
	"net"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/process/ratelimit"
)

// busy is the response to a connection beyond the limits.
const busy = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nRetry-After: 5\r\nConnection: close\r\nContent-Length: 48\r\n\r\n" +
	"too many connections; try again in some seconds\n"

// listener counts connections and closes those beyond the limits.
type listener struct {
	net.Listener
	limits Limits
	silent bool // nobody is told that there is no room: they expect TLS

	mu          sync.Mutex
	total       int
	addresses   map[string]int // by ratelimit.Network
	credentials map[string]int
	unknown     list.List            // of *conn, the oldest first
	opened      *ratelimit.PerMinute // by ratelimit.Network
	identified  *ratelimit.PerMinute // by credential
}

func newListener(ln net.Listener, limits Limits) *listener {
	return &listener{
		Listener: ln, limits: limits, addresses: map[string]int{}, credentials: map[string]int{},
		opened: ratelimit.NewOpen(limits.PerMinute), identified: ratelimit.NewOpen(limits.NewPerMinute),
	}
}

// Accept returns the next connection within the limits.
func (l *listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c, oldest := l.enter(raw)
		if oldest != nil {
			_ = oldest.Close() // it is not identified, and others wait
		}
		if c != nil {
			return c, nil
		}
		if !l.silent {
			_ = raw.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = raw.Write([]byte(busy)) // fits into any socket's buffer
		}
		_ = raw.Close()
	}
}

// enter counts a new connection. It returns nil if there is no room; oldest is to be closed for it.
func (l *listener) enter(raw net.Conn) (c, oldest *conn) {
	from := ratelimit.Network(raw.RemoteAddr().String())
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total >= l.limits.Connections || l.addresses[from] >= l.limits.PerAddress || !l.opened.Take(from, time.Now()) {
		return nil, nil
	}
	if l.unknown.Len() >= l.limits.Unidentified {
		oldest, _ = l.unknown.Front().Value.(*conn)
		oldest.known()
	}
	c = &conn{Conn: raw, l: l, from: from}
	c.at = l.unknown.PushBack(c)
	l.total++
	l.addresses[from]++
	return c, oldest
}

// conn is a counted connection. The listener's lock guards the fields below the line.
type conn struct {
	net.Conn
	l    *listener
	from string // by ratelimit.Network

	// ---
	at         *list.Element // among the unknown; nil when it is not
	credential string
	gone       bool
}

// Close closes the connection and removes it from the counts, once.
func (c *conn) Close() error {
	c.l.mu.Lock()
	if !c.gone {
		c.gone = true
		c.known()
		c.leave()
		c.l.total--
		if c.l.addresses[c.from]--; c.l.addresses[c.from] == 0 {
			delete(c.l.addresses, c.from)
		}
	}
	c.l.mu.Unlock()
	return c.Conn.Close()
}

// known removes the connection from the unidentified ones.
func (c *conn) known() {
	if c.at != nil {
		c.l.unknown.Remove(c.at)
		c.at = nil
	}
}

func (c *conn) leave() {
	if c.credential == "" {
		return
	}
	if c.l.credentials[c.credential]--; c.l.credentials[c.credential] == 0 {
		delete(c.l.credentials, c.credential)
	}
	c.credential = ""
}

// identify counts the connection for a credential. The error is errTooMany or
// errTooFast.
func (c *conn) identify(credential string) error {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	switch {
	case c.gone || c.credential == credential:
		return nil
	case c.l.credentials[credential] >= c.l.limits.PerCredential:
		return errTooMany
	case !c.l.identified.Take(credential, time.Now()):
		return errTooFast
	}
	c.known()
	c.leave()
	c.credential = credential
	c.l.credentials[credential]++
	return nil
}
