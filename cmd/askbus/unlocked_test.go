package main

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
)

func TestAnAddressWithoutTokens(t *testing.T) {
	t.Parallel()
	pl, p := up(t, "--interact-addr", "127.0.0.1:0", "--interact-session", "panel")
	at := regexp.MustCompile(`session panel at (http://\S+) without a token`).FindStringSubmatch(p.err.String() + p.out.String())
	if at == nil {
		t.Fatalf("it does not say where: %s", p.err)
	}
	for body, want := range map[string]int{`{"sessionId":"panel","question":"Why?"}`: 503, `{"sessionId":"other","question":"Why?"}`: 403} { // nobody looks
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at[1]+"/api/interact/ask", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(res.Body)
		if _ = res.Body.Close(); res.StatusCode != want {
			t.Errorf("%s: %d %s", body, res.StatusCode, said)
		}
	}
	p.kill()
	p = pl.up("--interact-addr", "127.0.0.1:0", "--interact-session", "panel")
	if said := p.err.String() + p.out.String(); !strings.Contains(said, at[1]) {
		t.Errorf("after a restart it is not at %s: %s", at[1], said)
	}
	for name, flags := range map[string][]string{
		"no session":        {"--interact-addr", "127.0.0.1:0"},
		"no address":        {"--interact-session", "panel"},
		"every address":     {"--interact-addr", "0.0.0.0:0", "--interact-session", "panel"},
		"another machine's": {"--interact-addr", ":8423", "--interact-session", "panel"},
		"no session's name": {"--interact-addr", "127.0.0.1:0", "--interact-session", "a b"},
	} {
		if out, said, code := pl.run(append([]string{"gateway", "--http-addr", "127.0.0.1:0"}, flags...)...); code != cli.ExitUsage {
			t.Errorf("%s: exit %d: %s%s", name, code, out, said)
		}
	}
}
