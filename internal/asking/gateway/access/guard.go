package access

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

const (
	maxBody      = 1 << 20  // of a request, in bytes
	maxWithFiles = 12 << 20 // of one that may hold files, in base64
	filesPath    = "/v1/files"
	a2aPath      = "/a2a"

	allowMethods  = "GET, HEAD, POST, DELETE, OPTIONS"
	allowHeaders  = "Authorization, Content-Type, Idempotency-Key, Askbus-Wait, Askbus-Session, Mcp-Session-Id, Mcp-Protocol-Version, Mcp-Method, Mcp-Name, A2A-Version, A2A-Extensions, Last-Event-ID, traceparent, ce-specversion, ce-type, ce-source, ce-id, ce-subject, ce-time, ce-partitionkey, ce-traceparent"
	exposeHeaders = "Location, Retry-After, WWW-Authenticate, Mcp-Session-Id, Mcp-Protocol-Version, Mcp-Method, Mcp-Name, Askbus-State, Askbus-Source, Askbus-Warnings, ce-specversion, ce-type, ce-source, ce-id, ce-subject, ce-time, ce-partitionkey"
	public        = "/.well-known/" // documents for everybody, also for pages of other origins
	denyAll       = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)

// Guard wraps all handlers: it requires a known host, sets restrictive headers, refuses pages of
// other origins, and bounds the number of requests and the size of bodies.
func (a *Control) Guard(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	for _, origin := range a.opts.CORSOrigins {
		if err := cross.AddTrustedOrigin(origin); err != nil {
			a.opts.Logger.Error("invalid origin", slog.Any("error", err)) // New has validated it
		}
	}
	cross.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.refuse(w, r, nil, ask.Refusal(ask.CodeForbidden, ask.FaultForeignPage, ask.Clip(r.Header.Get("Origin"), 100)))
	}))
	next = cross.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", denyAll)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer") // the path may contain a token
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		r = inPath(r)
		if !httpserver.KnownHost(r.Host, a.base.Host, a.opts.Hosts) {
			a.refuse(w, r, nil, ask.Refusal(wire.CodeMisdirected, ask.FaultUnknownHost, ask.Clip(r.Host, 100), "web_hosts"))
			return
		}
		if a.cors(w, r) {
			return
		}
		if !strings.HasPrefix(r.URL.Path, public) {
			if err := a.OriginAllowed(r); err != nil {
				a.refuse(w, r, nil, err)
				return
			}
		}
		if a.stopping.Load() {
			h.Set("Connection", "close")
			a.refuse(w, r, nil, refuseStopping())
			return
		}
		select {
		case a.slots <- struct{}{}:
			defer func() { <-a.slots }()
		default:
			a.refuse(w, r, nil, ask.Refusal(ask.CodeUnavailable, ask.FaultTooManyAtOnce, cap(a.slots), "requests", "this_gateway"))
			return
		}
		most := int64(maxBody)
		switch {
		case r.URL.Path == filesPath:
			most = ask.MaxFileBytes
		case mayHoldFiles(r):
			most = maxWithFiles
		}
		r.Body = http.MaxBytesReader(w, r.Body, most)
		r, release := withTokens(r)
		defer release()
		next.ServeHTTP(w, r)
	})
}

// cors allows the configured origins, and answers their preflights. The usual library (rs/cors) knows no
// Cross-Origin-Resource-Policy for the others.
func (a *Control) cors(w http.ResponseWriter, r *http.Request) (done bool) {
	origin, h := r.Header.Get("Origin"), w.Header()
	if len(a.opts.CORSOrigins) > 0 {
		h.Add("Vary", "Origin")
	}
	allowed := origin != "" && slices.Contains(a.opts.CORSOrigins, origin)
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

// Body reads a request's whole body, with limits for its size and time. It is
// text in UTF-8.
func (a *Control) Body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if err := wire.CheckCharset(r.Header.Get("Content-Type")); err != nil {
		return nil, err
	}
	data, err := a.RawBody(w, r)
	if err != nil {
		return nil, err
	}
	return data, wire.CheckText(data)
}

// RawBody is Body for bytes of any kind.
func (a *Control) RawBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, ask.Refusal(wire.CodeMediaType, ask.FaultWrongEncoding, ask.Clip(e, 40))
	}
	control := http.NewResponseController(w)
	// Some tests' ResponseWriters have no deadlines.
	_ = control.SetReadDeadline(time.Now().Add(a.opts.BodyTimeout))
	data, err := io.ReadAll(r.Body)
	switch {
	case err == nil:
		_ = control.SetReadDeadline(time.Time{})
		return data, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, ask.Refusal(wire.CodeSlowBody, ask.FaultSlowBody)
	}
	if e, ok := errors.AsType[*ask.Error](err); ok {
		return nil, e
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, ask.Refusal(ask.CodeTooLarge, ask.FaultLargeBody, tooLarge.Limit)
	}
	return nil, ask.Refusal(ask.CodeInvalid, ask.FaultCutBody)
}
