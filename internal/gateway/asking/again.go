package asking

import (
	"sync"

	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/internal/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// maxAgain is how many asks are remembered.
const maxAgain = 10_000

// again remembers asks that came without an id, until their caller was told
// the outcome: foreign clients that lost their connection, or their patience,
// send the same body again, and must find their ask and not ask twice. It is a
// help, not a promise; callers that need one send an Idempotency-Key.
type again struct {
	mu   sync.Mutex
	ids  map[string]ask.Key
	keys map[ask.Key]string
}

func newAgain() *again { return &again{ids: map[string]ask.Key{}, keys: map[ask.Key]string{}} }

// name gives the ask the id of the same one that is still open, or a new one.
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
		for old, k := range m.ids { // any one
			delete(m.ids, old)
			delete(m.keys, k)
			break
		}
	}
	m.ids[at], m.keys[a.Key()] = a.Key(), at
	return nil
}

// told forgets an ask whose outcome its caller has.
func (m *again) told(k ask.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at, known := m.keys[k]; known {
		delete(m.keys, k)
		delete(m.ids, at)
	}
}
