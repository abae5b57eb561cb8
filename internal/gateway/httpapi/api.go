// Package httpapi is the HTTP API of the gateway: asks in native JSON, in every
// dialect and as CloudEvents, answers, lists, and the permission callbacks of
// agents' hosts.
//
// It decides how a request becomes an ask and an outcome a response. Who calls
// is package access's, what happens on the bus package asking's.
package httpapi

import (
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/gateway/access"
	"github.com/askbus/askbus/internal/gateway/asking"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// Options tunes an [API]. All are required.
type Options struct {
	BaseURL   string               // where callers reach the doors
	MaxWait   time.Duration        // one wait at most
	KeepAlive time.Duration        // between signs of life on a wait, to clients that read them
	Link      func(ask.Key) string // where people answer an ask
	Now       func() time.Time
	Logger    *slog.Logger
}

// API serves the HTTP API. It is safe for concurrent use.
type API struct {
	access *access.Control
	asks   *asking.Asks
	resp   *responder.Responder
	opts   Options
}

// New makes the API.
func New(a *access.Control, asks *asking.Asks, resp *responder.Responder, opts Options) *API {
	return &API{access: a, asks: asks, resp: resp, opts: opts}
}

// Routes are the API's paths, all for callers with a token.
func (api *API) Routes() map[string]access.Methods {
	return map[string]access.Methods{
		"/v1/asks":                        {"GET": api.list, "POST": api.ask},
		"/v1/asks/{session}/{id}":         {"GET": api.get, "DELETE": api.withdraw},
		"/v1/asks/{session}/{id}/answer":  {"POST": api.answer},
		"/v1/asks/{session}/{id}/decline": {"POST": api.decline},
		"/v1/history":                     {"GET": api.history},
		"/v1/events":                      {"POST": api.events},
		"/v1/permission":                  {"POST": api.permission},
		"/api/interact/ask":               {"POST": api.interact},
		"/a2a":                            {"POST": api.a2a},
	}
}

// Unlocked are the paths that a program without a token may use for one
// session: it asks in the dialect interact, and picks the answer up.
func (api *API) Unlocked() map[string]access.Methods {
	return map[string]access.Methods{
		"/api/interact/ask":       {"POST": api.interact},
		"/v1/asks/{session}/{id}": {"GET": api.get},
	}
}
