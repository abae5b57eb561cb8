package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway"
	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/coder/websocket"
)

// issued issues a revocable token and returns its id and secret.
func (d *fixture) issued(tok token.Token) (id, secret string) {
	d.t.Helper()
	tok.Tenant = "acme"
	made, secret, err := d.tokens.Issue(d.t.Context(), tok)
	if err != nil {
		d.t.Fatal(err)
	}
	return made.ID, secret
}

// revoke revokes a token. The gateway does not poll, so an end shows that it got the event.
func (d *fixture) revoke(id string) {
	d.t.Helper()
	if _, err := d.tokens.Revoke(d.t.Context(), id); err != nil {
		d.t.Fatal(err)
	}
}

func TestARevokedTokensSocketEnds(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	id, secret := d.issued(token.Token{Role: token.Screen, Sessions: []string{"s1"}})
	conn, _, err := d.connect(secret, "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	d.revoke(id)
	for err == nil {
		_, _, err = conn.Read(t.Context())
	}
	if code := websocket.CloseStatus(err); code != websocket.StatusPolicyViolation {
		t.Errorf("closed with %d: %v", code, err)
	}
}

func TestARevokedTokensWaitEnds(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	id, secret := d.issued(token.Token{Role: token.Agent, Sessions: []string{"s2"}})
	d.do(secret, "POST", "/v1/asks", database).want(t, 201)
	waits := d.meanwhile(secret, "GET", "/v1/asks/s2/deploy-42?wait=1m", "")
	natstest.Eventually(t, "it waits", func() bool { return d.gate.Watches() > 0 })
	d.revoke(id)
	(<-waits).want(t, 401, "revoked")
	d.pending("s2", "deploy-42") // nothing is withdrawn
}

// Requests to other handlers, such as MCP's, end with the token as well.
func TestAnAddedHandlerEndsWithItsToken(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	g, err := gateway.New(d.bus.Connect(rights.Role{Name: rights.RoleGateway}), token.NewStore(d.bus.Connect(rights.Role{Name: rights.RoleGateway}), state.CacheOptions{Poll: time.Hour, FailAfter: 2 * time.Hour}), gateway.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	here, ended := make(chan struct{}), make(chan error, 1)
	h := g.With(map[string]http.Handler{"/mcp": http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := g.Caller(r); err != nil {
			t.Error(err)
		}
		close(here)
		<-r.Context().Done()
		ended <- context.Cause(r.Context())
	})})
	id, secret := d.issued(token.Token{Role: token.Agent, Sessions: []string{"s1"}})
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", http.NoBody)
	req.Header.Set("Authorization", "Bearer "+secret)
	go h.ServeHTTP(httptest.NewRecorder(), req)
	<-here
	d.revoke(id)
	if err := <-ended; err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

func TestTwoThousandRequestsLeakNoTokenWatch(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	d.http = &http.Client{} // the contract is checked elsewhere, and costs most of the time
	agent := d.agent("s1")
	for range natstest.Uses {
		d.do(agent, "GET", "/v1/asks/s1/nosuch", "").want(t, 404)
	}
	natstest.Eventually(t, "no watch is left", func() bool { return d.gate.Watches() == 0 })
}
