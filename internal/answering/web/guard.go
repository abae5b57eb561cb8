package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/pkg/ask"
)

const csp = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; manifest-src 'self'; " +
	"require-trusted-types-for 'script'; trusted-types askbus askbus-worker"

// guard handles every request first: it checks the host, sets restrictive
// headers, refuses pages of other origins and bounds the body.
func (s *Server) guard(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	deny := func(w http.ResponseWriter, r *http.Request) {
		s.noteRefused(r, "request of another page", ask.By{}, ask.Refuse(ask.CodeForbidden, "a page of another site tried to act in somebody's name"))
		l := answeredIn(w)
		s.plain(w, http.StatusForbidden, plainPage{
			Title: l.Say("Not from this page"),
			Lines: []string{l.Say("Another web page tried to act in your name. Nothing was done.")},
		})
	}
	cross.SetDenyHandler(http.HandlerFunc(deny))
	next = cross.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l, h := languageOf(r), w.Header()
		h.Set("Content-Language", l.Tag)
		h.Set("Content-Security-Policy", csp)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		h.Set("Cache-Control", "no-store")
		if !httpserver.KnownHost(r.Host, s.base.Host, s.opts.Hosts) {
			s.plain(w, http.StatusMisdirectedRequest, plainPage{
				Title: l.Say("Unknown host name"),
				Lines: []string{l.Say("This inbox is not configured for the host name %s. If it should be, add the name to %s.", strconv.Quote(r.Host), "ASKBUS_WEB_HOSTS")},
			})
			return
		}
		if s.foreign(r) {
			deny(w, r)
			return
		}
		most := int64(maxBody)
		if isUpload(r) {
			most = ask.MaxFileBytes
		}
		r.Body = http.MaxBytesReader(w, r.Body, most)
		if accepts(r) {
			w = packing{w}
		}
		next.ServeHTTP(w, r)
	})
}

// foreign reports whether a page of another origin reads something. Such a page
// may lead here, but it cannot see what it gets, and a stream that it opens would
// count as a present person. Writes are [http.CrossOriginProtection]'s.
func (s *Server) foreign(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || r.URL.Path == reachPath {
		return false
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || !strings.EqualFold(u.Host, r.Host) && !strings.EqualFold(u.Host, s.base.Host) {
			return true
		}
	}
	site := r.Header.Get("Sec-Fetch-Site")
	return (site == "cross-site" || site == "same-site") && r.Header.Get("Sec-Fetch-Mode") != "navigate"
}
