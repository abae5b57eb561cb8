package gateway

import (
	"net/http"
	"strings"
)

// With serves further handlers at exact paths, behind the gateway's guard and also below
// /t/<token>; the gateway serves all other paths.
func (g *Gateway) With(more map[string]http.Handler) http.Handler {
	ours := g.Handler()
	guarded := make(map[string]http.Handler, len(more))
	for path, h := range more {
		guarded[path] = g.access.Guard(h)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		if rest, ok := strings.CutPrefix(path, "/t/"); ok {
			_, after, _ := strings.Cut(rest, "/")
			path = "/" + after
		}
		if h := guarded[path]; h != nil {
			r.Pattern = path
			h.ServeHTTP(w, r)
			return
		}
		ours.ServeHTTP(w, r)
	})
}
