package broker

import "sync"

// signals wake requests for work when something of their tenant was
// republished, or of any tenant if they wait for all. A tenant's traffic does
// not wake other tenants' requests.
type signals struct {
	mu      sync.Mutex
	waiting map[string]map[chan struct{}]struct{} // by tenant; empty: all
}

func newSignals() *signals { return &signals{waiting: map[string]map[chan struct{}]struct{}{}} }

// wait returns a channel that holds a signal if something happened since the
// last receive, until leave is called.
func (s *signals) wait(tenant string) (c <-chan struct{}, leave func()) {
	ch := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting[tenant] == nil {
		s.waiting[tenant] = map[chan struct{}]struct{}{}
	}
	s.waiting[tenant][ch] = struct{}{}
	return ch, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if delete(s.waiting[tenant], ch); len(s.waiting[tenant]) == 0 {
			delete(s.waiting, tenant)
		}
	}
}

// notify wakes the requests of this tenant, and those for all tenants.
func (s *signals) notify(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wake(s.waiting[""])
	wake(s.waiting[tenant])
}

// notifyAll wakes all requests.
func (s *signals) notifyAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, all := range s.waiting {
		wake(all)
	}
}

func wake(all map[chan struct{}]struct{}) {
	for ch := range all {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}
