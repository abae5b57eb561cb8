package chattest

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// App is a surface of a chat.
type App interface {
	comparable
	Ready() error
}

// Replicas are the running replicas of a chat's surface. It is safe for concurrent use.
type Replicas[A App] struct {
	mu   sync.Mutex
	all  []A
	last A
}

// Add adds one until remove is called.
func (r *Replicas[A]) Add(one A) (remove func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all, r.last = append(r.all, one), one
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.all = slices.DeleteFunc(r.all, func(a A) bool { return a == one })
	}
}

// Newest returns the one that started last of those that run.
func (r *Replicas[A]) Newest() (one A, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.all); n > 0 {
		return r.all[n-1], true
	}
	return one, false
}

// Len returns how many run.
func (r *Replicas[A]) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.all)
}

// Ready returns what the one that started last says of itself.
func (r *Replicas[A]) Ready() error {
	r.mu.Lock()
	last := r.last
	r.mu.Unlock()
	var none A
	if last == none {
		return errors.New("none was started")
	}
	return last.Ready()
}

// Front serves an address whose requests go to the newest replica, and returns it.
func (r *Replicas[A]) Front(t *testing.T, handler func(A) http.Handler) string {
	t.Helper()
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if app, ok := r.Newest(); ok {
			handler(app).ServeHTTP(w, req)
			return
		}
		http.Error(w, "nobody", http.StatusBadGateway)
	}))
	t.Cleanup(front.Close)
	return front.URL
}
