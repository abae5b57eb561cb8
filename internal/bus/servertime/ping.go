package servertime

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Subject is where every server of a cluster replies with its name and time.
// nats-server sets both when it sends the reply.
const Subject = "$SYS.REQ.SERVER.PING"

// mostOpen is how many pings may be without all their replies. A reply to an
// older one would be too slow to count.
const mostOpen = 16

// Pinger asks all servers of a cluster for their time, over a connection in the
// system account. Nobody but a server can reply there. It is safe for
// concurrent use.
type Pinger struct {
	nc    *nats.Conn
	now   func() time.Time
	note  func(server string, r Reading)
	inbox string
	sub   *nats.Subscription

	mu   sync.Mutex
	last uint64
	open map[uint64]*ping
}

// ping is one request and the servers that have replied to it.
type ping struct {
	began   time.Time
	replied map[string]bool
	news    chan struct{} // receives after a reply
}

// NewPinger makes a pinger that calls note for each reply.
func NewPinger(nc *nats.Conn, now func() time.Time, note func(server string, r Reading)) (*Pinger, error) {
	p := &Pinger{nc: nc, now: now, note: note, inbox: nc.NewInbox(), open: map[uint64]*ping{}}
	var err error
	if p.sub, err = nc.Subscribe(p.inbox+".*", p.hear); err != nil {
		return nil, fmt.Errorf("ask the servers for their time: %w", err)
	}
	return p, nil
}

// Inbox returns the prefix of the subjects of the replies.
func (p *Pinger) Inbox() string { return p.inbox }

// Close stops listening for replies.
func (p *Pinger) Close() { _ = p.sub.Unsubscribe() } // the connection may be closed

// Ping asks, and waits until the servers that have replied are enough, or until
// ctx ends. Later replies are noted too.
func (p *Pinger) Ping(ctx context.Context, enough func(replied map[string]bool) bool) error {
	asked := &ping{began: p.now(), replied: map[string]bool{}, news: make(chan struct{}, 1)}
	p.mu.Lock()
	p.last++
	n := p.last
	p.open[n] = asked
	delete(p.open, n-mostOpen)
	p.mu.Unlock()
	if err := p.nc.PublishRequest(Subject, p.inbox+"."+strconv.FormatUint(n, 10), nil); err != nil {
		return fmt.Errorf("ask the servers for their time: %w", err)
	}
	for {
		select {
		case <-asked.news:
			p.mu.Lock()
			done := enough(asked.replied)
			p.mu.Unlock()
			if done {
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("ask the servers for their time: %w", ctx.Err())
		}
	}
}

// hear handles a reply.
func (p *Pinger) hear(m *nats.Msg) {
	n, err := strconv.ParseUint(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:], 10, 64)
	if err != nil {
		return
	}
	ended := p.now()
	var said struct {
		Server struct {
			Name string    `json:"name"`
			Time time.Time `json:"time"`
		} `json:"server"`
	}
	if json.Unmarshal(m.Data, &said) != nil || said.Server.Name == "" || said.Server.Time.IsZero() {
		return
	}
	p.mu.Lock()
	asked := p.open[n]
	p.mu.Unlock()
	if asked == nil {
		return
	}
	p.note(said.Server.Name, Between(asked.began, ended, said.Server.Time))
	p.mu.Lock()
	asked.replied[said.Server.Name] = true
	p.mu.Unlock()
	select {
	case asked.news <- struct{}{}:
	default:
	}
}
