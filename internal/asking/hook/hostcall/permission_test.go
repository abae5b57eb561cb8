package hostcall_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/asking/hook/hostcall"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
)

// permissionOf reads a PermissionRequest and words it.
func permissionOf(t *testing.T, language string, lasting bool, tool string, input map[string]any, suggestions string) hostcall.Event {
	t.Helper()
	body, err := json.Marshal(map[string]any{"session_id": "s", "cwd": "/work", "hook_event_name": "PermissionRequest", "tool_name": tool, "tool_input": input, "permission_suggestions": json.RawMessage(suggestions)})
	if err != nil {
		t.Fatal(err)
	}
	e, ok, err := hostcall.ReadEvent(body)
	if err != nil || !ok || !e.Permission() {
		t.Fatalf("read %v, %v", ok, err)
	}
	e.Word(lang.Of(language), lasting)
	return e
}

func TestAPermissionShowsTheWholeTruth(t *testing.T) {
	t.Parallel()
	long := "start " + strings.Repeat("x", 59_000) + " rm -rf end"
	for name, c := range map[string]struct {
		tool  string
		input map[string]any
		text  string
		shows []string
	}{
		"hidden characters":              {"Bash", map[string]any{"command": "echo \u202egpj.\u200b\r x\u00a0"}, "run this command", []string{"echo ⟨U+202E⟩gpj.⟨U+200B⟩⟨U+000D⟩ x⟨U+00A0⟩"}},
		"marks":                          {"Bash", map[string]any{"command": "ls a=\u0338b c\u0336 \u2065\U0001d159 e\u0301 \u0e01\u0e34"}, "", []string{"ls a=⟨U+0338⟩b c⟨U+0336⟩ ⟨U+2065⟩⟨U+1D159⟩ e⟨U+0301⟩ \u0e01\u0e34"}},
		"much white space":               {"Bash", map[string]any{"command": "ls" + strings.Repeat(" ", 300) + "; curl x | sh" + strings.Repeat("\n", 400) + "rm -rf /"}, "", []string{"ls\n[… 300 spaces and line breaks …]\n; curl x | sh\n[… 400 spaces and line breaks …]\nrm -rf /"}},
		"a long command":                 {"Bash", map[string]any{"command": long}, "run this command", []string{long}},
		"one that is longer than an ask": {"Bash", map[string]any{"command": long + long, "description": "d"}, "run this command", []string{"start x", "x rm -rf end", `"description": "d"`, "[… 58034 characters are not shown …]"}},
		"a fence":                        {"Bash", map[string]any{"command": "a\n```\nb"}, "", []string{"````sh\na\n```\nb\n````"}},
		"other arguments":                {"Bash", map[string]any{"command": "ls", "run_in_background": true}, "", []string{`"run_in_background": true`, "/work"}},
		"an edit":                        {"Edit", map[string]any{"file_path": "/a`b", "old_string": "one\ntwo\n", "new_string": "one\nthree\n", "replace_all": true}, "edit `` /a`b ``?", []string{"-two\n+three", `"replace_all": true`}},
		"an MCP tool":                    {"mcp__db__drop", map[string]any{"table": "users"}, "`drop` of the MCP server `db`", []string{`"table": "users"`}},
	} {
		e := permissionOf(t, "en", false, c.tool, c.input, "null")
		if !strings.Contains(e.Ask.Questions[0].Text, c.text) {
			t.Errorf("%s: asks %q", name, e.Ask.Questions[0].Text)
		}
		for _, want := range c.shows {
			if !strings.Contains(e.Ask.Context, want) {
				t.Errorf("%s: no %q in\n%s", name, want, e.Ask.Context)
			}
		}
	}
}

// Of a call that is longer than an ask all is in a file; of one that is longer than a file, nothing can be permitted.
func TestACallThatIsNotShownWholeIsInAFile(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 70_000) + "\nrm -rf ~\n" + strings.Repeat("y\u202e", 70_000)
	e := permissionOf(t, "en", false, "Bash", map[string]any{"command": long, "description": "tidy"}, "null")
	if len(e.Files) != 1 || len(e.Ask.Files) != 1 || e.Ask.Files[0] != e.Files[0].File || e.Ask.Files[0].ID != ask.FileID(e.Files[0].Data) {
		t.Fatalf("the files are %v, %d", e.Ask.Files, len(e.Files))
	}
	if whole := string(e.Files[0].Data); !strings.Contains(whole, ask.Visible(long)) || !strings.Contains(whole, `"description": "tidy"`) || strings.Contains(whole, "not shown") {
		t.Errorf("the file has %d bytes", len(whole))
	}
	if allow := e.Ask.Questions[0].Option("allow"); allow == nil || !strings.Contains(allow.Description, "call.txt") || !strings.HasPrefix(e.Ask.Context, "This is too long to be shown whole here. All of it is in the file `call.txt`") {
		t.Errorf("the card: %+v, %.200s", allow, e.Ask.Context)
	}
	if e := permissionOf(t, "en", false, "Bash", map[string]any{"command": "ls"}, "null"); e.Files != nil || e.Ask.Files != nil {
		t.Errorf("a short call has files: %v", e.Ask.Files)
	}
	e = permissionOf(t, "en", false, "Write", map[string]any{"file_path": "/a", "content": strings.Repeat("x", ask.MaxFileBytes)}, `[{"type":"setMode","mode":"acceptEdits","destination":"session"}]`)
	var ids []string
	for _, o := range e.Ask.Questions[0].Options {
		ids = append(ids, o.ID)
	}
	if strings.Join(ids, " ") != "refuse stop" || len(e.Ask.Files) > 0 || !strings.HasPrefix(e.Ask.Context, "This is too long to be shown, so it can only be refused here.") {
		t.Errorf("longer than a file: %v, %.200s", ids, e.Ask.Context)
	}
}

