package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/testkit/openidtest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/chromedp/chromedp"
	"github.com/nats-io/nats.go"
)

// laptop is a person's other machine, without any files of the bus.
type laptop struct {
	t   *testing.T
	dir string
	ssh string // SSH_CONNECTION
}

func newLaptop(t *testing.T) laptop { t.Helper(); return laptop{t: t, dir: t.TempDir()} }

func (l laptop) start(stdin string, args ...string) *process {
	l.t.Helper()
	return l.startReading(strings.NewReader(stdin), args...)
}

// startReading is start with the given standard input.
func (l laptop) startReading(in io.Reader, args ...string) *process {
	l.t.Helper()
	return startFrom(l.t, in, []string{"XDG_CONFIG_HOME=" + filepath.Join(l.dir, "config"), "XDG_STATE_HOME=" + filepath.Join(l.dir, "state"), "SSH_CONNECTION=" + l.ssh, "ASKBUS_DIR="}, args...)
}

// run runs a command and returns its output and exit code.
func (l laptop) run(args ...string) (stdout, said string, code int) {
	l.t.Helper()
	p := l.start("", args...)
	code = p.wait()
	return p.out.String(), p.err.String(), code
}

func (l laptop) file() string { return filepath.Join(l.dir, "config", "askbus", "login.json") }

// signedIn returns the content of login.json.
func (l laptop) signedIn() (s cli.SignedIn) {
	l.t.Helper()
	data, err := os.ReadFile(l.file())
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

var terminalLink = regexp.MustCompile(`https?://\S*/terminal/\S+`)

// terminalLinkOf waits for the link that "askbus login URL" prints.
func terminalLinkOf(p *process) string { return terminalLink.FindString(p.err.wait(p.t, "Code: ")) }

// A person signs a terminal in with a browser, answers there, and signs out: then its credentials
// stop working.
func TestATerminalIsSignedInInTheBrowser(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	tab, l := pl.login(), newLaptop(t)
	login := l.start("", "login", pl.context().HTTPURL, "--output", "json")
	tab.Do(chromedp.Navigate(terminalLinkOf(login)))
	tab.Wait(`document.body.innerText.includes("asks to sign in as you")`)
	shot(tab, "terminal-confirm")
	click(tab, `document.querySelector('button[value="here"]')`)
	tab.Wait(`document.body.innerText.includes("Your terminal has the code")`)
	if code := login.wait(); code != 0 {
		t.Fatalf("exit %d: %s", code, login.err)
	}
	if at, err := os.Stat(l.file()); err != nil || at.Mode().Perm() != 0o600 {
		t.Errorf("the sign-in has mode %v, %v", at.Mode(), err)
	}
	pl.must(cli.ExitPending, "ask", "--wait", "0", "--id", "a1", "--session", "s1", "--question", "Go?", "--option", "Yes", "--option", "No", "--min-proof", "os")
	if out, said, code := l.run("status", "--format", "plain"); code != 0 || !strings.Contains(out, "1 waiting") {
		t.Errorf("exit %d: %s%s", code, out, said)
	}
	if out, said, code := l.run("list", "--output", "json"); code != 0 || !strings.Contains(out, `"a1"`) {
		t.Errorf("exit %d: %s%s", code, out, said)
	}
	if _, said, code := l.run("answer", "a1", "--select", "Yes"); code != 0 {
		t.Errorf("exit %d: %s", code, said)
	}
	if by := pl.must(0, "wait", "s1/a1")["by"].(map[string]any); by["responder"] != "tui" || by["proof"] != "os" || !strings.HasPrefix(by["principal"].(string), "os:") {
		t.Errorf("answered by %v", by)
	}
	if _, said, code := l.run("ask", "--question", "Me?", "--session", "s1", "--option", "A", "--option", "B"); code == 0 || code == cli.ExitPending || !strings.Contains(said, "no bus found") {
		t.Errorf("a person's sign-in asks: exit %d: %s", code, said)
	}

	// The person is signed out everywhere.
	held := l.signedIn().Credentials[""].Credential
	gone := make(chan struct{})
	nc, err := nats.Connect(held.URL, nats.UserCredentialBytes([]byte(held.Creds)), nats.CustomInboxPrefix(held.InboxPrefix), nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { close(gone) }))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, said, code := pl.run("people", "sign-out", cli.LocalUser(nil).Principal); code != 0 {
		t.Fatalf("exit %d: %s", code, said)
	}
	select {
	case <-gone:
	case <-time.After(waittest.Limit):
		t.Fatal("the connection of a terminal that is signed out stands")
	}
	if again, err := nats.Connect(held.URL, nats.UserCredentialBytes([]byte(held.Creds)), nats.NoReconnect()); err == nil {
		again.Close()
		t.Error("the credential of a terminal that is signed out is let in")
	}
	renewed := l.start("", "tui", "--accessible")
	if code := renewed.wait(); code == 0 || !strings.Contains(renewed.err.String(), "sign in again with") {
		t.Errorf("exit %d: %s", code, renewed.err)
	}
	if _, said, code := l.run("list"); code == 0 || !strings.Contains(said, "sign in again with") {
		t.Errorf("exit %d: %s", code, said)
	}
	if _, said, code := l.run("logout"); code != 0 && !strings.Contains(said, "does not know") {
		t.Errorf("exit %d: %s", code, said)
	}
	if _, err := os.Stat(l.file()); err == nil {
		t.Error("the sign-in is still stored")
	}
}

