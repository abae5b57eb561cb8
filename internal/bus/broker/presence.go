package broker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/nats-io/nats.go"
)

// presence asks the surfaces whether a person is present. "No responders" means
// that there is none.
type presence struct {
	nc   *nats.Conn
	subs []*nats.Subscription

	mu     sync.Mutex
	open   map[string]*poll
	latest map[string]latestPoll // by session
}

type latestPoll struct {
	*poll
	at time.Time
}

// poll collects the replies to one request. It is forgotten after pollTime.
type poll struct {
	tenant, session string

	mu    sync.Mutex
	types []string
	once  sync.Once
	heard chan struct{} // closed at the first reply, or when there are no responders
}

const (
	pollTime     = 2 * time.Second
	freshTime    = 500 * time.Millisecond // asks in quicker succession share a poll
	presenceBase = subject.InboxBroker + ".here."
	maxPresent   = 64
)

func newPresence(nc *nats.Conn) *presence {
	return &presence{nc: nc, open: map[string]*poll{}, latest: map[string]latestPoll{}}
}

func (p *presence) start() error {
	for at, take := range map[string]nats.MsgHandler{presenceBase + "*": p.nobody, subject.PresentAll(): p.here} {
		sub, err := p.nc.Subscribe(at, take)
		if err != nil {
			return fmt.Errorf("presence: %w", err)
		}
		p.subs = append(p.subs, sub)
	}
	return nil
}

func (p *presence) stop() {
	for _, sub := range p.subs {
		_ = sub.Unsubscribe()
	}
}

// recent is [presence.ask], or its result if the same session was just polled:
// for information only, not for decisions.
func (p *presence) recent(tenant, session string) *poll {
	where := tenant + "." + session
	p.mu.Lock()
	last, ok := p.latest[where]
	p.mu.Unlock()
	if ok && time.Since(last.at) < freshTime {
		return last.poll
	}
	r := p.ask(tenant, session)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latest[where] = latestPoll{r, time.Now()}
	return r
}

// ask polls presence for a session, without waiting.
func (p *presence) ask(tenant, session string) *poll {
	id := cloudevent.NewID()
	r := &poll{tenant: tenant, session: session, heard: make(chan struct{})}
	p.mu.Lock()
	p.open[id] = r
	p.mu.Unlock()
	time.AfterFunc(pollTime, func() {
		p.mu.Lock()
		delete(p.open, id)
		if where := tenant + "." + session; p.latest[where].poll == r {
			delete(p.latest, where)
		}
		p.mu.Unlock()
	})
	if err := p.nc.PublishRequest(subject.Here(tenant, session), presenceBase+id, nil); err != nil {
		r.once.Do(func() { close(r.heard) })
	}
	return r
}

// nobody handles the server's "no responders" reply.
func (p *presence) nobody(m *nats.Msg) {
	if len(m.Data) > 0 || m.Header.Get("Status") != "503" {
		return // sent by a client, which proves nothing
	}
	if r := p.find(strings.TrimPrefix(m.Subject, presenceBase)); r != nil {
		r.once.Do(func() { close(r.heard) })
	}
}

// here handles a surface's reply. NATS has checked its type and whether it may
// reply for the session.
func (p *presence) here(m *nats.Msg) {
	typ, tenant, session, id, ok := subject.ParsePresent(m.Subject)
	r := p.find(id)
	if !ok || r == nil || r.tenant != tenant || r.session != session {
		return
	}
	r.mu.Lock()
	if len(r.types) < maxPresent && !slices.Contains(r.types, typ) {
		r.types = append(r.types, typ)
	}
	r.mu.Unlock()
	r.once.Do(func() { close(r.heard) })
}

func (p *presence) find(id string) *poll {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open[id]
}

// wait returns the types with a person present: after the first reply, after
// "no responders", or after limit.
func (r *poll) wait(ctx context.Context, limit time.Duration) []string {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-r.heard:
	case <-t.C:
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	types := slices.Clone(r.types)
	slices.Sort(types)
	return types
}
