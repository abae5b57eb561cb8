package client

import (
	"errors"
	"log/slog"
	"maps"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

const (
	// aliveEvery is how often a client with waits asks the known brokers
	// whether they are running.
	aliveEvery = 3 * time.Second
	// maxHolders bounds the number of brokers to ask.
	maxHolders = 16
)

// heardOf remembers a broker that reported an ask as pending.
func (c *Client) heardOf(holder string) {
	if !ask.ValidToken(holder) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.holders[holder]; known || len(c.holders) < maxHolders {
		c.holders[holder] = struct{}{}
	}
}

// watchHolders makes every wait ask again when a broker has gone, because
// another broker must take over its asks. It runs while any wait is open.
func (c *Client) watchHolders(quiet <-chan struct{}) {
	tick := time.NewTicker(c.pace.alive)
	defer tick.Stop()
	for {
		select {
		case <-quiet:
			return
		case <-tick.C:
		}
		if c.nc.IsConnected() {
			c.askHolders()
		}
	}
}

// askHolders asks each known broker whether it runs, over a session with open
// waits.
func (c *Client) askHolders() {
	c.mu.Lock()
	var at ask.Session
	for at = range c.watchers {
		break
	}
	holders := maps.Clone(c.holders)
	c.mu.Unlock()
	if at.Name == "" {
		return
	}
	gone := false
	for holder := range holders {
		err := c.on.Alive(at, holder, c.pace.alive)
		if !errors.Is(err, nats.ErrNoResponders) && !errors.Is(err, nats.ErrTimeout) {
			continue // it runs, or the connection is gone and nothing is known
		}
		gone = true
		c.mu.Lock()
		delete(c.holders, holder)
		c.mu.Unlock()
		c.opts.Logger.Debug("a broker has gone; asking another one", slog.String("broker", holder))
	}
	if gone {
		c.checkAgain(ask.Key{})
	}
}
