package alerttest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

// live returns the names of the metrics of a running askbus.
func live(t *testing.T) map[string]bool {
	t.Helper()
	dir := t.TempDir()
	bin, state := filepath.Join(dir, "askbus"), filepath.Join(dir, "state")
	build := exec.Command("make", "--no-print-directory", "build", "BIN="+bin)
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	askbus := func(args ...string) *exec.Cmd {
		cmd := exec.Command(bin, append(args, "--dir", state)...)
		cmd.Env = []string{"HOME=" + dir, "USER=askbus"}
		cmd.Stderr = os.Stderr
		return cmd
	}
	up := askbus("up", "--tls", "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--no-open")
	said, err := up.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = up.Process.Signal(syscall.SIGTERM)
		_ = up.Wait()
	})
	ops := ""
	for lines := bufio.NewScanner(said); lines.Scan() && !strings.HasPrefix(lines.Text(), "Ask something"); {
		if f := strings.Fields(lines.Text()); len(f) == 2 && f[0] == "ops" {
			ops = f[1]
		}
	}
	for _, args := range [][]string{
		{"ask", "--question", "Go?", "--option", "yes", "--id", "a1", "--session", "s1", "--wait", "0"},
		{"answer", "s1/a1", "--reply", "yes"},
		{"answer", "s1/a1", "--reply", "yes"},
	} {
		_ = askbus(args...).Run() // their exit codes say how an ask stands
	}
	names := map[string]bool{}
	// Metrics that need a posting surface or a failure are in the table, which is tested with the
	// metrics.
	doc, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(askbus_(?:slack_[a-z_]+|audit_log_[a-z_]+|surface_[a-z_]+|credential_[a-z_]+|redeliveries_total|first_presentation_seconds))` \\| (\\w+)").FindAllStringSubmatch(string(doc), -1) {
		series(names, m[1], m[2])
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	// Waiting asks are counted every 15 s.
	for ; ctx.Err() == nil && (!names["askbus_outcomes_total"] || !names["askbus_held_requests"]); <-tick.C {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, ops+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^# TYPE (\w+) (\w+)$`).FindAllStringSubmatch(string(body), -1) {
			series(names, m[1], m[2])
		}
	}
	readable(t, ops+"/metrics")
	if len(names) < 30 {
		t.Fatalf("only %v", names)
	}
	return names
}

// series adds the names under which Prometheus stores a metric.
func series(names map[string]bool, name, kind string) {
	names[name] = true
	if kind == "histogram" {
		delete(names, name)
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			names[name+suffix] = true
		}
	}
}

// check parses a query and checks that its metrics exist.
func check(t *testing.T, names map[string]bool, where, query string) {
	t.Helper()
	query = strings.NewReplacer("$__rate_interval", "5m", "$tenant", ".*").Replace(query)
	expr, err := parser.ParseExpr(query)
	if err != nil {
		t.Errorf("%s: %v in %s", where, err, query)
		return
	}
	found := 0
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok {
			found++
			if !names[v.Name] {
				t.Errorf("%s: no metric %s", where, v.Name)
			}
		}
		return nil
	})
	if found == 0 {
		t.Errorf("%s: no metric in %s", where, query)
	}
}

func TestRulesAndDashboardUseExistingMetrics(t *testing.T) {
	t.Parallel()
	names := live(t)
	data, err := os.ReadFile("../../deploy/prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Groups []struct {
			Name  string `yaml:"name"`
			Rules []struct {
				Alert       string            `yaml:"alert"`
				Expr        string            `yaml:"expr"`
				For         string            `yaml:"for"`
				Labels      map[string]string `yaml:"labels"`
				Annotations map[string]string `yaml:"annotations"`
			} `yaml:"rules"`
		} `yaml:"groups"`
	}
	if err := yaml.Unmarshal(data, &rules); err != nil {
		t.Fatal(err)
	}
	operations, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			check(t, names, r.Alert, r.Expr)
			if _, err := time.ParseDuration(r.For); err != nil || r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s: for, severity, summary and description are needed", r.Alert)
			}
			if !strings.Contains(string(operations), "`"+r.Alert+"`") {
				t.Errorf("docs/operations.md does not say what to do about %s", r.Alert)
			}
		}
	}
	if data, err = os.ReadFile("../../deploy/grafana/askbus.json"); err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal(data, &board); err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			check(t, names, p.Title, target.Expr)
		}
	}
	if len(rules.Groups) == 0 || len(rules.Groups[0].Rules) < 5 || len(board.Panels) < 10 {
		t.Error("few rules or panels were read")
	}
}
