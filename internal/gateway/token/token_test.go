package token_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/gateway/token"
)

func TestIssueCheckRevoke(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deep", "tokens.json")
	writer, reader := token.Open(path), token.Open(path)
	now := time.Now()
	if _, err := reader.Check("askb_x_y", now); !errors.Is(err, token.ErrUnknown) {
		t.Fatalf("without a file: %v", err)
	}
	made, secret, err := writer.Issue(token.Token{Role: token.Agent, Tenant: "acme", Sessions: []string{"s1"}, Expires: now.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if id, ok := strings.CutPrefix(secret, "askb_"+made.ID+"_"); !ok || len(id) != 43 {
		t.Errorf("the token is %q", secret)
	}
	if got, err := reader.Check(secret, now); err != nil || got.ID != made.ID || !got.MayAsk("acme", "s1") {
		t.Errorf("another replica: %+v, %v", got, err)
	}
	for name, wrong := range map[string]string{
		"another secret": "askb_" + made.ID + "_" + strings.Repeat("0", 43), "no secret": "askb_" + made.ID + "_", "no token": "hello", "empty": "",
		"another id": strings.Replace(secret, made.ID, "abc", 1),
	} {
		if _, err := reader.Check(wrong, now); !errors.Is(err, token.ErrUnknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := reader.Check(secret, now.Add(time.Hour)); !errors.Is(err, token.ErrExpired) {
		t.Errorf("after it expired: %v", err)
	}
	data, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(data), secret[len(secret)-43:]) {
		t.Errorf("the secret is in the file: %s, %v", data, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if gone, err := writer.Revoke(made.ID); err != nil || gone.ID != made.ID {
		t.Errorf("%+v, %v", gone, err)
	}
	if _, err := reader.Check(secret, now); !errors.Is(err, token.ErrUnknown) {
		t.Errorf("after it was revoked: %v", err)
	}
	if _, err := writer.Revoke(made.ID); err == nil {
		t.Error("it can be revoked twice")
	}
}

func TestWritersAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens.json")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, _, err := token.Open(path).Issue(token.Token{Role: token.Operator, Tenant: "default"}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if list, err := token.Open(path).List(); err != nil || len(list) != 20 {
		t.Errorf("%d tokens, %v", len(list), err)
	}
}

func TestDamagedFileLetsNobodyIn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens.json")
	f := token.Open(path)
	_, secret, err := f.Issue(token.Token{Role: token.Operator, Tenant: "default"})
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{"no JSON": "{", "an unknown field": `{"tokens":[{"id":"x","sesions":["a"]}]}`, "a scope that says nothing": `{"tokens":[{"id":"x","role":"agent","tenant":"a"}]}`} {
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Check(secret, time.Now()); err == nil || errors.Is(err, token.ErrUnknown) {
			t.Errorf("%s: %v", name, err)
		}
		if _, _, err := f.Issue(token.Token{Role: token.Operator, Tenant: "default"}); err == nil {
			t.Errorf("%s: a damaged file is written over", name)
		}
	}
}

func TestWhatTokensMay(t *testing.T) {
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
