// Package httpapi is the HTTP API of the gateway: asks in native JSON, in every dialect and as
// CloudEvents, answers, lists, and the permission callbacks of agents' hosts.
//
// It decides how a request becomes an ask and an outcome a response. It leaves authentication to
// package access, and the bus to package asking.
package httpapi

import (
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/asking/gateway/asking"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// Options configures an [API]. All fields are required.
type Options struct {
	BaseURL string               // public URL
	Link    func(ask.Key) string // URL at which people answer an ask
	Now     func() time.Time
	Logger  *slog.Logger
}

// API serves the HTTP API. It is safe for concurrent use.
type API struct {
	access *access.Control
	asks   *asking.Asks
	resp   *responder.Responder
	board  *board.Board
	opts   Options

	callbacks *callbacks
	drain     chan struct{} // closed when the gateway stops
}

// New makes the API on a connection with the gateway's credential.
func New(nc *nats.Conn, a *access.Control, asks *asking.Asks, resp *responder.Responder, pending *board.Board, opts Options) *API {
	return &API{access: a, asks: asks, resp: resp, board: pending, opts: opts, callbacks: newCallbacks(nc, opts.Now), drain: make(chan struct{})}
}

// Close ends the streams of [API.stream]: the gateway is stopping. Call it once.
func (api *API) Close() { close(api.drain) }

// Routes returns the API's paths. All need a token.
func (api *API) Routes() map[string]access.Methods {
	const where, page = "session tenant", "limit cursor"
	return map[string]access.Methods{
		"/v1/asks": {
			"GET":  access.Takes(api.list, "state", "id", "question", where, page),
			"POST": access.Takes(api.ask, where, "wait", "dialect"),
		},
		"/v1/asks/{session}/{id}": {
			"GET":    access.Takes(api.get, "tenant", "wait", "dialect"),
			"DELETE": access.Takes(api.withdraw, "tenant", "reason"),
		},
		"/v1/asks/{session}/{id}/answer": {
			"POST":   access.Takes(api.answer, "tenant", "dialect", "by"),
			"DELETE": access.Takes(api.unvote, "tenant", "by"),
		},
		"/v1/asks/{session}/{id}/decline": {"POST": access.Takes(api.decline, "tenant")},
		"/v1/files":                       {"POST": access.Takes(api.upload, "name", where)},
		"/v1/files/{id}":                  {"GET": access.Takes(api.file, where)},
		"/v1/history":                     {"GET": access.Takes(api.history, "question", where, page)},
		"/v1/events": {
			"GET":  access.Takes(api.stream, where, "last_event_id"),
			"POST": access.Takes(api.events, where, "wait"),
		},
		"/v1/permission":    {"POST": access.Takes(api.permission, where, "wait")},
		"/api/interact/ask": {"POST": api.interact},
		"/a2a":              {"POST": api.a2a},
	}
}

// Unlocked returns the paths for programs without a token, for one session: asking in the dialect
// interact, and getting the answer.
func (api *API) Unlocked() map[string]access.Methods {
	return map[string]access.Methods{
		"/api/interact/ask":       {"POST": api.interact},
		"/v1/asks/{session}/{id}": {"GET": api.get},
	}
}
