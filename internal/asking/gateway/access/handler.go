package access

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
)

// Handler serves one method of a path. Its error becomes a problem body, so it must return an error
// only before it writes.
type Handler func(w http.ResponseWriter, r *http.Request, c *Caller) error

// Methods are the handlers of a path by method; "*" is any.
type Methods map[string]Handler

// Caller is the sender of a request.
type Caller struct {
	token.Token
	Prefix string // "/t/<token>" if the token was in the path
}

// Authenticated serves methods to callers with a token.
func (a *Control) Authenticated(m Methods) http.Handler {
	return a.Open(m.each(func(h Handler) Handler {
		return func(w http.ResponseWriter, r *http.Request, c *Caller) error {
			if err := a.identify(r, c); err != nil {
				return err
			}
			return h(w, r, c)
		}
	}))
}

// Takes refuses query parameters that a handler does not know: a misspelt one would be left out in silence. Each of names
// is one or several, with spaces between them.
func Takes(h Handler, names ...string) Handler {
	known := strings.Fields(strings.Join(names, " "))
	return func(w http.ResponseWriter, r *http.Request, c *Caller) error {
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil { // such as a semicolon between two
			return ask.Refusal(ask.CodeInvalid, ask.FaultUnknownParameter, "?"+ask.Clip(r.URL.RawQuery, 80), strings.Join(known, ", "))
		}
		for _, name := range slices.Sorted(maps.Keys(query)) {
			if !slices.Contains(known, name) {
				return ask.Refusal(ask.CodeInvalid, ask.FaultUnknownParameter, "?"+ask.Clip(name, 80), strings.Join(known, ", "))
			}
		}
		return h(w, r, c)
	}
}

func (m Methods) each(wrap func(Handler) Handler) Methods {
	wrapped := Methods{}
	for name, h := range m {
		wrapped[name] = wrap(h)
	}
	return wrapped
}

// Open serves methods to everybody.
func (a *Control) Open(m Methods) http.Handler {
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
			a.refuse(w, r, nil, ask.Refusal(wire.CodeMethod, ask.FaultMethodNotAllowed, ask.Clip(r.Method, 20), m.allow()))
			return
		}
		var c Caller
		if err := h(w, r, &c); err != nil {
			a.refuse(w, r, &c.Token, err)
		}
	})
}

func (m Methods) allow() string {
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

// inPath removes a token from the path, so that nothing that handles the request later can log it.
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

// identify authenticates the caller: by the token in the path, else by the bearer token.
func (a *Control) identify(r *http.Request, c *Caller) error {
	secret, ok := r.Context().Value(tokenKey{}).(string)
	if ok {
		c.Prefix = "/t/" + secret
	} else if secret, ok = Bearer(r); !ok {
		return ask.Refusal(ask.CodeUnauthorized, ask.FaultNoToken)
	}
	check := a.check
	if a.isForeign(r, secret) {
		check = a.foreign
	}
	t, err := check(r, secret)
	if err != nil {
		return err
	}
	c.Token = t // set even if the request is refused
	if t.Role == token.Host {
		return ask.Refusal(ask.CodeForbidden, ask.FaultTokenElsewhere, t.Scope(), hostHeader)
	}
	if err := httpserver.Identify(r, "token:"+t.ID); err != nil {
		return err
	}
	if b := tokensOf(r); b != nil {
		b.asker.Store(&t.ID)
	}
	return a.share(r, &t)
}

// Bearer returns the token of a request's Authorization header, if any.
func Bearer(r *http.Request) (secret string, ok bool) {
	scheme, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	secret = strings.TrimSpace(rest)
	return secret, strings.EqualFold(scheme, "Bearer") && secret != ""
}

// check looks up the token of a secret. The error is an [*ask.Error].
func (a *Control) check(r *http.Request, secret string) (token.Token, error) {
	t, err := a.tokens.Check(r.Context(), secret, a.opts.Now())
	if e, ok := errors.AsType[*ask.Error](err); ok && e.Code == ask.CodeUnauthorized {
		return t, e
	}
	if err != nil {
		a.opts.Logger.ErrorContext(r.Context(), "cannot check tokens; refusing all callers", slog.Any("error", err))
		return t, ask.Refusal(ask.CodeUnavailable, ask.FaultTokensUnchecked)
	}
	if err := t.CheckEndpoint(token.EndpointAt(r.URL.Path)); err != nil {
		return t, err
	}
	a.bind(r, &t)
	return t, nil
}

// refuse writes a problem body. T is the caller's token, or nil.
func (a *Control) refuse(w http.ResponseWriter, r *http.Request, t *token.Token, err error) {
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		why := Ended(r.Context())
		if why == nil {
			return // the client is gone
		}
		err = why
	}
	e := Problem(err)
	status := wire.HTTPStatus(e.Code)
	if e.Code == ask.CodeInternal {
		a.opts.Logger.ErrorContext(r.Context(), "a request failed", slog.Any("error", err))
	}
	switch status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="askbus"`)
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		if e.Code != ask.CodeNobody { // it does not end by itself: clients that keep to the header would repeat it
			w.Header().Set("Retry-After", "5")
		}
	case http.StatusRequestTimeout:
		w.Header().Set("Connection", "close")
	}
	a.Refused(r, t, e)
	body := wire.EncodeProblem(e.In(r.Header.Get("Accept-Language")))
	Send(w, status, wire.TypeProblem, body)
}

// Problem converts err to an [*ask.Error]. Unknown errors become internal errors and hide their
// message.
func Problem(err error) *ask.Error {
	if e, ok := errors.AsType[*ask.Error](err); ok {
		return e
	}
	switch {
	case errors.Is(err, client.ErrClosed):
		return refuseStopping()
	case errors.Is(err, ask.ErrForbidden):
		return ask.Refusal(ask.CodeUnavailable, ask.FaultNotPermitted)
	case errors.Is(err, nats.ErrMaxPayload):
		return ask.Refusal(ask.CodeTooLarge, ask.FaultLargeBody, ask.MaxEventBytes)
	case errors.Is(err, ask.ErrUnavailable), errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrDisconnected),
		errors.Is(err, nats.ErrConnectionReconnecting), errors.Is(err, context.DeadlineExceeded):
		return ask.Refusal(ask.CodeUnavailable, ask.FaultBusSilent)
	}
	return ask.Refusal(ask.CodeInternal, ask.FaultGatewayFailed)
}

// Send writes a response.
func Send(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // JSON or our own file, with nosniff
}

// SendJSON writes a response in JSON.
func SendJSON(w http.ResponseWriter, status int, body []byte) {
	Send(w, status, cloudevent.TypeJSON, body)
}
