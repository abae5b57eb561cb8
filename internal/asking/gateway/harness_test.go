package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway"
	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// fixture is a gateway on its own bus.
type fixture struct {
	t      *testing.T
	bus    *natstest.Bus
	url    string
	tokens *token.Issuer
	gate   *token.Store
	people *responder.Responder // answers at another surface
	http   *http.Client

	gateway *gateway.Gateway
	stop    func() // ends Run and waits for it; the address still answers
}

func open(t *testing.T, opts gateway.Options) *fixture {
	t.Helper()
	return openOn(t, natstest.Start(t, natstest.Options{}), opts)
}

func openOn(t *testing.T, bus *natstest.Bus, opts gateway.Options) *fixture {
	t.Helper()
	d := &fixture{t: t, bus: bus, tokens: token.NewIssuer(bus.Connect(rights.Role{Name: rights.RoleOperator}))}
	return d.run(bus.Connect(rights.Role{Name: rights.RoleGateway}), state.CacheOptions{Poll: time.Hour, FailAfter: 2 * time.Hour}, opts)
}

// run runs the gateway on a connection.
func (d *fixture) run(nc *nats.Conn, replica state.CacheOptions, opts gateway.Options) *fixture {
	t, bus := d.t, d.bus
	t.Helper()
	var h http.Handler
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, r) }))
	t.Cleanup(srv.Close)
	opts.BaseURL, opts.Logger = srv.URL, natstest.Logger()
	replica.Logger = natstest.Logger()
	d.gate = token.NewStore(nc, replica)
	g, err := gateway.New(nc, d.gate, opts)
	if err != nil {
		t.Fatal(err)
	}
	h, d.url, d.gateway = g.Handler(), srv.URL, g
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	d.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("gateway: %v", err)
		}
	})
	t.Cleanup(d.stop)
	if d.people, err = responder.New(bus.Responder("web"), "web", responder.Options{}); err != nil {
		t.Fatal(err)
	}
	d.http = &http.Client{Transport: contract(t, http.DefaultTransport)}
	return d
}

func (d *fixture) token(tok token.Token) string {
	d.t.Helper()
	if tok.Tenant == "" {
		tok.Tenant = "acme"
	}
	_, secret, err := d.tokens.Issue(d.t.Context(), tok)
	if err != nil {
		d.t.Fatal(err)
	}
	return secret
}

func (d *fixture) agent(sessions ...string) string {
	return d.token(token.Token{Role: token.Agent, Sessions: sessions})
}

func (d *fixture) screen(sessions ...string) string {
	return d.token(token.Token{Role: token.Screen, Sessions: sessions, Name: "A screen"})
}

func (d *fixture) responder() string { return d.token(token.Token{Role: token.Responder}) }

// reply is a recorded response.
type reply struct {
	status int
	header http.Header
	body   string
}

// as decodes the body as an object.
func (r reply) as(t *testing.T) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(r.body), &m); err != nil {
		t.Fatalf("%d, no object: %s", r.status, r.body)
	}
	return m
}

func (d *fixture) do(secret, method, path, body string, headers ...string) reply {
	d.t.Helper()
	res, err := d.try(secret, method, path, body, headers...)
	if err != nil {
		d.t.Fatal(err)
	}
	return res
}

func (d *fixture) try(secret, method, path, body string, headers ...string) (reply, error) {
	req, err := http.NewRequestWithContext(d.t.Context(), method, d.url+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	if body == "" {
		req.Body = nil
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	if secret != "" {
		req.Header.Set("Authorization", "Bearer "+secret)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := d.http.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if len(data) > 0 && res.Header.Get("Content-Type") == wire.TypeProblem && req.Header.Get("Accept-Language") == "" {
		catalogued(d.t, data)
	}
	return reply{res.StatusCode, res.Header, string(data)}, err
}

// catalogued checks that all words of a refusal are from the catalogue of
// faults. Of what only brokers refuse, by the state of an ask or a quota, the
// detail is a sentence of theirs.
func catalogued(t *testing.T, body []byte) {
	t.Helper()
	e := wire.DecodeProblem(body)
	if e == nil {
		t.Errorf("no problem: %s", body)
		return
	}
	for _, f := range e.Faults {
		if f.Message == "" || f.Message != (ask.Fault{Code: f.Code, Args: f.Args}).In("") {
			t.Errorf("a fault that is not in the catalogue: %+v", f)
		}
	}
	switch wire.HTTPStatus(e.Code) {
	case 400, 401, 405, 408, 413, 415, 421, 426:
		if len(e.Faults) == 0 {
			t.Errorf("a refusal without a code of the catalogue: %s", body)
		}
	}
}

// want checks the status, and that the body contains all texts.
func (r reply) want(t *testing.T, status int, says ...string) reply {
	t.Helper()
	if r.status != status {
		t.Fatalf("status %d, want %d: %s", r.status, status, r.body)
	}
	for _, s := range says {
		if !strings.Contains(r.body, s) {
			t.Fatalf("it does not say %s: %s", s, r.body)
		}
	}
	return r
}

// pending waits until an ask is on the bus; anyID matches any id.
func (d *fixture) pending(session, id string) ask.Record {
	d.t.Helper()
	ctx, cancel := context.WithCancel(d.t.Context())
	defer cancel()
	found := make(chan ask.Record, 1)
	go func() {
		_ = board.Watch(ctx, d.people, func(ev board.Event) {
			a := &ev.Record.Ask
			if ev.Kind == board.Pending && a.Session == session && (id == "" || a.ID == id) {
				select {
				case found <- ev.Record:
				default:
				}
			}
		})
	}()
	select {
	case rec := <-found:
		return rec
	case <-time.After(waittest.Limit):
		d.t.Fatalf("no ask %s in session %s", id, session)
		return ask.Record{}
	}
}

func (d *fixture) key(session, id string) ask.Key {
	d.t.Helper()
	rec := d.pending(session, id)
	return rec.Ask.Key()
}

var mei = ask.By{Principal: "os:mei", Name: "Mei", Groups: []string{"platform"}, Proof: "test"}

// answers answers at another surface.
func (d *fixture) answers(k ask.Key, answers ...ask.Answer) {
	d.t.Helper()
	if _, err := d.people.Answer(d.t.Context(), k, ask.Reply{Answers: answers, By: mei}); err != nil {
		d.t.Fatal(err)
	}
}

func (d *fixture) declines(k ask.Key, reason string) {
	d.t.Helper()
	if _, err := d.people.Cancel(d.t.Context(), k, responder.Decline{Reason: reason, By: mei}); err != nil {
		d.t.Fatal(err)
	}
}

// meanwhile runs a request in the background.
func (d *fixture) meanwhile(secret, method, path, body string, headers ...string) <-chan reply {
	done := make(chan reply, 1)
	go func() {
		res, err := d.try(secret, method, path, body, headers...)
		if err != nil {
			d.t.Error(err)
		}
		done <- res
	}()
	return done
}

func compact(s string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(s)) != nil {
		return s
	}
	return b.String()
}

const database = `{"id":"deploy-42","questions":[{"id":"db","text":"Which database?","options":[{"id":"pg","label":"PostgreSQL"},{"id":"lite","label":"SQLite"},{"id":"stop","label":"Neither","cancels":true}]}]}`
