package access

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/protocol/wire"
)

// Refusal is a request that was refused with 401, 403 or 429.
type Refusal struct {
	What    string // method and route, such as "POST /v1/asks"
	Code    string
	Why     string
	Address string      // of the caller
	Token   token.Token // the verified token; zero: none
	Claimed string      // id of an unverified token; empty: none
}

// Refused reports a refusal to [Options.Refused] if err is about the caller's identity or rights. T
// is the caller's token, or nil.
func (a *Control) Refused(r *http.Request, t *token.Token, err error) {
	if a.opts.Refused == nil || err == nil {
		return
	}
	e := Problem(err)
	switch wire.HTTPStatus(e.Code) {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
	default:
		return
	}
	f := Refusal{What: route(r), Code: e.Code, Why: e.Detail, Address: httpserver.Host(r.RemoteAddr)}
	if t != nil {
		f.Token = *t
	}
	if f.Token.ID == "" {
		secret, ok := r.Context().Value(tokenKey{}).(string)
		if !ok {
			secret, _ = Bearer(r)
		}
		f.Claimed = token.Claimed(secret)
	}
	a.opts.Refused(f)
}

// route returns the route of a request. It has few values, whatever callers send.
func route(r *http.Request) string {
	method, path := r.Method, r.Pattern
	if !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}, method) {
		method = "another method"
	}
	path = cmp.Or(path, "/")
	return method + " " + path
}
