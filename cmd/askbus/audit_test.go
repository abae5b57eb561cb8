package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/testkit/natstest"
)

// audited is what "askbus audit" prints as JSON lines.
func (pl place) audited(args ...string) (found []audit.Record) {
	pl.t.Helper()
	out, said, code := pl.run(append([]string{"audit", "--output", "json"}, args...)...)
	if code != 0 {
		pl.t.Fatalf("audit: exit %d, %s", code, said)
	}
	for line := range strings.Lines(out) {
		var r audit.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			pl.t.Fatalf("%v: %s", err, line)
		}
		found = append(found, r)
	}
	return found
}

// actions returns the actions of records, without repetitions: a screen may report twice that it
// shows an ask.
func actions(records []audit.Record) (all []string) {
	for _, r := range records {
		all = append(all, string(r.Action))
	}
	return slices.Compact(all)
}

// One search shows who let something through: which token asked, who was shown
// the question where, who decided, and what came of that token afterwards.
func TestWhoLetThisThrough(t *testing.T) {
	t.Parallel()
	pl, p := up(t)
	issued := pl.must(0, "token", "issue", "--role", "agent", "--session", "build-42", "--name", "builder", "--output", "json")
	secret, id := issued["token"].(string), issued["id"].(string)
	b := pl.login()
	if status, _, body := pl.post("/v1/asks?session=build-42", `{"id":"deploy-42","questions":[{"text":"Deploy build 42?","options":[{"label":"Deploy"},{"label":"Wait"}]}]}`, secret); status != http.StatusCreated && status != http.StatusAccepted {
		t.Fatalf("ask: %d %s", status, body)
	}
	natstest.Eventually(t, "it is in the audit that it was shown", func() bool {
		return len(pl.audited("--ask", "deploy-42", "--action", "ask.shown")) > 0
	})
	click(b, `[...document.querySelectorAll("label")].find(l => l.innerText.includes("Deploy"))`)
	click(b, `[...document.querySelectorAll("button")].find(x => x.innerText.trim().startsWith("Answer"))`)
	natstest.Eventually(t, "it is answered", func() bool { return strings.HasPrefix(pl.state("build-42/deploy-42"), "answered") })
	pl.must(0, "token", "revoke", id)
	natstest.Eventually(t, "the token is refused", func() bool {
		status, _, _ := pl.post("/v1/asks", `{}`, secret)
		return status == http.StatusUnauthorized
	})
	pl.must(0, "invite", "tom", "--reader")
	if code := p.stop(); code != 0 { // what waits to be reported is reported
		t.Fatalf("up: exit %d", code)
	}
	pl.up()

	all := pl.audited("--since", "1h")
	var about []audit.Record
	at := map[audit.Action]audit.Record{}
	for _, r := range all {
		if r.Ask == "deploy-42" || r.Object != nil && r.Object.ID == id {
			about = append(about, r)
		}
		at[r.Action] = r
	}
	if got, want := actions(about), []string{"token.issued", "ask.asked", "ask.shown", "ask.answered", "token.revoked", "refused"}; !slices.Equal(got, want) {
		t.Fatalf("the audit has %q, want %q", got, want)
	}
	if r := at[audit.TokenIssued]; r.Object.Role != "agent" || r.Object.Name != "builder" || r.Tenant != "default" || r.Actor.Role != "operator" {
		t.Errorf("issued: %+v %+v", r, r.Object)
	}
	if r := at[audit.AskAnswered]; !strings.HasPrefix(r.Actor.Principal, "os:") || r.Actor.Proof != "os" || r.Surface != "web" || r.Decision.Answers[0].Choices[0].Label != "Deploy" || r.Actor.ReportedBy != "" {
		t.Errorf("answered: %+v %+v", r.Actor, r.Decision)
	}
	if r := at[audit.Refused]; r.Refusal.What != "POST /v1/asks" || r.Refusal.Code != "unauthorized" || r.Address != "127.0.0.1" || r.Surface != "gateway" || !strings.HasPrefix(r.Actor.Credential, "U") || r.Object.Note == "" {
		t.Errorf("refused: %+v %+v %+v", r, r.Refusal, r.Object)
	}
	if r, ok := at[audit.InvitationMade]; !ok || r.Object.Principal != "passkey:tom" || r.Actor.Role != "operator" {
		t.Errorf("invited: %+v", r)
	}
	for _, r := range all {
		if text := fmt.Sprintf("%+v", r); strings.Contains(text, strings.Split(secret, "_")[2]) {
			t.Errorf("a record holds the token: %s", text)
		}
	}
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"the token":   {[]string{"--credential", id}, []string{"token.issued", "ask.asked", "token.revoked", "refused"}},
		"by kind":     {[]string{"--kind", "token"}, []string{"token.issued", "token.revoked"}},
		"the person":  {[]string{"--principal", at[audit.AskAnswered].Actor.Principal}, []string{"sign-in", "ask.answered"}},
		"the surface": {[]string{"--surface", "gateway"}, []string{"refused"}},
		"the tenant":  {[]string{"--tenant", "default", "--kind", "token,ask"}, []string{"token.issued", "ask.asked", "ask.shown", "ask.answered", "token.revoked"}},
	} {
		if got := actions(pl.audited(c.args...)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if out, _, _ := pl.run("audit", "--since", "1h", "--output", "text"); !strings.Contains(out, "→ Deploy") || !strings.Contains(out, "POST /v1/asks: unauthorized") {
		t.Errorf("for people it says\n%s", out)
	}
	auditor := filepath.Join(t.TempDir(), "auditor.json")
	creds, said, code := pl.run("auth", "auditor", "--output", "json")
	if code != 0 || os.WriteFile(auditor, []byte(creds), 0o600) != nil {
		t.Fatalf("auth auditor: exit %d, %s", code, said)
	}
	if got, want := actions(pl.audited("--creds", auditor, "--ask", "deploy-42")), []string{"ask.asked", "ask.shown", "ask.answered"}; !slices.Equal(got, want) {
		t.Errorf("an auditor sees %q of the ask, want %q", got, want)
	}
	for _, args := range [][]string{{"list"}, {"get", "build-42/deploy-42"}, {"answer", "build-42/deploy-42", "--reply", "yes"}} {
		if _, said, code := pl.run(append(args, "--creds", auditor)...); code != cli.ExitUsage || !strings.Contains(said, "auditor's: it may not list") || !strings.Contains(said, "askbus audit --kind ask") {
			t.Errorf("%s as an auditor: exit %d, %s", args, code, said)
		}
	}
	if _, said, code := pl.run("audit", "--kind", "nonsense"); code != cli.ExitUsage || !strings.Contains(said, "sign-in") {
		t.Errorf("an unknown kind: exit %d, %s", code, said)
	}
}
