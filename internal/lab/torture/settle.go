package torture

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/responder"
)

// crowd holds a run's surfaces while they work.
type crowd struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	lim    Limits
}

// surfaces starts two live screens, one of them for one tenant, and two replicas of a posting
// surface, and waits until they receive events.
func (d *driver) surfaces(ctx context.Context) (*crowd, Limits, error) {
	ctx, cancel := context.WithCancel(ctx)
	c := &crowd{cancel: cancel, lim: Limits{
		Screens: map[string]string{"screen": "", "screen of acme": "acme"}, Posting: []string{postingType},
	}}
	ready := make(chan struct{}, 64)
	tell := func() func() { return sync.OnceFunc(func() { ready <- struct{}{} }) }
	for name, tenant := range c.lim.Screens {
		nc, err := d.open(rights.Role{Name: rights.RoleResponder, Type: "web"})
		if err != nil {
			cancel()
			return nil, Limits{}, err
		}
		r, err := responder.New(nc, "web", responder.Options{Limit: 1 << 20, Logger: d.log})
		if err != nil {
			cancel()
			return nil, Limits{}, err
		}
		if tenant != "" {
			if r, err = d.tenantScreen(tenant); err != nil {
				cancel()
				return nil, Limits{}, err
			}
		}
		heard := tell()
		c.done.Go(func() { _ = d.screen(ctx, name, r, heard) })
	}
	for range 2 {
		nc, err := d.open(rights.Role{Name: rights.RoleResponder, Type: postingType})
		if err != nil {
			cancel()
			return nil, Limits{}, err
		}
		r, err := responder.New(nc, postingType, responder.Options{Logger: d.log, Now: shifted(-d.skew)})
		if err != nil {
			cancel()
			return nil, Limits{}, err
		}
		heard := tell()
		c.done.Go(func() { d.posting(ctx, r, heard) })
	}
	limit := time.After(15 * time.Second)
	for range 4 {
		select {
		case <-ready:
		case <-limit: // the bus is slow or unreachable: they start late
		}
	}
	c.lim.ScreensReady, c.lim.PostingFrom = d.h.now(), d.h.now()
	return c, c.lim, nil
}

func (d *driver) tenantScreen(tenant string) (*responder.Responder, error) {
	nc, err := d.open(rights.Role{Name: rights.RoleResponder, Type: "web", Tenant: tenant})
	if err != nil {
		return nil, err
	}
	return responder.New(nc, "web", responder.Options{Tenant: tenant, Limit: 1 << 20, Logger: d.log})
}

// settle waits while a surface misses an end, up to its limit.
func (c *crowd) settle(ctx context.Context, d *driver, limit time.Duration) {
	lim := c.lim
	lim.Retention, lim.Ends, lim.Undisturbed, lim.Posts = d.retention, time.Hour, true, 0
	last := time.Now().Add(min(limit, settleMost))
	for time.Now().Before(last) {
		lim.End = d.h.now() + time.Hour
		late := slices.ContainsFunc(Check(d.h.all(), lim), func(v Violation) bool { return v.Rule == SurfaceLearns })
		if !late || !until(ctx, time.Now().Add(200*time.Millisecond)) {
			return
		}
	}
}

// settleMost is part of the 8 s by which a run may exceed its duration.
const settleMost = 2 * time.Second

func (c *crowd) stop() {
	c.cancel()
	c.done.Wait()
}
