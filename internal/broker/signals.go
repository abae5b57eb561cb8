package broker

import "sync"

// signals wake requests for work when something of their tenant was
// republished, or of any tenant when they wait for every one. A tenant's
// traffic does not wake the others.
type signals struct {
	mu      sync.Mutex
	waiting map[string]map[chan struct{}]struct{} // by tenant; empty: every one
}

func newSignals() *signals { return &signals{waiting: map[string]map[chan struct{}]struct{}{}} }

// wait returns a channel that holds a signal when something happened since it
// was last received from, until leave is called.
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

// notify wakes who waits for this tenant, or for every one.
func (s *signals) notify(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wake(s.waiting[""])
	wake(s.waiting[tenant])
}

// notifyAll wakes everybody.
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
