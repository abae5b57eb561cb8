package wsapi

import (
	"log/slog"
	"sync"
)

// presence declares to the bus that people are present, once per scope for any number of sockets.
type presence struct {
	declare func(tenant, session string) (leave func(), err error)
	log     *slog.Logger

	mu   sync.Mutex
	at   map[scope]*attending
	done bool
}

type attending struct {
	n     int
	leave func()
}

func (p *presence) enter(at scope) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.at[at]
	if one == nil {
		one = &attending{}
		p.at[at] = one
	}
	one.n++
	if one.leave != nil || p.done {
		return
	}
	leave, err := p.declare(at.tenant, at.session)
	if err != nil {
		p.log.Warn("cannot declare presence", slog.Any("error", err))
		return
	}
	one.leave = leave
}

func (p *presence) leave(at scope) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.at[at]
	if one == nil {
		return
	}
	if one.n--; one.n > 0 {
		return
	}
	delete(p.at, at)
	if one.leave != nil {
		one.leave()
	}
}

func (p *presence) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = true
	for _, one := range p.at {
		if one.leave != nil {
			one.leave()
		}
	}
	clear(p.at)
}
