package main

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

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
