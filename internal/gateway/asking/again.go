package asking

import (
	"sync"

	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/internal/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// maxAgain bounds the remembered asks.
const maxAgain = 10_000

// again remembers asks without an id until their outcome was delivered: foreign clients that lost
// their connection or timed out repeat the body, and must find their ask instead of asking twice.
// It is best effort; callers that need a guarantee send an Idempotency-Key.
type again struct {
	mu   sync.Mutex
	ids  map[string]ask.Key
	keys map[ask.Key]string
}

func newAgain() *again { return &again{ids: map[string]ask.Key{}, keys: map[ask.Key]string{}} }

// name sets the id of the identical open ask, or a new one.
func (m *again) name(a *ask.Ask) error {
	digest, err := wire.Digest(a)
	if err != nil {
		return err
	}
	at := a.Tenant + "/" + a.Session + "/" + digest
	m.mu.Lock()
	defer m.mu.Unlock()
	if k, known := m.ids[at]; known {
		a.ID = k.ID
		return nil
	}
	a.ID = cloudevent.NewID()
	if len(m.ids) >= maxAgain {
		for old, k := range m.ids { // evict any one
			delete(m.ids, old)
			delete(m.keys, k)
			break
		}
	}
	m.ids[at], m.keys[a.Key()] = a.Key(), at
	return nil
}

// told forgets an ask whose outcome was delivered.
func (m *again) told(k ask.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at, known := m.keys[k]; known {
		delete(m.keys, k)
		delete(m.ids, at)
	}
}
