package gateway

import (
	"fmt"
	"net/http"

	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/pkg/ask"
)

// Unlocked serves the dialect interact for one session without a token, for foreign programs that
// cannot send one. Use it only on a loopback address: its callers ask in the session and wait; they
// never answer. It has an address of its own, because a proxy in front of the gateway would open a
// path there to everybody. Whoever can open a loopback connection on the machine can use it.
func (g *Gateway) Unlocked(tenant, session string) (http.Handler, error) {
	if !ask.ValidToken(tenant) || !ask.ValidToken(session) {
		return nil, fmt.Errorf("invalid session %.80q of tenant %.80q: use 1 to %d of A-Z a-z 0-9 _ -", session, tenant, ask.MaxToken)
	}
	t := token.Token{ID: "unlocked", Role: token.Agent, Tenant: tenant, Sessions: []string{session}}
	mux := http.NewServeMux()
	for path, methods := range g.api.Unlocked() {
		mux.Handle(path, g.access.Unlocked(methods, t))
	}
	mux.Handle("/", g.access.Open(access.Methods{"*": elsewhere}))
	return g.access.Guard(mux), nil
}

func elsewhere(http.ResponseWriter, *http.Request, *access.Caller) error {
	return ask.Refusal(ask.CodeNotFound, ask.FaultUnlockedPath)
}
