package install_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/asking/install"
)

var self = install.Command{Path: "/opt/askbus", Args: []string{"mcp", "--dir", `/a "b"`}}

// files are possible contents of clients' files.
func files() map[string]string {
	return map[string]string{
		"nothing":         "",
		"an empty object": "{}\n",
		"other servers":   "{\n  \"mcpServers\": {\n    \"x\": {\n      \"command\": \"y\"\n    }\n  },\n  \"z\": [1, 2]\n}\n",
		"tabs":            "{\n\t\"theme\": \"dark\"\n}\n",
		"one line":        `{"theme": "dark", "servers": {"x": {}}}`,
		"comments":        "// mine\n{\n  /* all */\n  \"context_servers\": {\n    // one\n    \"x\": {\"command\": \"// no comment\"}, // keep\n  },\n  \"theme\": \"dark\", // why not\n}\n// end\n",
		"Windows lines":   "{\r\n  \"theme\": \"dark\"\r\n}\r\n",
	}
}

func TestClientsKeepWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	for _, c := range install.Clients() {
		for name, before := range files() {
			if c.Name == "codex" || c.Printed() {
				continue
			}
			t.Run(c.Name+" with "+name, func(t *testing.T) {
				t.Parallel()
				after, err := c.Set(before, self)
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(after, `"/opt/askbus"`) || strings.Contains(before, "//") && !strings.Contains(after, "// why not") {
					t.Errorf("it says:\n%s", after)
				}
				if again, err := c.Set(after, self); err != nil || again != after {
					t.Errorf("the second time, %v:\n%s\nafter\n%s", err, again, after)
				}
				moved, err := c.Set(after, install.Command{Path: "/new/askbus"})
				if err != nil || strings.Contains(moved, "/opt/") || !strings.Contains(moved, "/new/askbus") {
					t.Errorf("moved, %v:\n%s", err, moved)
				}
				without, err := c.Remove(after)
				if err != nil || squeeze(without) != squeeze(before) && strings.TrimSpace(before) != "" {
					t.Errorf("taken out, %v:\n%s\nof\n%s", err, without, after)
				}
				if again, err := c.Remove(without); err != nil || again != without {
					t.Errorf("taken out twice, %v:\n%s", err, again)
				}
			})
		}
	}
}

// squeeze removes white space: inserting may break a one-line object into lines.
func squeeze(s string) string {
	return strings.NewReplacer(" ", "", "\t", "", "\r", "", "\n", "").Replace(s)
}

func TestTOMLKeepsWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	codex, _ := install.Lookup("codex")
	for name, before := range map[string]string{
		"nothing":      "",
		"top keys":     "model = \"x\" # why\n",
		"other tables": "model = \"x\"\n\n[mcp_servers.x]\ncommand = \"y\"\n\n# about z\n[z]\na = 1\n",
		"long strings": "text = \"\"\"\n[mcp_servers.askbus]\n\"\"\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after, err := codex.Set(before, self)
			if err != nil || !strings.Contains(after, `args = ["mcp", "--dir", "/a \"b\""]`) {
				t.Fatalf("%v:\n%s", err, after)
			}
			if again, err := codex.Set(after, self); err != nil || again != after {
				t.Errorf("the second time, %v:\n%s", err, again)
			}
			if without, err := codex.Remove(after); err != nil || without != before {
				t.Errorf("taken out, %v:\n%q, before\n%q", err, without, before)
			}
		})
	}
	between := "[mcp_servers.askbus]\ncommand = \"old\"\n\n[mcp_servers.askbus.env]\nA = \"b\"\n\n# about z\n[z]\na = 1\n"
	if after, err := codex.Set(between, self); err != nil || strings.Contains(after, "old") || strings.Contains(after, "A =") || !strings.Contains(after, "\n\n# about z\n[z]\n") {
		t.Errorf("%v:\n%s", err, after)
	}
	if after, err := codex.Remove(between); err != nil || after != "# about z\n[z]\na = 1\n" {
		t.Errorf("%v:\n%s", err, after)
	}
	for _, inline := range []string{"mcp_servers = { }\n", "mcp_servers.askbus.command = \"x\"\n"} {
		if after, err := codex.Set(inline, self); err == nil {
			t.Errorf("%q became %q", inline, after)
		}
	}
}

