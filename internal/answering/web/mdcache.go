package web

import (
	lru "container/list"
	"context"
	"crypto/sha256"
	"sync"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
)

// maxCached bounds the cache of rendered texts, in bytes of text and HTML.
const maxCached = 16 << 20

// rendered is an LRU cache of rendered texts. Concurrent requests for the same
// text wait for one rendering.
type rendered struct {
	mu    sync.Mutex
	held  map[[sha256.Size]byte]*lru.Element
	order lru.List // of *keptText, most recently used first
	bytes int
	slots chan struct{} // bounds concurrent renderings
}

// keptText is one text. html is written before ready is closed.
type keptText struct {
	key   [sha256.Size]byte
	ready chan struct{}
	html  template.HTML
	bytes int
}

func newRendered(atOnce int) *rendered {
	return &rendered{held: map[[sha256.Size]byte]*lru.Element{}, slots: make(chan struct{}, atOnce)}
}

// get returns the HTML of a text from the cache or from render. Errors are not
// cached: they mean that the caller's context ended, and the next caller tries
// again.
func (c *rendered) get(ctx context.Context, text string, render func(context.Context) (template.HTML, error)) (template.HTML, error) {
	key := sha256.Sum256([]byte(text))
	for {
		c.mu.Lock()
		if at := c.held[key]; at != nil {
			p, _ := at.Value.(*keptText)
			c.order.MoveToFront(at)
			c.mu.Unlock()
			select {
			case <-p.ready:
			case <-ctx.Done():
				return "", ctx.Err()
			}
			if p.bytes > 0 {
				return p.html, nil
			}
			continue // the caller that rendered it gave up
		}
		p := &keptText{key: key, ready: make(chan struct{})}
		c.held[key] = c.order.PushFront(p)
		c.mu.Unlock()
		return c.fill(ctx, p, render)
	}
}

func (c *rendered) fill(ctx context.Context, p *keptText, render func(context.Context) (template.HTML, error)) (html template.HTML, err error) {
	done := false
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if done {
			p.html, p.bytes = html, len(html)+256
			c.bytes += p.bytes
			c.evict()
		} else if at := c.held[p.key]; at != nil {
			c.order.Remove(at)
			delete(c.held, p.key)
		}
		close(p.ready)
	}()
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	html, err = render(ctx)
	done = err == nil
	return html, err
}

// evict removes the least recently used texts. Texts that are being rendered
// have no size yet and stay.
func (c *rendered) evict() {
	for at := c.order.Back(); at != nil && c.bytes > maxCached; {
		before := at.Prev()
		if p, _ := at.Value.(*keptText); p.bytes > 0 {
			c.bytes -= p.bytes
			c.order.Remove(at)
			delete(c.held, p.key)
		}
		at = before
	}
}