// No browser can call back to a terminal over SSH: without standard input its sign-in ends at once.
func TestASignInOverSSHNeedsStandardInput(t *testing.T) {
	t.Parallel()
	inbox := httptest.NewServer(http.RedirectHandler("/login", http.StatusSeeOther))
	t.Cleanup(inbox.Close)
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	l := newLaptop(t)
	l.ssh = "192.0.2.1 50000 192.0.2.2 22"
	if _, said, code := l.run("login", other.URL); code != cli.ExitFailure || !strings.Contains(said, "is no web inbox") || strings.Contains(said, "Open this link") {
		t.Errorf("exit %d: %s", code, said)
	}
	if _, said, code := l.run("login", inbox.URL); code != cli.ExitFailure || !strings.Contains(said, "no code was typed") {
		t.Errorf("exit %d: %s", code, said)
	}
}

// oidcPlace returns a bus of separate processes whose people sign in at a provider, and the URL of
// its web inbox.
func oidcPlace(t *testing.T, issuer bool) (pl place, at *openidtest.Provider, base string) {
	t.Helper()
	at = openidtest.Start(t)
	env := oidcSettings(t, at, "rules:\n- when: {groups: [platform]}\n  role: responder\n  tenants: [acme]\n"+
		"- when: {groups: [platform]}\n  role: reader\n  tenants: [beta]\n")
	pl = place{t, filepath.Join(t.TempDir(), "state")}
	part := func(args ...string) *process {
		return startWith(t, env, "", append(args, "--dir", pl.dir, "--ops-addr", "127.0.0.1:0")...)
	}
	part("server", "--nats-addr", "127.0.0.1:0").err.wait(t, "NATS at")
	part("broker").err.wait(t, "broker on")
	if issuer {
		part("issuer").err.wait(t, "issuer on")
	}
	part("web", "--http-addr", "127.0.0.1:0").err.wait(t, "inbox at")
	return pl, at, pl.pages()
}

// oidcVisitor returns a browser without scripts, signed in at the provider.
func oidcVisitor(t *testing.T, base string) visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	v := visitor{t, base, &http.Client{Jar: jar, Transport: httpserver.LocalTransport()}}
	if page := v.read(v.client.Get(base + "/login/oidc")); !strings.Contains(page, "Mei") {
		t.Fatalf("not signed in: %s", page)
	}
	return v
}

var shownCode = regexp.MustCompile(`<code id="code">([A-Z0-9]+)</code>`)

// confirm confirms a terminal's sign-in and returns the page and its code.
func (v visitor) confirm(link string, form url.Values) (page, code string) {
	v.t.Helper()
	page = v.read(v.client.PostForm(link, form))
	if m := shownCode.FindStringSubmatch(page); m != nil {
		code = m[1]
	}
	return page, code
}

// A laptop signs in at a cluster of separate processes with a typed code, as a person of one
// tenant.
func TestALaptopAnswersAgainstACluster(t *testing.T) {
	t.Parallel()
	pl, at, base := oidcPlace(t, true)
	v, l := oidcVisitor(t, base), newLaptop(t)
	in, typed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer typed.Close()
	login := l.startReading(in, "login", base, "--no-browser", "--output", "json")
	_, code := v.confirm(terminalLinkOf(login), url.Values{"as": {at.Principal("mei")}, "how": {"code"}})
	if _, err := io.WriteString(typed, strings.ToLower(code)+"\n"); err != nil {
		t.Fatal(err)
	}
	if code := login.wait(); code != 0 {
		t.Fatalf("exit %d: %s", code, login.err)
	}
	if s := decode(t, login.out.String()); s["name"] != "responder/tui/acme" {
		t.Errorf("signed in: %v", s)
	}
	for _, tenant := range []string{"acme", "beta"} {
		pl.must(cli.ExitPending, "ask", "--wait", "0", "--id", "a1", "--session", "s1", "--tenant", tenant, "--question", "Go?", "--option", "Yes", "--option", "No", "--min-proof", "oidc", "--audience", "group:platform")
	}
	if _, said, code := l.run("answer", "s1/a1", "--select", "Yes"); code != 0 {
		t.Errorf("exit %d: %s", code, said)
	}
	if by := pl.must(0, "wait", "s1/a1", "--tenant", "acme")["by"].(map[string]any); by["principal"] != at.Principal("mei") || by["responder"] != "tui" || by["proof"] != "oidc" {
		t.Errorf("answered by %v", by)
	}
	// A terminal's credential does not cover what the person may only read.
	if _, said, code := l.run("list", "--tenant", "beta"); code == 0 || !strings.Contains(said, "may not decide everything of tenant beta") {
		t.Errorf("another tenant: exit %d: %s", code, said)
	}
	if _, said, code := l.run("logout"); code != 0 {
		t.Errorf("exit %d: %s", code, said)
	}
	if _, said, code := l.run("status"); code == 0 || !strings.Contains(said, "askbus login URL") {
		t.Errorf("signed out: exit %d: %s", code, said)
	}
}

