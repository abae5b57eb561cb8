package main

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/testkit/openidtest"
)

// oidcSettings lets people sign in at a provider, by these rules.
func oidcSettings(t *testing.T, at *openidtest.Provider, rules string) []string {
	t.Helper()
	return []string{
		"ASKBUS_WEB_OIDC_ISSUER=" + at.URL, "ASKBUS_WEB_OIDC_CLIENT_ID=" + openidtest.ClientID,
		"ASKBUS_WEB_OIDC_CLIENT_SECRET_FILE=" + write(t, "secret", openidtest.ClientSecret+"\n"), "ASKBUS_WEB_RULES=" + write(t, "rules.yaml", rules),
	}
}

// A team signs in at its provider: who sees what, who answered and how it is proven; signing out at
// the provider ends the session.
func TestPeopleSignInAtTheirProvider(t *testing.T) {
	t.Parallel()
	at := openidtest.Start(t)
	env := oidcSettings(t, at, "rules:\n- when: {groups: [platform]}\n  role: responder\n  tenants: [default]\n  sessions: ['s*']\n")
	pl := place{t, t.TempDir()}
	startWith(t, env, "", "up", "--dir", pl.dir, "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--no-open").out.wait(t, "askbus is up.")
	for id, session := range map[string]string{"mine": "s1", "theirs": "payroll"} {
		pl.must(cli.ExitPending, "ask", "--wait", "0", "--id", id, "--session", session, "--question", "Which for "+id+"?", "--option", "A", "--option", "B")
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Transport: httpserver.LocalTransport()}
	base := pl.pages()
	do := func(method, path string, form url.Values) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		res, err := browser.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(body)
	}
	if code, body := do(http.MethodGet, "/login/oidc?to=/ask/default/s1/mine", nil); code != http.StatusOK || !strings.Contains(body, "Which for mine?") || strings.Contains(body, "Which for theirs?") {
		t.Fatalf("%d %s", code, body)
	}
	if code, _ := do(http.MethodGet, "/ask/default/payroll/theirs", nil); code != http.StatusNotFound {
		t.Errorf("an ask of another session: %d", code)
	}
	if code, body := do(http.MethodPost, "/ask/default/s1/mine/answer", url.Values{"response": {"the first"}, "answer_id": {"x1"}}); code != http.StatusOK {
		t.Errorf("%d %s", code, body)
	}
	out, said, _ := pl.run("wait", "s1/mine", "--output", "json")
	if !strings.Contains(out, `"principal":"`+at.Principal("mei")+`"`) || !strings.Contains(out, `"proof":"oidc"`) {
		t.Errorf("the outcome is %s %s", out, said)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := browser.Do(req)
	if err != nil || stream.StatusCode != http.StatusOK {
		t.Fatal(stream, err)
	}
	defer stream.Body.Close()
	if code, _ := do(http.MethodPost, "/login/oidc/logout", url.Values{"logout_token": {at.LogoutToken(nil)}}); code != http.StatusOK {
		t.Fatal(code)
	}
	_, _ = io.Copy(io.Discard, stream.Body) // it ends
	if code, _ := do(http.MethodGet, "/", nil); code != http.StatusUnauthorized {
		t.Errorf("after signing out at the provider: %d", code)
	}
}

func TestInvalidSignInSettingsAreRejected(t *testing.T) {
	t.Parallel()
	for says, env := range map[string][]string{
		"set who may sign in":          {"ASKBUS_WEB_OIDC_ISSUER=https://id.example", "ASKBUS_WEB_OIDC_CLIENT_ID=x"},
		`invalid issuer ""`:            {"ASKBUS_WEB_OIDC_CLIENT_SECRET=x", "ASKBUS_WEB_OIDC_ALLOWED_GROUPS=*"},
		"invalid issuer":               {"ASKBUS_WEB_OIDC_ISSUER=http://id.example", "ASKBUS_WEB_OIDC_CLIENT_ID=x", "ASKBUS_WEB_OIDC_ALLOWED_GROUPS=*"},
		"ASKBUS_WEB_PROXY_NETWORKS is": {"ASKBUS_WEB_PROXY_HEADER=X-Forwarded-User"},
		"it contains every address":    {"ASKBUS_WEB_PROXY_HEADER=X-Forwarded-User", "ASKBUS_WEB_PROXY_NETWORKS=0.0.0.0/0"},
		"ASKBUS_WEB_RULES":             {"ASKBUS_WEB_RULES=/nonexistent/rules.yaml"},
	} {
		p := startWith(t, env, "", "up", "--dir", t.TempDir(), "--no-open", "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0")
		if code := p.wait(); code != 2 || !strings.Contains(p.err.String(), says) {
			t.Errorf("exit %d: %s, want %q", code, p.err, says)
		}
	}
}

func TestInvite(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	link, _ := pl.must(0, "invite", "mei", "--name", "Mei", "--only-tenant", "acme")["url"].(string)
	if !strings.HasPrefix(link, pl.pages()+"/join?t=") {
		t.Errorf("got %s", link)
	}
	for _, args := range [][]string{{"invite", "mei tom"}, {"invite", "mei", "--only-tenant", "["}} {
		if _, said, code := pl.run(args...); code != 2 {
			t.Errorf("%v: exit %d: %s", args, code, said)
		}
	}
	if out, said, code := pl.run("people", "passkeys"); code != 0 || strings.TrimSpace(out) != "[]" {
		t.Errorf("exit %d: %s %s", code, out, said)
	}
	if _, said, code := pl.run("people", "remove", "passkey:mei"); code == 0 || !strings.Contains(said, "nobody is signed in") {
		t.Errorf("exit %d: %s", code, said)
	}
}

// The output of a pod is read by others than its users.
func TestUpPrintsNoLinkIfToldSo(t *testing.T) {
	t.Parallel()
	p := start(t, "", "up", "--dir", t.TempDir(), "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--no-link")
	p.out.wait(t, "Ask something from a second terminal")
	if out := p.out.String(); strings.Contains(out, "/login?") || !strings.Contains(out, `("askbus login" makes a link that signs you in)`) {
		t.Errorf("it printed %s", out)
	}
}