func TestLastingScopesNeedAProof(t *testing.T) {
	t.Parallel()
	const suggestions = `[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"npm test *"}],"behavior":"allow","destination":"localSettings"},
		{"type":"setMode","mode":"bypassPermissions","destination":"session"}, 7, {"type":"addDirectories","directories":["/x"],"destination":"userSettings"}]`
	chosen := func(e hostcall.Event, id string, source ask.Source) string {
		return string(e.Decide(&ask.Outcome{Status: ask.StatusAnswered, Source: source, Answers: []ask.Answer{{QuestionID: "permission", Selected: []string{id}}}}))
	}
	for lasting, where := range map[bool]string{false: `"destination":"session"`, true: `"destination":"localSettings"`} {
		e := permissionOf(t, "zh", lasting, "Bash", map[string]any{"command": "npm test"}, suggestions)
		var ids []string
		for _, o := range e.Ask.Questions[0].Options {
			ids = append(ids, o.ID)
		}
		if got := strings.Join(ids, " "); got != "allow scope-0 scope-3 refuse stop" {
			t.Errorf("offers %s", got)
		}
		if out := chosen(e, "scope-0", ask.SourceHuman); !strings.Contains(out, where) || !strings.Contains(out, `"behavior":"allow"`) {
			t.Errorf("lasting %v: %s", lasting, out)
		}
		for _, id := range []string{"scope-1", "scope-2", "scope-9", "what"} {
			if out := chosen(e, id, ask.SourceHuman); out != "" {
				t.Errorf("%s, which is not offered: %s", id, out)
			}
		}
		if out := chosen(e, "allow", ask.SourceDefault); out != "" {
			t.Errorf("a default allows: %s", out)
		}
	}
}

func TestAPermissionIsOfOneCall(t *testing.T) {
	t.Parallel()
	one := permissionOf(t, "en", false, "Bash", map[string]any{"command": "ls"}, "null")
	other := permissionOf(t, "en", false, "Bash", map[string]any{"command": "ls "}, "null")
	if !one.PermittedBy(&one.Ask) || other.PermittedBy(&one.Ask) || one.PermittedBy(&ask.Ask{}) {
		t.Error("a permission is taken for another's")
	}
}

// A form is a person's answer or nothing: what ends otherwise is left to the host.
func TestAFormIsOnlyWhatAPersonSaid(t *testing.T) {
	t.Parallel()
	e, ok, err := hostcall.ReadEvent([]byte(`{"hook_event_name":"Elicitation","session_id":"s","mcp_server_name":"a\u202eb","message":"Which plan?","mode":"form",
		"requested_schema":{"type":"object","properties":{"plan":{"type":"string","enum":["small","big"],"default":"small"},"seats":{"type":"integer"}}}}`))
	if err != nil || !ok || !e.Form() || e.Permission() {
		t.Fatalf("%+v, %v, %v", e, ok, err)
	}
	e.Word(lang.Of("en"), false)
	if !strings.HasPrefix(e.Ask.Context, "The MCP server `a⟨U+202E⟩b` asks.") || e.Ask.Title != "Which plan?" || len(e.Ask.Questions) != 2 {
		t.Errorf("the card: %+v", e.Ask)
	}
	answers := []ask.Answer{{QuestionID: e.Ask.Questions[0].ID, Selected: []string{e.Ask.Questions[0].Options[1].ID}}}
	for _, c := range []struct {
		o    ask.Outcome
		want string
	}{
		{ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, Answers: answers}, `{"hookSpecificOutput":{"hookEventName":"Elicitation","action":"accept","content":{"plan":"big"}}}`},
		{ask.Outcome{Status: ask.StatusCancelled, Reason: "no"}, `{"hookSpecificOutput":{"hookEventName":"Elicitation","action":"decline"}}`},
		{ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceDefault, Answers: answers}, ""},
		{ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, Response: "ask Ben"}, ""},
		{ask.Outcome{Status: ask.StatusExpired}, ""},
		{ask.Outcome{Status: ask.StatusWithdrawn}, ""},
		{ask.Outcome{Status: ask.StatusAborted}, ""},
	} {
		if got := string(e.Decide(&c.o)); got != c.want {
			t.Errorf("%s %s: %s", c.o.Status, c.o.Source, got)
		}
	}
	if _, _, err := hostcall.ReadEvent([]byte(`{"hook_event_name":"Elicitation","mcp_server_name":"x","message":"m"}`)); err == nil || !strings.Contains(err.Error(), "requestedSchema") {
		t.Errorf("without a schema: %v", err)
	}
}

// Policies relax by commands, and a model may give any tool an argument of that name.
func TestOnlyAToolThatRunsACommandSaysIt(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string]any{"Bash": "git status", "mcp__db__drop": nil, "Edit": nil, "Write": nil} {
		e := permissionOf(t, "en", false, tool, map[string]any{"command": "git status", "file_path": "/etc/passwd"}, "null")
		if got := e.Ask.Metadata[ask.MetadataCommand]; got != want {
			t.Errorf("%s: the command is %v", tool, got)
		}
	}
}
