package slack

import (
	"container/list"
	"sync"
)

// lru is a cache of the most recently used values.
type lru[K comparable, V any] struct {
	most int

	mu    sync.Mutex
	order *list.List
	at    map[K]*list.Element
}

type lruEntry[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](most int) *lru[K, V] {
	return &lru[K, V]{most: most, order: list.New(), at: map[K]*list.Element{}}
}

func (l *lru[K, V]) get(key K) (V, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := l.at[key]; ok {
		l.order.MoveToFront(e)
		return e.Value.(*lruEntry[K, V]).value, true //nolint:forcetypeassert,errcheck // it has only entries
	}
	var zero V
	return zero, false
}

// put stores a value, and reports whether the key is new.
func (l *lru[K, V]) put(key K, value V) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := l.at[key]; ok {
		e.Value.(*lruEntry[K, V]).value = value //nolint:forcetypeassert,errcheck // as above
		l.order.MoveToFront(e)
		return false
	}
	l.at[key] = l.order.PushFront(&lruEntry[K, V]{key, value})
	if l.order.Len() > l.most {
		last := l.order.Back()
		l.order.Remove(last)
		delete(l.at, last.Value.(*lruEntry[K, V]).key) //nolint:forcetypeassert,errcheck // as above
	}
	return true
}

func (l *lru[K, V]) drop(key K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := l.at[key]; ok {
		l.order.Remove(e)
		delete(l.at, key)
	}
}
