package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/internal/gateway/token"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// handler serves one method of one door. What it returns becomes a problem
// body, so it returns an error only while nothing is written.
type handler func(w http.ResponseWriter, r *http.Request, c *caller) error

// methods are the methods of one door; "*" is any.
type methods map[string]handler

// caller is who knocks.
type caller struct {
	token.Token
	prefix string // "/t/<token>" when the token came in the path
}

// door serves methods to whoever has a token.
func (g *Gateway) door(m methods) http.Handler {
	return g.open(m.each(func(h handler) handler {
		return func(w http.ResponseWriter, r *http.Request, c *caller) error {
			if err := g.identify(r, c); err != nil {
				return err
			}
			return h(w, r, c)
		}
	}))
}

func (m methods) each(wrap func(handler) handler) methods {
	wrapped := methods{}
	for name, h := range m {
		wrapped[name] = wrap(h)
	}
	return wrapped
}

// open serves methods to everybody.
func (g *Gateway) open(m methods) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := r.Method
		if method == http.MethodHead && m[method] == nil {
			method = http.MethodGet
		}
		h := m[method]
		if h == nil {
			h = m["*"]
		}
		if h == nil {
			w.Header().Set("Allow", m.allow())
			g.refuse(w, r, ask.Refuse(http.StatusMethodNotAllowed, ask.CodeInvalid, "%.20s is not served here; use %s", r.Method, m.allow()))
			return
		}
		if err := h(w, r, &caller{}); err != nil {
			g.refuse(w, r, err)
		}
	})
}

func (m methods) allow() string {
	names := make([]string, 0, len(m)+1)
	for name := range m {
		names = append(names, name)
		if name == http.MethodGet {
			names = append(names, http.MethodHead)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

type tokenKey struct{}

// inPath takes a token out of the path, so that nothing that sees the request
// from here on can log it.
func inPath(r *http.Request) *http.Request {
	rest, ok := strings.CutPrefix(r.URL.Path, "/t/")
	if !ok {
		return r
	}
	secret, path, _ := strings.Cut(rest, "/")
	r = r.WithContext(context.WithValue(r.Context(), tokenKey{}, secret))
	u := *r.URL
	u.Path, u.RawPath = "/"+path, ""
	r.URL, r.RequestURI = &u, u.RequestURI()
	return r
}

// identify finds out who knocks: by the token in the path, else by the bearer's.
func (g *Gateway) identify(r *http.Request, c *caller) error {
	secret, ok := r.Context().Value(tokenKey{}).(string)
	if ok {
		c.prefix = "/t/" + secret
	} else {
		scheme, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if secret = strings.TrimSpace(rest); !strings.EqualFold(scheme, "Bearer") || secret == "" {
			return ask.Refuse(http.StatusUnauthorized, ask.CodeForbidden,
				`there is no token; send "Authorization: Bearer askb_…", or put /t/<token> before the path ("askbus token issue" makes one)`)
		}
	}
	t, err := g.tokens.Check(secret, g.opts.Now())
	switch {
	case errors.Is(err, token.ErrUnknown), errors.Is(err, token.ErrExpired):
		return ask.Refuse(http.StatusUnauthorized, ask.CodeForbidden, "%s", err)
	case err != nil:
		g.opts.Logger.ErrorContext(r.Context(), "the token file cannot be read: nobody is let in", slog.Any("error", err))
		return ask.Refuse(http.StatusServiceUnavailable, ask.CodeUnavailable, "tokens cannot be checked just now; the log says why")
	}
	c.Token = t
	return nil
}

// refuse writes a problem body.
func (g *Gateway) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		return // nobody is there to be told
	}
	e := problem(err)
	if e.Status >= 500 && e.Code == ask.CodeInternal {
		g.opts.Logger.ErrorContext(r.Context(), "a request failed", slog.Any("error", err))
	}
	switch e.Status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="askbus"`)
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "5")
	case http.StatusRequestTimeout:
		w.Header().Set("Connection", "close")
	}
	body := cloudevent.EncodeProblem(e)
	send(w, e.Status, cloudevent.TypeProblem, body)
}

// problem is err as a refusal.
func problem(err error) *ask.Error {
	if e, ok := errors.AsType[*ask.Error](err); ok {
		return e
	}
	switch {
	case errors.Is(err, ask.ErrForbidden):
		return ask.Refuse(http.StatusServiceUnavailable, ask.CodeUnavailable, "the gateway's own credential is not allowed to do this")
	case errors.Is(err, nats.ErrMaxPayload):
		return ask.Refuse(http.StatusRequestEntityTooLarge, ask.CodeTooLarge, "this is too large; one ask has at most %d bytes", ask.MaxEventBytes)
	case errors.Is(err, ask.ErrUnavailable), errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrDisconnected),
		errors.Is(err, nats.ErrConnectionReconnecting), errors.Is(err, context.DeadlineExceeded):
		return ask.Refuse(http.StatusServiceUnavailable, ask.CodeUnavailable, "the bus does not answer just now; nothing is lost: try again with the same id")
	}
	return ask.Refuse(http.StatusInternalServerError, ask.CodeInternal, "something went wrong inside the gateway; its log says more")
}

func send(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // JSON or a file of ours, and nosniff
}

func sendJSON(w http.ResponseWriter, status int, body []byte) {
	send(w, status, cloudevent.TypeJSON, body)
}
