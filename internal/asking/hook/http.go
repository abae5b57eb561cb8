package hook

import (
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/asking/hook/hostcall"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// Path is the path of the hook below the gateway's base URL.
const Path = "/v1/hook"

// httpLimit is the default wait of a request: Node's fetch times out after 300 s without a
// response.
const httpLimit = 280 * time.Second

// maxBody bounds one event.
const maxBody = 1 << 20

// Handler serves the same events over HTTP: the body is a hook's standard input, the response its
// output. No decision is a 204 with the reason in the header Askbus-Reason; so is every failure
// that is not the caller's, because a hook must not block its agent. The query may set mode, limit and
// host.
//
// Authorize authenticates the caller before the body is read. The returned function gives the call
// for a session of the host. Its errors are [*ask.Error].
func (h *Hook) Handler(authorize func(*http.Request) (func(session string) (Call, error), error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", "POST")
			refuse(w, ask.Refusal(wire.CodeMethod, ask.FaultMethodNotAllowed, ask.Clip(r.Method, 20), "POST"))
			return
		}
		of, err := authorize(r)
		if err != nil {
			refuse(w, err)
			return
		}
		call, body, err := read(w, r, of)
		if err != nil {
			refuse(w, err)
			return
		}
		out, say := h.Run(r.Context(), call, body)
		if say != "" {
			w.Header().Set("Askbus-Reason", plain(say))
		}
		if out == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(out) //nolint:gosec // JSON, and declared as such; the client may be gone
	})
}

// read reads an authenticated caller's event. [Hook.Run] ignores events that are not about a
// question.
func read(w http.ResponseWriter, r *http.Request, of func(session string) (Call, error)) (Call, []byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return Call{}, nil, ask.Refusal(wire.CodeSlowBody, ask.FaultSlowBody)
	case err != nil:
		return Call{}, nil, ask.Refusal(ask.CodeTooLarge, ask.FaultLargeBody, maxBody)
	}
	if err := errors.Join(wire.CheckCharset(r.Header.Get("Content-Type")), wire.CheckText(body)); err != nil {
		return Call{}, nil, err
	}
	name := r.URL.Query().Get("host")
	host, known := hostcall.HostOf(name)
	if !known {
		return Call{}, nil, ask.Refusal(ask.CodeInvalid, ask.FaultBadParameter, "?host", ask.Clip(name, 20), strings.Join(hostcall.Hosts(), ", "))
	}
	event, ours, err := host.ReadEvent(body)
	if err != nil {
		return Call{}, nil, err
	}
	session := event.Ask.Session
	if end, ok := hostcall.ReadEnd(body); ok && end.Session != "" {
		session, ours = ask.Token(end.Session), true
	}
	call, err := of(session)
	call.Host = host
	if err == nil && ours {
		err = call.query(r)
	}
	return call, body, err
}

// query parses mode and limit. Host was read before; the others name the session and the tenant, which are the caller's.
func (c *Call) query(r *http.Request) error {
	known := []string{"mode", "limit", "host", "session", "tenant"}
	for name := range r.URL.Query() {
		if !slices.Contains(known, name) {
			return ask.Refusal(ask.CodeInvalid, ask.FaultUnknownParameter, "?"+ask.Clip(name, 80), strings.Join(known, ", "))
		}
	}
	c.Limit = httpLimit
	switch c.Mode = Mode(r.URL.Query().Get("mode")); c.Mode {
	case "", Wait, Race:
	case Defer:
		c.Limit = time.Nanosecond
	default:
		return ask.Refusal(ask.CodeInvalid, ask.FaultBadParameter, "?mode", ask.Clip(string(c.Mode), 20), "wait, race, defer")
	}
	if s := r.URL.Query().Get("limit"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil || d < 0 || d > ask.MaxHold {
			return ask.Refusal(ask.CodeInvalid, ask.FaultBadRange, "?limit", ask.Clip(s, 20), "0s", ask.MaxHold)
		}
		c.Limit = d
	}
	return nil
}

func refuse(w http.ResponseWriter, err error) {
	e := wire.AsError(err)
	status := wire.HTTPStatus(e.Code)
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="askbus"`)
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	w.Header().Set("Content-Type", wire.TypeProblem)
	w.WriteHeader(status)
	_, _ = w.Write(wire.EncodeProblem(e)) //nolint:gosec // JSON, and declared as such; the client may be gone
}

// plain returns s as a valid header value.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, s)
}
