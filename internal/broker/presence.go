package broker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// presence asks the surfaces whether a person is there. "No responders" means
// that nobody is.
type presence struct {
	nc  *nats.Conn
	sub *nats.Subscription

	mu     sync.Mutex
	open   map[string]*poll
	latest map[string]latestPoll // by session
}

type latestPoll struct {
	*poll
	at time.Time
}

// poll collects the replies to one question. It is forgotten after pollTime.
type poll struct {
	mu    sync.Mutex
	types []string
	once  sync.Once
	heard chan struct{} // closed at the first reply, or when nobody is there
}

const (
	pollTime     = 2 * time.Second
	freshTime    = 500 * time.Millisecond // asks that come faster share a poll
	presenceBase = subject.InboxBroker + ".here."
	maxPresent   = 64
)

func newPresence(nc *nats.Conn) *presence {
	return &presence{nc: nc, open: map[string]*poll{}, latest: map[string]latestPoll{}}
}

func (p *presence) start() error {
	var err error
	p.sub, err = p.nc.Subscribe(presenceBase+"*", p.reply)
	if err != nil {
		return fmt.Errorf("presence: %w", err)
	}
	return nil
}

func (p *presence) stop() { _ = p.sub.Unsubscribe() }

// recent is [presence.ask], or its result when somebody has just asked for the
// same session: for what is only told, never for what decides.
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

// ask asks who is there for a session, without waiting.
func (p *presence) ask(tenant, session string) *poll {
	id := cloudevent.NewID()
	r := &poll{heard: make(chan struct{})}
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

// reply takes what a surface says: its type, plain or as {"type": …}.
func (p *presence) reply(m *nats.Msg) {
	p.mu.Lock()
	r := p.open[strings.TrimPrefix(m.Subject, presenceBase)]
	p.mu.Unlock()
	if r == nil {
		return
	}
	typ := strings.TrimSpace(string(m.Data))
	if bytes.HasPrefix(m.Data, []byte("{")) {
		var w struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal(m.Data, &w)
		typ = w.Type
	}
	r.mu.Lock()
	if ask.ValidToken(typ) && len(r.types) < maxPresent && !slices.Contains(r.types, typ) {
		r.types = append(r.types, typ)
	}
	r.mu.Unlock()
	r.once.Do(func() { close(r.heard) })
}

// wait returns the types that are there: as soon as the first replied, or
// nobody is there, or after limit.
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
