// Package access decides who may call the gateway and how much one caller may
// take up: known hosts, origins, tokens and their roles, bounded requests and
// bodies, and how a refusal is written. Every room of the gateway stands behind
// it.
//
// It promises that no token is logged, that an agent's token never answers, and
// that every error is a problem body (RFC 9457).
package access

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/gateway/token"
)

// Options tunes a [Control]. BaseURL, BodyTimeout, MaxRequests, Now and Logger
// are required.
type Options struct {
	BaseURL     string        // where callers reach the gateway; its host is accepted
	Hosts       []string      // further host names, beside loopback
	CORSOrigins []string      // web origins whose pages may call
	BodyTimeout time.Duration // for a request's whole body
	MaxRequests int           // under way at once
	Now         func() time.Time
	Logger      *slog.Logger
	Refused     func(Refusal) // is told whom the gateway refuses, and may not wait; default: nobody

	// Foreign makes an agent's token of the token of another issuer, which counts for
	// MCP. The error is an [*ask.Error], or says that it cannot be checked. Nil: only
	// tokens of ours count.
	Foreign func(ctx context.Context, secret string) (token.Token, error)
}

// Control guards the gateway. It is safe for concurrent use.
type Control struct {
	opts   Options
	base   *url.URL
	tokens *token.Store
	slots  chan struct{} // a place for each request under way
	shares *shares       // of them
}

// New makes a control. The error says what is missing or wrong: there are no
// tokens, or BaseURL is not like http://host:port.
func New(tokens *token.Store, opts Options) (*Control, error) {
	if tokens == nil {
		return nil, errors.New("no tokens, so nobody could call")
	}
	base, err := url.Parse(strings.TrimRight(opts.BaseURL, "/"))
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("base URL %q is not like http://host:port", opts.BaseURL)
	}
	return &Control{opts: opts, base: base, tokens: tokens, slots: make(chan struct{}, opts.MaxRequests), shares: newShares(opts.MaxRequests)}, nil
}