func TestAnInvalidFileIsUnchanged(t *testing.T) {
	t.Parallel()
	c, _ := install.Lookup("cursor")
	for _, text := range []string{"[]", "{", `{"mcpServers": []}`, `{"a": 1 "b": 2}`, `{"a": nope}`, `{"mcpServers": {}, "mcpServers": {}}`, "{} {}", "{ /* }", `{"a`, "x: y"} {
		path := filepath.Join(t.TempDir(), "f.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		changed, err := install.Edit(path, func(text string) (string, error) { return c.Set(text, self) })
		if err == nil || changed || !strings.Contains(err.Error(), "is unchanged") {
			t.Errorf("%q: %v, %v", text, changed, err)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Errorf("%q is %q now, %v", text, now, err)
		}
	}
}

func TestHooksStandBesideOthers(t *testing.T) {
	t.Parallel()
	const line = "/opt/askbus hook --mode race"
	others := "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\n        \"matcher\": \"Bash\",\n        \"hooks\": [{\"type\": \"command\", \"command\": \"lint\"}]\n      }\n    ]\n  },\n  \"model\": \"m\"\n}\n"
	for name, before := range map[string]string{"nothing": "{}\n", "others": others} {
		after, err := install.SetHook(before, install.Hook{Command: line, Seconds: 600})
		if err != nil || strings.Count(after, line) != 7 || name == "others" && !strings.Contains(after, `"command": "lint"`) {
			t.Fatalf("%s: %v\n%s", name, err, after)
		}
		if again, err := install.SetHook(after, install.Hook{Command: line, Seconds: 600}); err != nil || again != after {
			t.Errorf("%s: the second time, %v:\n%s", name, err, again)
		}
		other, err := install.SetHook(after, install.Hook{Command: "/opt/askbus hook --mode wait", Seconds: 600})
		if err != nil || strings.Count(other, "askbus") != 7 || strings.Contains(other, "race") {
			t.Errorf("%s: another mode, %v:\n%s", name, err, other)
		}
		all, err := install.SetHook(after, install.Hook{Command: line, Seconds: 600, Permissions: "*"})
		if err != nil || strings.Count(all, line) != 8 || strings.Count(all, `"matcher": "*"`) != 3 || strings.Count(all, `"matcher": "AskUserQuestion"`) != 1 {
			t.Errorf("%s: with permissions, %v:\n%s", name, err, all)
		}
		if again, err := install.SetHook(all, install.Hook{Command: line, Seconds: 600}); err != nil || squeeze(again) != squeeze(after) {
			t.Errorf("%s: without permissions again, %v:\n%s", name, err, again)
		}
		if without, err := install.RemoveHook(after); err != nil || squeeze(without) != squeeze(before) {
			t.Errorf("%s: taken out, %v:\n%s", name, err, without)
		}
	}
	for _, shared := range []string{`{"command":"x"},{"command":"askbus hook"}`, `{"command":"/opt/askbus hook && say done"}`} {
		if text, err := install.RemoveHook(`{"hooks":{"PreToolUse":[{"matcher":"AskUserQuestion","hooks":[` + shared + `]}]}}`); err == nil {
			t.Errorf("a shared entry became %s", text)
		}
	}
	if text, err := install.RemoveHook(`{"hooks":{"Stop":[{"hooks":[{"command":"askbus hook --dir '/R & D'"}]}]}}`); err != nil || text != "{}" {
		t.Errorf("with an & in quotes: %v, %s", err, text)
	}
	if _, err := install.SetHook(`{"hooks": "all"}`, install.Hook{Command: "askbus hook"}); err == nil || !strings.Contains(err.Error(), `"hooks" is not an object`) {
		t.Errorf("hooks that are none: %v", err)
	}
}

// The CLIs besides Claude Code get the hook of their permission prompts, and those that withdraw what is left open.
func TestOtherHostsGetTheHookOfTheirPrompts(t *testing.T) {
	t.Parallel()
	for _, host := range install.HookHosts() {
		line := "/opt/askbus hook --host " + host.Name
		after, err := install.SetHook("", install.Hook{First: true, Command: line, Seconds: 600, Permissions: "*"})
		if err != nil || strings.Count(after, line) != 5 || strings.Count(after, `"matcher"`) != 1 || !strings.Contains(after, `"PermissionRequest"`) || strings.Contains(after, "ToolUse") {
			t.Errorf("%s: %v\n%s", host.Name, err, after)
		}
		if without, err := install.RemoveHook(after); err != nil || squeeze(without) != "{}" {
			t.Errorf("%s: taken out, %v: %s", host.Name, err, without)
		}
	}
}

// What is added and removed again leaves every byte of the file, whoever formatted it.
func TestAFileIsAsItWas(t *testing.T) {
	t.Parallel()
	cursor, _ := install.Lookup("cursor")
	for _, before := range []string{
		`{"model":"x"}`, "{\r\n  \"model\": \"x\"\r\n}\r\n", "{\n  \"model\": \"x\" // why\n\n}\n", "{\n\t// mine\n   \"model\": \"x\",   /* or y */\n}", "{\n    \"a\": [ 1 ],\n  \"b\":{ \"c\":\"<&>\" } }",
		`{ "hooks": { "PreToolUse":[ {"matcher":"Bash","hooks":[{"command":"lint"}]} ], "Stop": [{"hooks":[]},] }, }`,
	} {
		hooked, err := install.SetHook(before, install.Hook{Command: "/opt/askbus hook", Seconds: 600, Permissions: "*"})
		if err != nil {
			t.Fatal(err)
		}
		if after, err := install.RemoveHook(hooked); err != nil || after != before {
			t.Errorf("hooks: %v: %q became %q", err, before, after)
		}
		served, err := cursor.Set(before, self)
		if err != nil {
			t.Fatal(err)
		}
		if after, err := cursor.Remove(served); err != nil || after != before {
			t.Errorf("a server: %v: %q became %q", err, before, after)
		}
	}
}

func TestTheFileBeforeIsKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sub", "f.json")
	for i, text := range []string{"one", "two", "two"} {
		changed, err := install.Edit(path, func(string) (string, error) { return text, nil })
		if err != nil || changed != (i < 2) {
			t.Errorf("%s: %v, %v", text, changed, err)
		}
	}
	if before, err := os.ReadFile(path + install.BackupSuffix); err != nil || string(before) != "one" {
		t.Errorf("the backup is %q, %v", before, err)
	}
	_, err := install.Edit(path, func(string) (string, error) { return "", errors.New("no") })
	if now, _ := os.ReadFile(path); err == nil || string(now) != "two" {
		t.Errorf("after an error it is %q", now)
	}
}

