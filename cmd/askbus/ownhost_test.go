package main

import (
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/httpserver"
)

// The pages of a directory have a host of their own, which stays over restarts; programs use
// 127.0.0.1 as before.
func TestPagesHaveAHostOfTheirOwn(t *testing.T) {
	t.Parallel()
	pl, p := up(t)
	at := pl.context().HTTPURL
	login := pl.must(0, "login", "--output", "json")
	link, local := login["url"].(string), login["local_url"].(string)
	own, err := url.Parse(link)
	if err != nil || !httpserver.LocalName(own.Host) || len(own.Hostname()) != len("0123456789abcdef.localhost") || !strings.HasPrefix(local, at+"/login?t=") || strings.TrimPrefix(local, at) != own.RequestURI() {
		t.Fatalf("%v: %s and %s", err, link, local)
	}
	if !strings.Contains(p.out.String(), "  inbox   http://"+own.Host+"/login?t=") {
		t.Errorf("up says %s", p.out)
	}
	once := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	status := func(at string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := once.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode, res.Header.Get("Location")
	}
	if code, to := status(local); code != http.StatusTemporaryRedirect || to != link {
		t.Errorf("the link at 127.0.0.1: %d %s", code, to)
	}
	for path, want := range map[string]int{"/v1/asks": 401, "/mcp": 401, "/openapi.yaml": 200, "/.well-known/agent-card.json": 401} {
		if code, to := status(at + path); code != want && code/100 == 3 {
			t.Errorf("%s at 127.0.0.1: %d %s", path, code, to)
		}
	}
	if code := p.stop(); code != 0 {
		t.Fatalf("exit %d", code)
	}
	pl.up()
	if again := pl.pages(); again != "http://"+own.Host {
		t.Errorf("at %s, and after a restart at %s", own.Host, again)
	}
	beside, _ := up(t)
	if other, _ := url.Parse(beside.pages()); other.Hostname() == own.Hostname() {
		t.Error("two directories share a host")
	}
	if out, said, code := pl.run("invite", "mei", "--output", "text"); code != 0 || !strings.HasPrefix(out, "http://"+own.Host+"/join?t=") {
		t.Errorf("an invitation: exit %d: %s%s", code, out, said)
	}
}

// A browser takes a name below localhost for ::1 first: nobody else may listen there.
func TestAnInboxHasBothLoopbackAddresses(t *testing.T) {
	t.Parallel()
	six, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 here: ", err)
	}
	defer six.Close()
	pl, _ := up(t)
	u, err := url.Parse(pl.context().HTTPURL)
	if err != nil {
		t.Fatal(err)
	}
	if ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort("::1", u.Port())); err == nil {
		_ = ln.Close()
		t.Error("another program can listen where a browser looks first")
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+net.JoinHostPort("::1", u.Port())+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusTemporaryRedirect {
		t.Errorf("at ::1: %d", res.StatusCode)
	}
	_, port, _ := net.SplitHostPort(six.Addr().String())
	late := start(t, "", "up", "--dir", filepath.Join(t.TempDir(), "state"), "--no-open", "--nats-addr", "127.0.0.1:0", "--ops-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:"+port)
	if code := late.wait(); code == 0 || !strings.Contains(late.err.String(), "[::1]:"+port) || !strings.Contains(late.err.String(), "--http-addr") {
		t.Errorf("exit %d: %s", code, late.err)
	}
}

// A sign-in page is a new file for this user only, whose name no browser hides.
func TestASignInPageIsForThisUserOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	page := cli.SignInPage(dir)
	if err := cli.WriteLeading(page, "http://127.0.0.1:1/login?t=a&to=/ask/x"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(page)
	if err != nil || info.Mode().Perm() != 0o600 || strings.HasPrefix(filepath.Base(page), ".") {
		t.Errorf("%v %v", info, err)
	}
	if text, _ := os.ReadFile(page); !strings.Contains(string(text), `content="0;url=http://127.0.0.1:1/login?t=a&amp;to=/ask/x"`) {
		t.Errorf("%s", text)
	}
	if err := cli.WriteLeading(page, "http://127.0.0.1:2/"); err == nil {
		t.Error("a file of somebody else is written")
	}
}
