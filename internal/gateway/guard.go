package gateway

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

const (
	maxBody = 1 << 20 // of a request, in bytes

	allowMethods  = "GET, HEAD, POST, DELETE, OPTIONS"
	allowHeaders  = "Authorization, Content-Type, Idempotency-Key, Askbus-Wait, Askbus-Session, Mcp-Session-Id, Mcp-Protocol-Version, Last-Event-ID, traceparent, ce-specversion, ce-type, ce-source, ce-id, ce-subject, ce-time, ce-partitionkey, ce-traceparent"
	exposeHeaders = "Location, Retry-After, Mcp-Session-Id, Askbus-State, Askbus-Source, Askbus-Warnings, ce-specversion, ce-type, ce-source, ce-id, ce-subject, ce-time, ce-partitionkey"
	denyAll       = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)

// guard is what every request passes: a known host, headers that forbid what
// nobody needs, no writes from pages of other sites, and a bounded number of
// requests with bounded bodies.
func (g *Gateway) guard(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	for _, origin := range g.opts.CORSOrigins {
		if err := cross.AddTrustedOrigin(origin); err != nil {
			g.opts.Logger.Error("this origin stays closed", slog.Any("error", err)) // New has checked it
		}
	}
	cross.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.refuse(w, r, ask.Refuse(http.StatusForbidden, ask.CodeForbidden, "pages of %.100q may not call this; add the origin to ASKBUS_CORS_ORIGINS if they should", r.Header.Get("Origin")))
	}))
	next = cross.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", denyAll)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer") // a token may stand in the path
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		r = inPath(r)
		if !g.knownHost(r.Host) {
			g.refuse(w, r, ask.Refuse(http.StatusMisdirectedRequest, ask.CodeForbidden, "this gateway does not answer for %.100q; if it should, add that name to ASKBUS_WEB_HOSTS", hostOf(r.Host)))
			return
		}
		if g.cors(w, r) {
			return
		}
		select {
		case g.slots <- struct{}{}:
			defer func() { <-g.slots }()
		default:
			g.refuse(w, r, ask.Refuse(http.StatusServiceUnavailable, ask.CodeQuota, "%d requests are under way, which is as many as this gateway takes", cap(g.slots)))
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}

// cors lets pages of configured origins call, and answers their preflights.
func (g *Gateway) cors(w http.ResponseWriter, r *http.Request) (done bool) {
	origin, h := r.Header.Get("Origin"), w.Header()
	if len(g.opts.CORSOrigins) > 0 {
		h.Add("Vary", "Origin")
	}
	allowed := origin != "" && slices.Contains(g.opts.CORSOrigins, origin)
	if allowed {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", exposeHeaders)
	} else {
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
	}
	if r.Method != http.MethodOptions {
		return false
	}
	if allowed {
		h.Set("Access-Control-Allow-Methods", allowMethods)
		h.Set("Access-Control-Allow-Headers", allowHeaders)
		h.Set("Access-Control-Max-Age", "600")
	}
	h.Set("Allow", allowMethods)
	w.WriteHeader(http.StatusNoContent)
	return true
}

// knownHost is the guard against DNS rebinding.
func (g *Gateway) knownHost(hostport string) bool {
	host := hostOf(hostport)
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || host == hostOf(g.base.Host) {
		return true
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.Unmap().IsLoopback() {
		return true
	}
	return slices.ContainsFunc(g.opts.Hosts, func(h string) bool {
		return host != "" && host == hostOf(h) || strings.EqualFold(h, hostport)
	})
}

func hostOf(hostport string) string {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// body reads a request's body: whole, bounded, and within its time.
func (g *Gateway) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, ask.Refuse(http.StatusUnsupportedMediaType, ask.CodeInvalid, "the body is encoded as %.40q; send it as it is", e)
	}
	control := http.NewResponseController(w)
	// Not every ResponseWriter of a test has deadlines.
	_ = control.SetReadDeadline(time.Now().Add(g.opts.BodyTimeout))
	data, err := io.ReadAll(r.Body)
	switch {
	case err == nil:
		_ = control.SetReadDeadline(time.Time{})
		return data, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, ask.Refuse(http.StatusRequestTimeout, ask.CodeInvalid, "the body did not come within %s; send it at once", g.opts.BodyTimeout)
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, ask.Refuse(http.StatusRequestEntityTooLarge, ask.CodeTooLarge, "the body has more than %d bytes", tooLarge.Limit)
	}
	return nil, ask.Refuse(http.StatusBadRequest, ask.CodeInvalid, "the body ends too early")
}
