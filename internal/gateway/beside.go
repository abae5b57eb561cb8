package gateway

import (
	"net/http"
	"strings"

	"github.com/askbus/askbus/internal/gateway/token"
)

// Beside serves further doors at exact paths, behind the same guard as ours and
// also below /t/<token>; all other paths are ours.
func (g *Gateway) Beside(doors map[string]http.Handler) http.Handler {
	ours := g.Handler()
	guarded := make(map[string]http.Handler, len(doors))
	for path, h := range doors {
		guarded[path] = g.guard(h)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		if rest, ok := strings.CutPrefix(path, "/t/"); ok {
			_, after, _ := strings.Cut(rest, "/")
			path = "/" + after
		}
		if h := guarded[path]; h != nil {
			h.ServeHTTP(w, r)
			return
		}
		ours.ServeHTTP(w, r)
	})
}

// Caller finds out who knocks at one of the doors beside ours. The error is an
// [*ask.Error] with the status to refuse with.
func (g *Gateway) Caller(r *http.Request) (token.Token, error) {
	var c caller
	if err := g.identify(r, &c); err != nil {
		return token.Token{}, problem(err)
	}
	return c.Token, nil
}