// What was installed is not left in the backup, where it has nothing of the user's.
func TestRemovingLeavesNoBackupOfWhatWasInstalled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		texts []string // of the file, one after the other; the first is there before, unless it is empty
		left  string   // in the backup; empty: there is none
	}{
		{"nobody changed the file meanwhile", []string{"mine", "mine and askbus", "mine"}, ""},
		{"the user changed it meanwhile", []string{"mine", "mine and askbus", "mine2"}, "mine and askbus"},
		{"askbus made the file", []string{"", "askbus", "{}\n"}, ""},
		{"an older backup is the user's", []string{"mine", "other", "mine and askbus", "{}"}, "mine and askbus"},
	} {
		path := filepath.Join(t.TempDir(), "f.json")
		for i, text := range c.texts {
			if i == 0 && text != "" {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			} else if _, err := install.Edit(path, func(string) (string, error) { return text, nil }); err != nil {
				t.Fatal(err)
			}
		}
		left, err := os.ReadFile(path + install.BackupSuffix)
		if string(left) != c.left || (err == nil) != (c.left != "") {
			t.Errorf("%s: the backup is %q (%v), want %q", c.name, left, err, c.left)
		}
	}
}

// The directory alone decides whether a file can be replaced: whoever locked the file meant it.
func TestAReadOnlyFileIsUnchanged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(path, []byte("{}"), 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := install.Edit(path, func(string) (string, error) { return "{1}", nil }); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("it says %v", err)
	}
	if changed, err := install.Edit(path, func(text string) (string, error) { return text, nil }); changed || err != nil {
		t.Errorf("where nothing is to be changed: %v, %v", changed, err)
	}
	if _, err := os.Stat(path + install.BackupSuffix); err == nil {
		t.Error("there is a backup")
	}
}

