package main

import (
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/testkit/waittest"
)

// A person signs in, is listed and is signed out. After a kill the login link stays used, and
// another browser stays signed in.
func TestPeopleAreListedAndSignedOut(t *testing.T) {
	t.Parallel()
	pl, p := up(t)
	visit := func(c *http.Client, url string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Transport: httpserver.LocalTransport()}
	link, _ := pl.must(0, "login")["url"].(string)
	if code := visit(browser, link); code != http.StatusOK {
		t.Fatal(code)
	}
	p.kill()
	pl.up()
	if code := visit(&http.Client{Transport: httpserver.LocalTransport()}, link); code != http.StatusUnauthorized {
		t.Errorf("the link after a kill: %d", code)
	}
	home := pl.context().HTTPURL + "/"
	if code := visit(browser, home); code != http.StatusOK {
		t.Errorf("the sign-in after a kill: %d", code)
	}
	out, said, code := pl.run("people", "list")
	if code != 0 || !strings.Contains(out, `"principal":"os:`) {
		t.Fatalf("exit %d: %s %s", code, out, said)
	}
	_, rest, _ := strings.Cut(out, `"principal":"`)
	who, _, _ := strings.Cut(rest, `"`)
	if _, said, code := pl.run("people", "sign-out", who); code != 0 {
		t.Fatalf("exit %d: %s", code, said)
	}
	for end := time.Now().Add(waittest.Limit); visit(browser, home) != http.StatusUnauthorized; {
		if time.Now().After(end) {
			t.Fatal("still signed in")
		}
	}
	if _, said, code := pl.run("people", "sign-out", who); code == 0 || !strings.Contains(said, "nobody is signed in") {
		t.Errorf("exit %d: %s", code, said)
	}
}
