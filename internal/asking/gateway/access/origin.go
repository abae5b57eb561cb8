package access

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// OriginAllowed allows our own pages, pages of configured origins, and clients that are not web
// pages.
func (a *Control) OriginAllowed(r *http.Request) error {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return nil
	}
	if u, err := url.Parse(origin); err == nil && (strings.EqualFold(u.Host, r.Host) || strings.EqualFold(u.Host, a.base.Host)) {
		return nil
	}
	if slices.Contains(a.opts.CORSOrigins, origin) {
		return nil
	}
	return ask.Refusal(ask.CodeForbidden, ask.FaultForeignPage, ask.Clip(origin, 100))
}
