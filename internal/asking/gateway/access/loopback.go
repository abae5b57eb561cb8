package access

import (
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// Unlocked serves methods without a token to programs on this machine, with the rights of t. It
// refuses web pages, which may be anybody's.
func (a *Control) Unlocked(m Methods, t token.Token) http.Handler {
	return a.Open(m.each(func(h Handler) Handler {
		return func(w http.ResponseWriter, r *http.Request, c *Caller) error {
			if err := fromHere(r); err != nil {
				return err
			}
			c.Token = t
			return h(w, r, c)
		}
	}))
}

// fromHere refuses a request that does not come from a program on this machine: by its address, its
// Host (a page may point its own name here), its origin, or a content type that any page can send.
func fromHere(r *http.Request) error {
	if at, err := netip.ParseAddrPort(r.RemoteAddr); err != nil || !at.Addr().Unmap().IsLoopback() {
		return ask.Refusal(ask.CodeForbidden, ask.FaultHereOnly)
	}
	if !httpserver.LoopbackHost(r.Host) {
		return ask.Refusal(wire.CodeMisdirected, ask.FaultUnknownHost, ask.Clip(r.Host, 100), "loopback")
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || !strings.EqualFold(u.Host, r.Host) {
			return ask.Refusal(ask.CodeForbidden, ask.FaultNoPages, ask.Clip(origin, 100))
		}
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "none" && site != "same-origin" {
		return ask.Refusal(ask.CodeForbidden, ask.FaultNoPages, ask.Clip(site, 100))
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if r.Method == http.MethodPost && (err != nil || media != "application/json") {
		return ask.Refusal(wire.CodeMediaType, ask.FaultWrongContentType, ask.Clip(r.Header.Get("Content-Type"), 100), "application/json")
	}
	return nil
}

// LoopbackAddr returns an error unless an address to listen on is local to this machine.
func LoopbackAddr(addr string) error {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return fmt.Errorf("invalid address %.100q: use one such as 127.0.0.1:8423", addr)
	}
	if !httpserver.LoopbackHost(addr) {
		return fmt.Errorf("%.100q can be reached from other machines; use 127.0.0.1 or localhost", addr)
	}
	return nil
}
