package bench

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/lab/fakeslack"
)

// gate is between a surface and the HTTP API of its platform: it can be closed, and counts the calls that the platform
// refuses because there were too many.
type gate struct {
	url     string
	srv     *httptest.Server
	down    atomic.Bool
	failed  atomic.Int64 // while it was closed
	refused atomic.Int64
}

// newGate makes a gate to an address. Limit, if it is not nil, reports whether a call exceeds a limit that the platform's
// fake does not have.
func newGate(address string, limit func(*http.Request) bool) (*gate, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	g := &gate{}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: u.Scheme, Host: u.Host}) },
		Transport: &http.Transport{MaxIdleConnsPerHost: 64, DialContext: (&net.Dialer{}).DialContext},
		ErrorLog:  log.New(io.Discard, "", 0), // of a surface that stops
		ModifyResponse: func(r *http.Response) error {
			if r.StatusCode != http.StatusTooManyRequests && r.StatusCode != http.StatusBadRequest {
				return nil
			}
			body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
			if r.StatusCode == http.StatusTooManyRequests || bytes.Contains(body, []byte("frequency limit")) { // Feishu's words
				g.refused.Add(1)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			return err
		},
	}
	g.srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case g.down.Load():
			g.failed.Add(1)
			http.Error(w, "away", http.StatusServiceUnavailable)
		case limit != nil && limit(r):
			g.refused.Add(1)
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, `{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":1}}`)
		default:
			proxy.ServeHTTP(w, r)
		}
	}))
	g.url = g.srv.URL + u.Path
	return g, nil
}

func (g *gate) close() {
	g.srv.CloseClientConnections()
	g.srv.Close()
}

// window is a limit: so many calls in so many seconds.
type window struct{ calls, seconds int }

// atMost returns a function that counts a call, and reports whether it exceeds one of the limits by a clock.
func atMost(w fakeslack.Wall, all ...window) func(*http.Request) bool {
	var mu sync.Mutex
	var made []time.Time
	return func(*http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		now := w.Now()
		for _, limit := range all {
			n := 0
			for i := len(made) - 1; i >= 0 && now.Sub(made[i]) < time.Duration(limit.seconds)*time.Second; i-- {
				n++
			}
			if n >= limit.calls {
				return true
			}
		}
		made = append(made, now)
		return false
	}
}
