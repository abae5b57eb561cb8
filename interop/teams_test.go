package interop_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/lab/faketeams"
	"github.com/google/go-cmp/cmp"
)

// said runs a script of node and returns what it says, by name.
func said(t *testing.T, env []string, script ...string) map[string]map[string]any {
	t.Helper()
	cmd := exec.Command("node", script...)
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]map[string]any{}
	for line := range strings.Lines(string(out)) {
		var one map[string]any
		if json.Unmarshal([]byte(line), &one) == nil {
			name, _ := one["name"].(string)
			delete(one, "name")
			got[name] = one
		}
	}
	return got
}

// Microsoft's connector client works with the fake Teams of our tests, is refused what Teams refuses, and accepts the
// tokens that the fake signs.
func TestTeamsConnector(t *testing.T) {
	t.Parallel()
	const room, channel = "19:room@thread.v2", "19:channel@thread.tacv2"
	f := faketeams.Start()
	t.Cleanup(f.Close)
	mei := faketeams.Person{Object: "00000000-0000-4000-8000-000000000003", Name: "Mei"}
	f.Add(mei, room, channel)
	got := said(t, []string{
		"TEAMS_URL=" + f.URL(), "TEAMS_METADATA=" + f.Metadata(), "TEAMS_TENANT=" + faketeams.Tenant, "TEAMS_APP=" + faketeams.App, "TEAMS_SECRET=" + faketeams.Secret,
		"TEAMS_TOKEN=" + f.Sign(faketeams.Claims{}), "TEAMS_OTHER=" + f.Sign(faketeams.Claims{Audience: faketeams.Tenant}), "ROOM=" + room, "CHANNEL=" + channel, "MEMBER=" + mei.ID(),
	}, "teams/connector.mjs")
	want := map[string]map[string]any{
		"post": {"posted": true}, "edit": {"same": true}, "thread": {"thread": true}, "member": {"role": "user"},
		"edit nothing":                 {"status": 404.0, "code": "ActivityNotFoundInConversation"},
		"a channel is no conversation": {"status": 400.0, "code": "BadSyntax"},
		"too large":                    {"status": 413.0, "code": "MessageSizeTooBig"},
		"stranger":                     {"status": 404.0, "code": "MemberNotFoundInConversation"},
		"a wrong token":                {"status": 401.0, "code": "Unauthorized"},
		"token":                        {"authenticated": true, "serviceurl": true},
		"token for another channel":    {"authenticated": false},
		"token for another app":        {"authenticated": false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Microsoft's parser of Adaptive Cards understands every card that the surface draws.
func TestTeamsCards(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../internal/answering/chat/teams/testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	got := said(t, nil, append([]string{"teams/cards.mjs"}, files...)...)
	for _, file := range files {
		one := got[filepath.Base(file)]
		if wrong, _ := one["wrong"].([]any); one == nil || len(wrong) > 0 {
			t.Errorf("%s: %v", filepath.Base(file), one)
		}
	}
	want := []any{"Input.ChoiceSet q0", "Input.Text o0", "Input.ChoiceSet q1", "Input.Number q2", "Input.Date q3", "Input.Text q4", "Input.Toggle sure", "Input.Text reason"}
	if diff := cmp.Diff(want, got["form.json"]["inputs"]); diff != "" {
		t.Error(diff)
	}
	if got["outcome.json"]["refresh"] != "refresh" || got["closed.json"]["refresh"] != "" {
		t.Errorf("the outcome refreshes with %v, a card without controls with %v", got["outcome.json"], got["closed.json"])
	}
}
