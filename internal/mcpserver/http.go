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

	"github.com/askbus/askbus/internal/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// HTTP is the streamable HTTP door. It stands behind a guard that knows its
// host names, so that no foreign page reaches it under a name of its own.
type HTTP struct {
	// BaseURL is where callers reach the door, without a slash at the end.
	BaseURL string
	// Caller finds out who calls. The error is an [*ask.Error] whose status is
	// the response's.
	Caller func(*http.Request) (Caller, error)
}

// Paths of the door, below its base URL.
const (
	Path         = "/mcp"
	MetadataPath = "/.well-known/oauth-protected-resource" // also with Path behind it (RFC 9728)
)

// maxBody bounds one request.
const maxBody = 1 << 20

type callerKey struct{}

// Handler serves MCP without sessions: any replica may take any request. A call
// that still waits when life ends is told that its ask is pending.
func (s *Server) Handler(life context.Context, h HTTP) http.Handler {
	streams := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		who, ok := r.Context().Value(callerKey{}).(Caller)
		if !ok {
			return nil
		}
		return s.server(life, who)
	}, &mcp.StreamableHTTPOptions{
		Stateless: true, // 2026-07-28 is negotiated only so
		Logger:    s.opts.Logger, MaxRequestBodyBytes: maxBody,
		PropagateRequestCancellation: true,
		DisableLocalhostProtection:   true, // the guard's
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := h.Caller(r)
		if err != nil {
			h.refuse(w, err)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if errors.Is(err, os.ErrDeadlineExceeded) {
			h.refuse(w, ask.Refuse(wire.CodeSlowBody, "the body did not come in time; send it at once"))
			return
		}
		if err != nil {
			h.refuse(w, ask.Refuse(ask.CodeTooLarge, "the body cannot be read, or has more than %d bytes", maxBody))
			return
		}
		// A request of its own, as the SDK puts its own body into it.
		r = r.WithContext(context.WithValue(r.Context(), callerKey{}, who))
		r.Body = io.NopCloser(bytes.NewReader(body))
		beating(w, r, streams)
	})
}

// refuse writes a problem body; without a token it says where to learn how to
// get one.
func (h HTTP) refuse(w http.ResponseWriter, err error) {
	e := wire.AsError(err)
	status := wire.HTTPStatus(e.Code)
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer realm=\"askbus\", resource_metadata=%q", h.BaseURL+MetadataPath+Path))
	}
	w.Header().Set("Content-Type", wire.TypeProblem)
	w.WriteHeader(status)
	_, _ = w.Write(wire.EncodeProblem(e)) // nobody is left to be told
}

// Metadata serves the document about the door that OAuth clients look for. The
// tokens are ours, so it names no authorization server.
func (h HTTP) Metadata() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "use GET", http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Access-Control-Allow-Origin", "*") // public, and meant for any client
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		_ = e.Encode(map[string]any{ // nobody is left to be told
			"resource":                 h.BaseURL + Path,
			"resource_name":            "askbus",
			"bearer_methods_supported": []string{"header"},
		})
	})
}

// streamed reports whether a client takes an event stream.
func streamed(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}
