package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// HTTP configures the streamable HTTP handler. It must be behind a guard that checks host names, so
// that no foreign page reaches it by its own name.
type HTTP struct {
	// BaseURL is the public URL, without a trailing slash.
	BaseURL string
	// Caller authenticates a request. The error is an [*ask.Error] with the response's status.
	Caller func(*http.Request) (Caller, error)
	// Issuers are the accepted authorization servers, and Scopes the scopes that their tokens need.
	// Nil: accept only our own tokens.
	Issuers, Scopes func() []string
	// Ended reports whether a request's context ended because its caller lost the right to call, not
	// because the client disconnected. Nil: never.
	Ended func(context.Context) bool
}

// Paths below the base URL.
const (
	Path         = "/mcp"
	MetadataPath = "/.well-known/oauth-protected-resource" // also followed by Path (RFC 9728)
)

// maxBody bounds one request.
const maxBody = 1 << 20

type callerKey struct{}

// Handler serves MCP without sessions: any replica may handle any request. When life ends, a
// waiting call returns that its ask is pending.
func (s *Server) Handler(life context.Context, h HTTP) http.Handler {
	by := func(ctx context.Context) (called, bool) {
		who, ok := ctx.Value(callerKey{}).(called)
		return who, ok
	}
	plain, permitting := s.server(false, by), s.server(true, by) // making one for each request costs more than the request
	streams := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		switch who, ok := by(r.Context()); {
		case !ok:
			return nil
		case who.Permissions:
			return permitting
		}
		return plain
	}, &mcp.StreamableHTTPOptions{
		Stateless: true, // required to negotiate 2026-07-28
		Logger:    s.opts.Logger, MaxRequestBodyBytes: maxBody,
		PropagateRequestCancellation: true,
		DisableLocalhostProtection:   true, // the guard does it
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { //nolint:contextcheck // calls outlive their caller's right, below
		who, err := h.Caller(r)
		if err != nil {
			h.refuse(w, r, err)
			return
		}
		r, body, began, again := resumed(r)
		if !again {
			body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			h.refuse(w, r, ask.Refusal(wire.CodeSlowBody, ask.FaultSlowBody))
			return
		}
		if err != nil {
			h.refuse(w, r, ask.Refusal(ask.CodeTooLarge, ask.FaultLargeBody, maxBody))
			return
		}
		if err := errors.Join(wire.CheckCharset(r.Header.Get("Content-Type")), checkBatch(body)); err != nil {
			h.refuse(w, r, err)
			return
		}
		// When the caller loses its right, only its waiting calls end: the SDK answers nothing once the request's context has
		// ended, and clients wait on for an answer after their stream.
		over, end := context.WithCancel(context.Background())
		ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
		defer cancel()
		request := r.Context()
		defer context.AfterFunc(request, func() { //nolint:contextcheck // the request's context says why it ended
			if h.Ended != nil && h.Ended(request) {
				end()
			} else {
				cancel()
			}
		})()
		// Copy the request, because the SDK replaces its body.
		r = r.WithContext(context.WithValue(ctx, callerKey{}, called{who, life, over, began})) //nolint:contextcheck // life is the handler's
		r.Body = io.NopCloser(bytes.NewReader(body))
		beating(w, r, streams, eventID(r, body, began))
	})
}

// checkBatch refuses a body that is no text, or a batch of more than [maxBatch] messages. What is no
// message the library refuses.
func checkBatch(body []byte) error {
	if err := wire.CheckText(body); err != nil {
		return err
	}
	var all []json.RawMessage
	if json.Unmarshal(body, &all) == nil && len(all) > maxBatch {
		return ask.Refusal(ask.CodeTooLarge, ask.FaultLongBatch, len(all), maxBatch)
	}
	return nil
}

// refuse writes a problem body. Who has no token that counts is told where to
// learn how to get one (RFC 6750, RFC 9728).
func (h HTTP) refuse(w http.ResponseWriter, r *http.Request, err error) {
	e := wire.AsError(err)
	status := wire.HTTPStatus(e.Code)
	if status == http.StatusUnauthorized || e.Code == wire.CodeScope {
		w.Header().Set("WWW-Authenticate", h.challenge(e.Code, r.Header.Get("Authorization") != ""))
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	w.Header().Set("Content-Type", wire.TypeProblem)
	w.WriteHeader(status)
	_, _ = w.Write(wire.EncodeProblem(e.In(r.Header.Get("Accept-Language")))) //nolint:gosec // JSON, and declared as such; the client may be gone
}

// challenge says why a token does not count, and where the metadata is.
func (h HTTP) challenge(code string, hadToken bool) string {
	c := `Bearer realm="askbus"`
	switch {
	case code == wire.CodeScope:
		c += `, error="insufficient_scope"`
	case hadToken:
		c += `, error="invalid_token"`
	}
	if scopes := names(h.Scopes); len(scopes) > 0 {
		c += fmt.Sprintf(", scope=%q", strings.Join(scopes, " "))
	}
	return c + fmt.Sprintf(", resource_metadata=%q", h.BaseURL+MetadataPath+Path)
}

// names calls f, which may be nil.
func names(f func() []string) []string {
	if f == nil {
		return nil
	}
	return f()
}

// metadata describes a protected resource (RFC 9728).
type metadata struct {
	Resource             string   `json:"resource"`
	Name                 string   `json:"resource_name"`
	Methods              []string `json:"bearer_methods_supported"`
	AuthorizationServers []string `json:"authorization_servers,omitempty"`
	Scopes               []string `json:"scopes_supported,omitempty"`
}

// Metadata serves the OAuth metadata of the handler. It names the authorization servers whose tokens
// are accepted in addition to ours.
func (h HTTP) Metadata() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			h.refuse(w, r, ask.Refusal(wire.CodeMethod, ask.FaultMethodNotAllowed, ask.Clip(r.Method, 20), "GET, HEAD"))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Access-Control-Allow-Origin", "*") // public
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		_ = e.Encode(metadata{h.BaseURL + Path, "askbus", []string{"header"}, names(h.Issuers), names(h.Scopes)}) // the client may be gone
	})
}

// streamed reports whether a client accepts an event stream.
func streamed(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}
