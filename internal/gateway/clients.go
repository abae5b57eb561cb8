package gateway

import (
	"log/slog"
	"sync"

	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
)

// idleClients is how many sessions keep their subscription with nobody waiting.
const idleClients = 256

// clients shares one client a session among all who wait for it.
type clients struct {
	nc  *nats.Conn
	log *slog.Logger

	mu   sync.Mutex
	open map[[2]string]*shared
	idle [][2]string // the longest idle first
	done bool
}

type shared struct {
	*client.Client
	users int
}

func newClients(nc *nats.Conn, log *slog.Logger) *clients {
	return &clients{nc: nc, log: log, open: map[[2]string]*shared{}}
}

// use gives the client of a session until release is called.
func (c *clients) use(tenant, session string) (shared *client.Client, release func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done {
		return nil, nil, client.ErrClosed
	}
	key := [2]string{tenant, session}
	s := c.open[key]
	if s == nil {
		if s, err = c.make(key); err != nil {
			return nil, nil, err
		}
	}
	s.users++
	return s.Client, sync.OnceFunc(func() { c.release(key, s) }), nil
}

func (c *clients) make(key [2]string) (*shared, error) {
	one, err := client.New(c.nc, key[0], key[1], client.Options{Logger: c.log})
	if err != nil {
		return nil, err
	}
	s := &shared{Client: one}
	c.open[key] = s
	return s, nil
}

func (c *clients) release(key [2]string, s *shared) {
	c.mu.Lock()
	s.users--
	var gone []*shared
	if s.users == 0 && !c.done {
		c.idle = append(c.idle, key)
	}
	for len(c.idle) > idleClients {
		old := c.idle[0]
		c.idle = c.idle[1:]
		if one := c.open[old]; one != nil && one.users == 0 {
			delete(c.open, old)
			gone = append(gone, one)
		}
	}
	c.mu.Unlock()
	for _, one := range gone {
		_ = one.Close() // gives the subscription back
	}
}

// close ends every wait.
func (c *clients) close() {
	c.mu.Lock()
	c.done = true
	all := c.open
	c.open, c.idle = map[[2]string]*shared{}, nil
	c.mu.Unlock()
	for _, s := range all {
		_ = s.Close()
	}
}