func TestGeminiCanTrustUs(t *testing.T) {
	t.Parallel()
	for _, c := range install.Clients() {
		trusted, ok := c.Trusted()
		if ok != (c.Name == "gemini" || c.Name == "qwen") {
			t.Errorf("%s: %v", c.Name, ok)
		}
		if !ok {
			continue
		}
		before, _ := c.Set("", self)
		after, err := trusted.Set(before, self)
		if err != nil || strings.Contains(before, "trust") || !strings.Contains(after, `"trust": true`) || !strings.Contains(c.Note, "--trust") {
			t.Errorf("%s: %v\n%s", c.Name, err, after)
		}
	}
}

func TestGooseIsPrinted(t *testing.T) {
	t.Parallel()
	goose, _ := install.Lookup("goose")
	const want = "extensions:\n  askbus:\n    type: stdio\n    name: askbus\n    enabled: true\n    timeout: 120\n    cmd: \"/opt/askbus\"\n    args: [\"mcp\", \"--dir\", \"/a \\\"b\\\"\"]\n"
	if text, err := goose.Set("", self); err != nil || text != want {
		t.Errorf("%v:\n%s", err, text)
	}
	continues, _ := install.Lookup("continue")
	const asList = "mcpServers:\n  - name: askbus\n    command: \"/opt/askbus\"\n    args: [\"mcp\", \"--dir\", \"/a \\\"b\\\"\"]\n"
	if text, err := continues.Set("", self); err != nil || text != asList {
		t.Errorf("%v:\n%s", err, text)
	}
}

func TestClaudeCodeAsksWithOurTools(t *testing.T) {
	t.Parallel()
	other := "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(ls)\"\n    ],\n    \"deny\": [\"WebFetch\"]\n  }\n}\n"
	for name, before := range map[string]string{"nothing": "", "others": other, "comments": files()["comments"]} {
		after, err := install.SetClaudeTools(before)
		if err != nil || strings.Count(after, `"mcp__askbus"`) != 1 || strings.Count(after, `"AskUserQuestion"`) != 1 {
			t.Fatalf("%s: %v\n%s", name, err, after)
		}
		if again, err := install.SetClaudeTools(after); err != nil || again != after {
			t.Errorf("%s: the second time, %v:\n%s", name, err, again)
		}
		if without, err := install.RemoveClaudeTools(after); err != nil || squeeze(without) != squeeze(before) && before != "" {
			t.Errorf("%s: taken out, %v:\n%s", name, err, without)
		}
	}
	theirs := `{"permissions": {"deny": ["AskUserQuestion"]}}`
	if text, err := install.RemoveClaudeTools(theirs); err != nil || text != theirs {
		t.Errorf("a denial that is not ours: %v, %s", err, text)
	}
	if text, err := install.SetClaudeTools(`{"permissions": {"allow": "all"}}`); err == nil {
		t.Errorf("a list that is none became %s", text)
	}
}

func TestTheModeOfTheHookIsRead(t *testing.T) {
	t.Parallel()
	for mode, line := range map[string]string{"race": "/opt/askbus hook --mode race", "wait": "/opt/askbus hook", "defer": "'/opt/askbus' hook --mode=defer --dir /x"} {
		text, err := install.SetHook("", install.Hook{Command: line, Seconds: 600})
		if got, ok := install.HookMode(text); err != nil || !ok || got != mode {
			t.Errorf("%s: %q, %v, %v", line, got, ok, err)
		}
	}
	for _, text := range []string{"", "{}", "[", `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"lint"}]}]}}`} {
		if mode, ok := install.HookMode(text); ok {
			t.Errorf("%s: %q", text, mode)
		}
	}
}
