// Package access decides who may call the gateway and how much one caller may use: known hosts,
// origins, tokens and their roles, bounded requests and bodies, and the format of refusals. All
// other packages of the gateway are behind it.
//
// It promises that no token is logged, that an agent's token never answers, and that every error is
// a problem body (RFC 9457).
package access

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway/token"
)

// Options configures a [Control]. BaseURL, BodyTimeout, MaxRequests, Now and Logger are required.
type Options struct {
	BaseURL     string        // public URL; its host is accepted
	Hosts       []string      // further host names, besides loopback
	CORSOrigins []string      // web origins whose pages may call
	BodyTimeout time.Duration // for a request's whole body
	MaxRequests int           // concurrent requests
	Now         func() time.Time
	Logger      *slog.Logger
	Refused     func(Refusal) // called with every refusal; must not block; default: none

	// Foreign converts another issuer's token into an agent's token, for MCP only. The error is an
	// [*ask.Error], or says that the token cannot be checked. Nil: accept only our own tokens.
	Foreign func(ctx context.Context, secret string) (token.Token, error)
}

// Control guards the gateway. It is safe for concurrent use.
type Control struct {
	opts   Options
	base   *url.URL
	tokens *token.Store
	slots  chan struct{} // one entry per request in progress
	shares *shares       // of slots
	large  *places       // of bodies with files
	files  *places       // of single files

	stopping atomic.Bool // see Stop
}

// New makes a control. It returns an error without tokens or with an invalid BaseURL.
func New(tokens *token.Store, opts Options) (*Control, error) {
	if tokens == nil {
		return nil, errors.New("missing token store")
	}
	base, err := url.Parse(strings.TrimRight(opts.BaseURL, "/"))
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("invalid base URL %q: use one such as http://host:port", opts.BaseURL)
	}
	return &Control{
		opts: opts, base: base, tokens: tokens, slots: make(chan struct{}, opts.MaxRequests), shares: newShares("requests", opts.MaxRequests),
		large: newPlaces(maxLarge), files: newPlaces(maxFiles),
	}, nil
}
