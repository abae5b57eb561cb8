package token_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
)

// bus returns an issuer and two replicas of a store on a bus.
func bus(t *testing.T) (*token.Issuer, [2]*token.Store) {
	t.Helper()
	b := natstest.Start(t, natstest.Options{})
	var replicas [2]*token.Store
	for i := range replicas {
		s := token.NewStore(b.Connect(rights.Role{Name: rights.RoleGateway}), state.CacheOptions{Poll: time.Hour, FailAfter: 2 * time.Hour, Logger: natstest.Logger()})
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		t.Cleanup(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
		replicas[i] = s
	}
	return token.NewIssuer(b.Connect(rights.Role{Name: rights.RoleOperator})), replicas
}

func TestIssueCheckRevoke(t *testing.T) {
	t.Parallel()
	writer, replicas := bus(t)
	reader := replicas[0]
	now := time.Now()
	if _, err := reader.Check(t.Context(), "askb_x_y", now); !errors.Is(err, token.ErrUnknown) {
		t.Fatalf("without tokens: %v", err)
	}
	made, secret, err := writer.Issue(t.Context(), token.Token{Role: token.Agent, Tenant: "acme", Sessions: []string{"s1"}, Expires: now.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if id, ok := strings.CutPrefix(secret, "askb_"+made.ID+"_"); !ok || len(id) != 43 {
		t.Errorf("the token is %q", secret)
	}
	for i, r := range replicas { // at once, though it was issued elsewhere
		if got, err := r.Check(t.Context(), secret, now); err != nil || got.ID != made.ID || !got.MayAsk("acme", "s1") {
			t.Errorf("replica %d: %+v, %v", i, got, err)
		}
	}
	for name, wrong := range map[string]string{
		"another secret": "askb_" + made.ID + "_" + strings.Repeat("0", 43), "no secret": "askb_" + made.ID + "_", "no token": "hello", "empty": "",
		"another id": strings.Replace(secret, made.ID, "abc", 1), "a wildcard": strings.Replace(secret, made.ID, "*", 1), "a subject": strings.Replace(secret, made.ID, "a.b", 1),
	} {
		if _, err := reader.Check(t.Context(), wrong, now); !errors.Is(err, token.ErrUnknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = reader.Check(t.Context(), secret, now.Add(2*time.Hour))
	e, ok := errors.AsType[*ask.Error](err)
	if ends, its := made.Expires.UTC().Format(time.RFC3339), now.Add(2*time.Hour).UTC().Format(time.RFC3339); !ok || e.Code != ask.CodeUnauthorized || e.Detail != "this token expired at "+ends+"; this gateway's clock says "+its {
		t.Errorf("after it expired: %v", err)
	}
	gone := make(chan time.Time, 2)
	for _, r := range replicas {
		defer r.OnEnd(&made, func(state.Ending) { gone <- time.Now() })()
	}
	if was, err := writer.Revoke(t.Context(), made.ID); err != nil || was.ID != made.ID {
		t.Errorf("%+v, %v", was, err)
	}
	for range replicas { // they do not poll: they are told live
		select {
		case <-gone:
		case <-time.After(waittest.Limit):
			t.Fatal("what it opened does not end")
		}
	}
	for i, r := range replicas {
		if _, err := r.Check(t.Context(), secret, now); !errors.Is(err, token.ErrUnknown) {
			t.Errorf("replica %d after it was revoked: %v", i, err)
		}
	}
	if _, err := writer.Revoke(t.Context(), made.ID); err == nil {
		t.Error("it can be revoked twice")
	}
	if _, err := writer.Revoke(t.Context(), ">"); err == nil {
		t.Error("a wildcard can be revoked")
	}
}

func TestExpiryEndsRequestsOfAToken(t *testing.T) {
	t.Parallel()
	writer, replicas := bus(t)
	made, secret, err := writer.Issue(t.Context(), token.Token{Role: token.Operator, Tenant: "default", Expires: time.Now().Add(5 * time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := replicas[0].Check(t.Context(), secret, time.Now()); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	defer replicas[0].OnEnd(&made, func(state.Ending) { close(gone) })()
	select {
	case <-gone:
	case <-time.After(waittest.Limit):
		t.Fatal("it does not end")
	}
}

func TestWritersAtOnce(t *testing.T) {
	t.Parallel()
	writer, _ := bus(t)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, _, err := writer.Issue(t.Context(), token.Token{Role: token.Operator, Tenant: "default"}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if list, err := writer.List(t.Context()); err != nil || len(list) != 20 {
		t.Errorf("%d tokens, %v", len(list), err)
	}
}

func TestRightsOfTokens(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		token            token.Token
		tenant, session  string
		ask, answer, see bool
	}{
		"an agent asks in its session":           {token.Token{Role: token.Agent, Tenant: "a", Sessions: []string{"s"}}, "a", "s", true, false, true},
		"and in no other":                        {token.Token{Role: token.Agent, Tenant: "a", Sessions: []string{"s"}}, "a", "s2", false, false, false},
		"nor in another tenant":                  {token.Token{Role: token.Agent, Tenant: "a", Sessions: []string{"*"}}, "b", "s", false, false, false},
		"an agent of every session":              {token.Token{Role: token.Agent, Tenant: "a", Sessions: []string{"*"}}, "a", "s9", true, false, true},
		"an agent of sessions that begin alike":  {token.Token{Role: token.Agent, Tenant: "a", Sessions: []string{"ci-*"}}, "a", "ci-7", true, false, true},
		"and of none that begin otherwise":       {token.Token{Role: token.Agent, Tenant: "a", Sessions: []string{"ci-*"}}, "a", "c", false, false, false},
		"a screen answers":                       {token.Token{Role: token.Screen, Tenant: "a", Sessions: []string{"s"}}, "a", "s", false, true, true},
		"and not elsewhere":                      {token.Token{Role: token.Screen, Tenant: "a", Sessions: []string{"s"}}, "a", "t", false, false, false},
		"a responder answers in its tenant":      {token.Token{Role: token.Responder, Tenant: "a"}, "a", "s", false, true, true},
		"and in no other one":                    {token.Token{Role: token.Responder, Tenant: "a"}, "b", "s", false, false, false},
		"an operator may everything":             {token.Token{Role: token.Operator, Tenant: "a"}, "b", "s", true, true, true},
		"a role that does not exist may nothing": {token.Token{Role: "root", Tenant: "a", Sessions: []string{"*"}}, "a", "s", false, false, false},
	} {
		tok := c.token
		if tok.MayAsk(c.tenant, c.session) != c.ask || tok.MayAnswer(c.tenant, c.session) != c.answer || tok.MaySee(c.tenant, c.session) != c.see {
			t.Errorf("%s: %v %v %v", name, tok.MayAsk(c.tenant, c.session), tok.MayAnswer(c.tenant, c.session), tok.MaySee(c.tenant, c.session))
		}
	}
	for name, bad := range map[string]token.Token{
		"no role": {Tenant: "a"}, "no sessions": {Role: token.Agent, Tenant: "a"}, "a star inside": {Role: token.Screen, Tenant: "a", Sessions: []string{"a*b"}},
		"a responder with sessions": {Role: token.Responder, Tenant: "a", Sessions: []string{"s"}}, "a tenant that is none": {Role: token.Operator, Tenant: "a.b"},
	} {
		if bad.Validate() == nil {
			t.Errorf("%s is fine", name)
		}
	}
}

func TestATokenSpeaksForAPersonOnlyInAPersonsRole(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]token.Token{
		"an agent with a principal": {Role: token.Agent, Tenant: "a", Sessions: []string{"s"}, Principal: "oidc:mei"},
		"an agent with groups":      {Role: token.Agent, Tenant: "a", Sessions: []string{"s"}, Groups: []string{"g"}},
		"a host without a user":     {Role: token.Host, Tenant: "a", Sessions: []string{"s"}},
		"a host with half a user":   {Role: token.Host, Tenant: "a", Sessions: []string{"s"}, Principal: "os:"},
		"a host as a person":        {Role: token.Host, Tenant: "a", Sessions: []string{"s"}, Principal: "oidc:mei"},
		"a host of many sessions":   {Role: token.Host, Tenant: "a", Sessions: []string{"s*"}, Principal: "os:mei"},
	} {
		if bad.Validate() == nil {
			t.Errorf("%s is issued", name)
		}
	}
}

func TestAMarkIsOfOneHostAndOneAsk(t *testing.T) {
	t.Parallel()
	k, other := ask.Key{Tenant: "a", Session: "s", ID: "x"}, ask.Key{Tenant: "a", Session: "s", ID: "y"}
	one, two := token.Token{ID: "i", Hash: "sha256:1"}, token.Token{ID: "i", Hash: "sha256:2"}
	again := one
	if one.Mark(k) != again.Mark(k) || one.Mark(k) == one.Mark(other) || one.Mark(k) == two.Mark(k) {
		t.Error("marks do not tell hosts and asks apart")
	}
}

// A caller with an unknown token waits at most three seconds for a silent
// broker, however long its own timeout is.
func TestACheckDoesNotWaitForASilentBroker(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	nc := b.Connect(rights.Role{Name: rights.RoleGateway})
	synctest.Test(t, func(t *testing.T) { // nothing reads the tokens, as while the broker is silent
		s := token.NewStore(nc, state.CacheOptions{Poll: time.Hour, FailAfter: 2 * time.Hour, Logger: natstest.Logger()})
		began := time.Now()
		_, err := s.Check(t.Context(), "askb_abc_def", began)
		if took := time.Since(began); took != 3*time.Second || err == nil || errors.Is(err, token.ErrUnknown) {
			t.Errorf("%v after %s", err, took)
		}
	})
}