// callTerminal sends a terminal's request and returns the status and the body.
func callTerminal(t *testing.T, base, path, secret string, body any) (int, string) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/terminal/"+path, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if secret != "" {
		req.Header.Set("Authorization", "Bearer "+secret)
	}
	res, err := cli.Direct().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	said, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(said)
}

//nolint:tparallel // the last uses up what an address may guess
func TestOnlyTheConfirmingPersonSignsATerminalIn(t *testing.T) {
	t.Parallel()
	_, at, base := oidcPlace(t, false)
	v := oidcVisitor(t, base)
	const verifier = "VVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVV"
	asks := web.TerminalRequest{Challenge: auth.Challenge(verifier), Client: "mei@laptop"}
	path, err := asks.Path()
	if err != nil {
		t.Fatal(err)
	}
	right := url.Values{"as": {at.Principal("mei")}, "how": {"code"}}
	redeem := func(code, verifier string) (int, string) {
		return callTerminal(t, base, "token", "", map[string]string{"code": code, "verifier": verifier})
	}
	t.Run("a stranger confirms nothing", func(t *testing.T) {
		res, err := cli.Direct().PostForm(base+path, right)
		if page := v.read(res, err); res.StatusCode != http.StatusUnauthorized || shownCode.MatchString(page) {
			t.Errorf("%d: %s", res.StatusCode, page)
		}
	})
	t.Run("another page confirms nothing", func(t *testing.T) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+path, strings.NewReader(right.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "cross-site")
		res, err := v.client.Do(req)
		if page := v.read(res, err); res.StatusCode != http.StatusForbidden || shownCode.MatchString(page) {
			t.Errorf("%d: %s", res.StatusCode, page)
		}
	})
	t.Run("somebody else than the page showed confirms nothing", func(t *testing.T) {
		if page, code := v.confirm(base+path, url.Values{"as": {at.Principal("tom")}, "how": {"code"}}); code != "" || !strings.Contains(page, "signed in as somebody else") {
			t.Error(page)
		}
	})
	t.Run("a code without its verifier, and one used twice", func(t *testing.T) {
		_, code := v.confirm(base+path, right)
		if status, said := redeem(code, strings.ToLower(verifier)); status != http.StatusUnauthorized {
			t.Errorf("another verifier: %d %s", status, said)
		}
		if status, said := redeem(code, verifier); status != http.StatusOK || !strings.Contains(said, auth.TerminalSecret) {
			t.Fatalf("%d %s", status, said)
		}
		if status, said := redeem(code, verifier); status != http.StatusUnauthorized || strings.Contains(said, auth.TerminalSecret) {
			t.Errorf("a second time: %d %s", status, said)
		}
	})
	t.Run("who signs out of the browser takes their terminals with them", func(t *testing.T) {
		other := oidcVisitor(t, base)
		_, code := other.confirm(base+path, right)
		_, said := redeem(code, verifier)
		secret, _ := decode(t, said)["secret"].(string)
		if status, said := callTerminal(t, base, "credential", secret, struct{}{}); status != http.StatusServiceUnavailable || !strings.Contains(said, "no issuer answers") {
			t.Errorf("%d %s", status, said)
		}
		_, late := other.confirm(base+path, right)
		other.read(other.client.PostForm(base+"/logout", nil))
		if status, said := callTerminal(t, base, "credential", secret, struct{}{}); status != http.StatusUnauthorized || !strings.Contains(said, "signed out") {
			t.Errorf("%d %s", status, said)
		}
		if status, said := redeem(late, verifier); status != http.StatusUnauthorized {
			t.Errorf("a code of before: %d %s", status, said)
		}
	})
	t.Run("other secrets count for nothing", func(t *testing.T) {
		cookies := v.client.Jar.Cookies(&url.URL{Scheme: "http", Host: strings.TrimPrefix(base, "http://"), Path: "/"})
		for _, secret := range []string{"", "askb_an_agents_token", auth.TerminalSecret, auth.TerminalSecret + "GUESS", cookies[0].Value, auth.TerminalSecret + cookies[0].Value} {
			for _, path := range []string{"credential", "logout"} {
				if status, said := callTerminal(t, base, path, secret, struct{}{}); status != http.StatusUnauthorized && (path != "logout" || status != http.StatusOK || secret != auth.TerminalSecret+"GUESS") {
					t.Errorf("%s with %q: %d %s", path, secret, status, said)
				}
			}
		}
	})
	t.Run("guesses are counted", func(t *testing.T) {
		for n := range 200 {
			if status, said := redeem("GUESS", verifier); status == http.StatusTooManyRequests {
				if n < 20 {
					t.Errorf("after %d guesses: %s", n, said)
				}
				return
			}
		}
		t.Error("200 guesses of one address are let through")
	})
}
