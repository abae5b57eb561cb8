package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway"
	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/coder/websocket"
)

// closing reads a socket until it is closed, and returns the code.
func closing(t *testing.T, conn *websocket.Conn) websocket.StatusCode {
	t.Helper()
	for {
		if _, _, err := conn.Read(t.Context()); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

// A stopping gateway, one that cannot check tokens, and a revoked token are three things, and each
// request and socket is told which.
func TestOnlyARevokedTokenIsToldThatItWasRevoked(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	id, revoked := d.issued(token.Token{Role: token.Agent, Sessions: []string{"s1"}})
	agent := d.agent("s1")
	d.do(agent, "POST", "/v1/asks", database).want(t, 201)
	const wait = "/v1/asks/s1/deploy-42?wait=1m"

	// A gateway that loses the broker.
	line := d.bus.Line()
	cut := (&fixture{t: t, bus: d.bus, tokens: d.tokens}).run(line.Connect(rights.Role{Name: rights.RoleGateway}), state.CacheOptions{Poll: 50 * time.Millisecond, FailAfter: 2 * time.Second}, gateway.Options{})
	unknown, socket := cut.meanwhile(agent, "GET", wait, ""), cut.dial(agent, "").conn
	natstest.Eventually(t, "both are bound to the token", func() bool { return cut.gate.Watches() >= 2 })
	defer line.Block()()
	if res := (<-unknown).want(t, 503, "cannot be checked"); res.header.Get("Retry-After") == "" {
		t.Errorf("no Retry-After: %v", res.header)
	}
	if code := closing(t, socket); code != websocket.StatusTryAgainLater {
		t.Errorf("the broker is away: the socket is closed with %d", code)
	}

	// A revoked token, and the others at a gateway that stops.
	own, ownSocket := d.meanwhile(revoked, "GET", wait, ""), d.dial(revoked, "").conn
	var held []<-chan reply
	for i := range 40 {
		switch i % 4 {
		case 0:
			held = append(held, d.meanwhile(agent, "GET", wait, ""))
		case 1:
			held = append(held, d.meanwhile(agent, "POST", "/v1/asks?wait=1m", fmt.Sprintf(`{"id":"held-%d","questions":[{"id":"q","text":"Go on?"}]}`, i)))
		case 2:
			held = append(held, d.meanwhile(agent, "GET", wait+"&dialect=claude-code", ""))
		case 3:
			held = append(held, d.meanwhile(agent, "POST", "/a2a?wait=1m", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"s1/deploy-42"}}`))
		}
	}
	others := []*websocket.Conn{d.dial(agent, "").conn, d.dial(d.screen("s1"), "").conn}
	natstest.Eventually(t, "all are bound to their tokens", func() bool { return d.gate.Watches() >= 44 })
	d.revoke(id)
	(<-own).want(t, 401, "revoked")
	if code := closing(t, ownSocket); code != websocket.StatusPolicyViolation {
		t.Errorf("revoked: the socket is closed with %d", code)
	}
	stopped := make(chan struct{})
	go func() { defer close(stopped); d.stop() }()
	for i, one := range held {
		switch res := <-one; {
		case res.status == http.StatusServiceUnavailable && res.header.Get("Retry-After") != "":
		case res.status == http.StatusAccepted && res.header.Get("Askbus-State") == string(ask.StatePending):
		case i%4 == 3:
			res.want(t, 200, "TASK_STATE_INPUT_REQUIRED")
		default:
			t.Errorf("wait %d while the gateway stops: %d, %v: %s", i, res.status, res.header, res.body)
		}
	}
	for _, conn := range others {
		if code := closing(t, conn); code != websocket.StatusGoingAway {
			t.Errorf("the gateway stops: a socket is closed with %d", code)
		}
	}
	<-stopped
	if res := d.do(agent, "GET", wait, "").want(t, 503, "stopping"); res.header.Get("Retry-After") == "" {
		t.Errorf("no Retry-After: %v", res.header)
	}

	// The same client at the next process.
	next := openOn(t, d.bus, gateway.Options{})
	again := next.meanwhile(agent, "GET", wait, "")
	d.answers(ask.Key{Tenant: "acme", Session: "s1", ID: "deploy-42"}, ask.Answer{QuestionID: "db", Selected: []string{"pg"}})
	(<-again).want(t, 200, `"pg"`)
}

// A gateway that has not read the tokens would refuse every request with 503, so it is not ready: no Service sends it any.
func TestAGatewayIsReadyOnceItKnowsTheTokens(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	nc := d.bus.Connect(rights.Role{Name: rights.RoleGateway})
	g, err := gateway.New(nc, token.NewStore(nc, state.CacheOptions{}), gateway.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Ready(); err == nil {
		t.Error("it is ready before it runs")
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	natstest.Eventually(t, "it has read the tokens", func() bool { return g.Ready() == nil })
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
