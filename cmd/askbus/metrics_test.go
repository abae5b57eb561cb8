package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/testkit/natstest"
)

// opsPage reads a page of a role's ops address.
func (pl place) opsPage(role, path string) string {
	pl.t.Helper()
	req, err := http.NewRequestWithContext(pl.t.Context(), http.MethodGet, pl.context().Ops[role]+path, nil)
	if err != nil {
		pl.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		pl.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		pl.t.Fatalf("%s: %d %v %s", path, resp.StatusCode, err, body)
	}
	return string(body)
}

func TestMetricsOfARunningBusAreDocumented(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	pl.must(3, "ask", "--question", "Go?", "--option", "yes", "--wait", "0", "--id", "m1")
	pl.must(0, "answer", "m1", "--reply", "yes")
	doc, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`askbus_asks_total{tenant="default"} 1`, `askbus_outcomes_total{source="human",status="answered"`, `askbus_build_info{role="up"`} {
		natstest.Eventually(t, "/metrics has "+want, func() bool { return strings.Contains(pl.opsPage("up", "/metrics"), want) })
	}
	for _, name := range regexp.MustCompile(`(?m)^# HELP (askbus_\w+)`).FindAllStringSubmatch(pl.opsPage("up", "/metrics"), -1) {
		if !strings.Contains(string(doc), "`"+name[1]+"`") {
			t.Errorf("%s is not in docs/metrics.md", name[1])
		}
	}
}

// A role with a credential from a file says when that expires, as the file is now.
func TestARoleSaysWhenItsCredentialExpires(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	file := filepath.Join(t.TempDir(), "gateway.json")
	issue := func(life string) float64 {
		t.Helper()
		out, said, code := pl.run("auth", "gateway", "--expires", life, "--output", "json")
		if code != 0 || os.WriteFile(file, []byte(out), 0o600) != nil {
			t.Fatalf("auth gateway: exit %d, %s", code, said)
		}
		at, err := time.Parse(time.RFC3339, decode(t, out)["expires"].(string))
		if err != nil {
			t.Fatal(err)
		}
		return float64(at.Unix())
	}
	first := issue("48h")
	elsewhere := place{t, t.TempDir()}
	start(t, "", "gateway", "--dir", elsewhere.dir, "--creds", file, "--nats-url", pl.context().NATSURL, "--http-addr", "127.0.0.1:0").err.wait(t, "gateway at")
	said := func(at float64) bool {
		return strings.Contains(elsewhere.opsPage("gateway", "/metrics"), fmt.Sprintf(`askbus_credential_expires_timestamp_seconds{credential="gateway"} %s`, strconv.FormatFloat(at, 'e', -1, 64)))
	}
	if !said(first) {
		t.Errorf("it does not say %v: %s", first, elsewhere.opsPage("gateway", "/metrics"))
	}
	if second := issue("96h"); !said(second) {
		t.Errorf("the file was replaced, and it does not say %v", second)
	}
}
