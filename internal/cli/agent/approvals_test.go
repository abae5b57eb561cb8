package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
)

// TestApprovalsCheck checks what the command says of an ask, of a file of
// policies, and of both.
func TestApprovalsCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ask := write("ask.json", `{"questions":[{"text":"Deploy?","kind":"boolean"}],"approval":{"any_of":[{"need":1,"from":["os:ana"]}]}}`)
	good := write("good.yaml", `
policies:
  - { name: two, tenants: [acme], otherwise: { approval: { any_of: [ { need: 2, from: ["group:sre"] } ] }, exclude_asker: true } }
`)
	bad := write("bad.yaml", "policies: [ { name: two } ]")
	hours := write("hours.yaml", `calendars: [ { name: office, time_zone: Europe/Berlin, hours: { mon-sun: ["00:00-24:00"] } } ]`)
	ladder := write("ladder.json", `{"questions":[{"text":"Deploy?","kind":"boolean"}],"timeout":"1h","escalate":[{"after":"10m"},{"after":"55m"}],"escalate_hours":"office"}`)
	for _, v := range []struct {
		name, tenant string
		args         []string
		want         []string
	}{
		{"an ask", "acme", []string{ask}, []string{"Approved by 1 of os:ana\n", "may not vote: neither"}},
		{"policies", "acme", []string{good}, []string{"Policy two, version ", "1 policies, 0 people"}},
		{"calendars", "acme", []string{hours}, []string{"Calendar office, version ", "is open now, until ", "0 schedules, 1 calendars, 0 break-glass roles\n"}},
		{"a ladder of a calendar", "acme", []string{ladder, "--approvals", hours}, []string{"Calendar office, version ", "Step 1, after 10m0s, reminds those who may decide and who were told; if asked now: ", "Step 2, after 55m0s, reminds those who may decide and who were told; never, because the ask ends before\n"}},
		{"a ladder of an unknown calendar", "acme", []string{ladder, "--approvals", good, "--asker", "os:mei"}, []string{"/escalate_hours"}},
		{"an invalid file", "acme", []string{bad}, []string{"bad.yaml: policies[0].otherwise: is missing"}},
		{"both", "acme", []string{ask, "--approvals", good, "--asker", "os:mei"}, []string{"Policy two applies, version ", ": otherwise\n", "Approved by 1 of os:ana\n", "By policy two: Approved by 2 of group:sre\n", "Not by os:mei\n"}},
		{"no asker", "acme", []string{ask, "--approvals", good}, []string{"the policy two of this bus excludes the asker"}},
		{"another tenant", "other", []string{ask, "--approvals", good}, []string{"No policy applies in tenant other, session cli\n"}},
		{"an invalid file beside an ask", "acme", []string{ask, "--approvals", bad}, []string{"policies[0].otherwise"}},
	} {
		var out bytes.Buffer
		a := &cli.App{Stdout: &out}
		a.Tenant = v.tenant
		cmd := ApprovalsCmd(a)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(append([]string{"check"}, v.args...))
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			out.WriteString(err.Error())
		}
		for _, want := range v.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %s\nwant %q", v.name, out.String(), want)
			}
		}
	}
}
