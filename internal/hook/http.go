package hook

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/hook/hostcall"
	"github.com/askbus/askbus/internal/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// Path is where the hook is served over HTTP, below the base URL of the doors.
const Path = "/v1/hook"

// httpLimit is how long a request waits that does not say: Node's fetch gives
// up after 300 s without a response.
const httpLimit = 280 * time.Second

// maxBody bounds one event.
const maxBody = 1 << 20

// Handler serves the same events over HTTP: the body is what a host writes to
// a hook's standard input, the response what the hook prints. No decision is
// 204, with the reason in the header Askbus-Reason; so is every failure that
// is not the caller's, for a hook never stands in its agent's way. The query
// may say mode and limit.
//
// Authorize finds out who calls before anything of the body is read, and then
// says for whom the asks of the host's session are asked. Its errors are
// [*ask.Error].
func (h *Hook) Handler(authorize func(*http.Request) (func(session string) (Call, error), error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", "POST")
			refuse(w, ask.Refuse(wire.CodeMethod, "use POST"))
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
		_, _ = w.Write(out) //nolint:gosec // JSON, and declared as such; nobody is left to be told
	})
}

// read reads the event of a caller who is known. What is not about a question
// is for [Hook.Run] to see.
func read(w http.ResponseWriter, r *http.Request, of func(session string) (Call, error)) (Call, []byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return Call{}, nil, ask.Refuse(wire.CodeSlowBody, "the body did not come in time; send it at once")
	case err != nil:
		return Call{}, nil, ask.Refuse(ask.CodeTooLarge, "the body cannot be read, or has more than %d bytes", maxBody)
	}
	event, ours, err := hostcall.ReadEvent(body)
	if err != nil {
		return Call{}, nil, err
	}
	session := event.Ask.Session
	if end, ok := hostcall.ReadEnd(body); ok && end.Session != "" {
		session, ours = ask.Token(end.Session), true
	}
	call, err := of(session)
	if err == nil && ours {
		err = call.query(r)
	}
	return call, body, err
}

// query reads mode and limit.
func (c *Call) query(r *http.Request) error {
	c.Limit = httpLimit
	switch c.Mode = Mode(r.URL.Query().Get("mode")); c.Mode {
	case "", Wait, Race:
	case Defer:
		c.Limit = time.Nanosecond
	default:
		return ask.Refuse(ask.CodeInvalid, "mode is %.20q; use wait, race or defer", c.Mode)
	}
	if s := r.URL.Query().Get("limit"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil || d < 0 || d > ask.MaxHold {
			return ask.Refuse(ask.CodeInvalid, "limit is %.20q; use 0s to %s", s, ask.MaxHold)
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
	w.Header().Set("Content-Type", wire.TypeProblem)
	w.WriteHeader(status)
	_, _ = w.Write(wire.EncodeProblem(e)) //nolint:gosec // JSON, and declared as such; nobody is left to be told
}

// plain is s as a header may carry it.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, s)
}
