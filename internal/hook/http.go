package hook

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
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
// Authorize says for whom a session's asks are asked; its error is an
// [*ask.Error].
func (h *Hook) Handler(authorize func(r *http.Request, session string) (Call, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", "POST")
			refuse(w, ask.Refuse(http.StatusMethodNotAllowed, ask.CodeInvalid, "use POST"))
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			refuse(w, ask.Refuse(http.StatusRequestEntityTooLarge, ask.CodeTooLarge, "the body cannot be read, or has more than %d bytes", maxBody))
			return
		}
		event, ours, err := dialect.D3Hook(body)
		call, denied := authorize(r, event.Ask.Session)
		switch {
		case denied != nil: // first: a stranger learns nothing about bodies
			refuse(w, denied)
			return
		case err != nil:
			refuse(w, err)
			return
		case !ours:
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if err := call.query(r); err != nil {
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
		_, _ = w.Write(out) // nobody is left to be told
	})
}

// query reads mode and limit.
func (c *Call) query(r *http.Request) error {
	c.Limit = httpLimit
	switch c.Mode = Mode(r.URL.Query().Get("mode")); c.Mode {
	case "", Wait, Race:
	case Defer:
		c.Limit = time.Nanosecond
	default:
		return ask.Refuse(http.StatusBadRequest, ask.CodeInvalid, "mode is %.20q; use wait, race or defer", c.Mode)
	}
	if s := r.URL.Query().Get("limit"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil || d < 0 || d > ask.MaxHold {
			return ask.Refuse(http.StatusBadRequest, ask.CodeInvalid, "limit is %.20q; use 0s to %s", s, ask.MaxHold)
		}
		c.Limit = d
	}
	return nil
}

func refuse(w http.ResponseWriter, err error) {
	e, ok := errors.AsType[*ask.Error](err)
	if !ok {
		e = ask.Refuse(http.StatusInternalServerError, ask.CodeInternal, "something went wrong; the log says more")
	}
	if e.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="askbus"`)
	}
	w.Header().Set("Content-Type", cloudevent.TypeProblem)
	w.WriteHeader(e.Status)
	_, _ = w.Write(cloudevent.EncodeProblem(e)) // nobody is left to be told
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
