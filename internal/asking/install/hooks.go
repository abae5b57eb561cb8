package install

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// hookTool is the tool of the questions.
const hookTool = "AskUserQuestion"

// hookEvents are the events that the hook handles.
func hookEvents() []string {
	return append([]string{"PreToolUse", "PermissionRequest", "PostToolUse", failed, form}, endEvents()...)
}

// form is the event of an MCP server's form.
const form = "Elicitation"

// failed is the event of a tool call that failed. It matters to permissions only.
const failed = "PostToolUseFailure"

// endEvents are the events without a tool.
func endEvents() []string { return []string{"Stop", "SubagentStop", "SessionEnd", "UserPromptSubmit"} }

type hookEntry struct {
	Matcher string        `json:"matcher,omitempty"`
	Hooks   []hookCommand `json:"hooks"`
}

type hookCommand struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"` // seconds
}

// ourHook matches our command line.
var ourHook = regexp.MustCompile(`(^|[/\\'"])askbus[^/\\ '"]*['"]?( .*)? hook( |$)`)

// endSeconds is the host's timeout for events that only withdraw questions.
const endSeconds = 10

var errSharedHook = errors.New("the askbus hook shares an entry with another command; remove it by hand")

// quoted matches an argument in quotes.
var quoted = regexp.MustCompile(`'[^']*'|"[^"]*"`)

// HookHost is a coding agent's CLI that has hooks as Claude Code has them.
type HookHost struct {
	Name, Title string
	File        func(Place) string
	Note        string // next step for the person
}

// HookHosts returns the known ones besides Claude Code. They get the permission prompts only.
func HookHosts() []HookHost {
	const first = " For 30 s only other screens ask for a permission, then the terminal's dialog does (askbus hook --forms)."
	return []HookHost{
		{"codex", "Codex", under(home, ".codex", "hooks.json"), `Start Codex again and choose "Trust all and continue": without that the hook does not run.` + first},
		{"qwen", "Qwen Code", under(home, ".qwen", "settings.json"), `Start Qwen Code again; "/hooks" shows it.` + first},
		{"copilot", "GitHub Copilot CLI", under(home, ".copilot", "hooks", "askbus.json"), `Start Copilot again.` + first},
	}
}

// Hook is what SetHook writes.
type Hook struct {
	First   bool // of a [HookHost]
	Command string
	Seconds int // the host's timeout for it
	// Permissions is the host's matcher of the tools whose permission the hook asks for, such as
	// "Bash|mcp__.*" or "*"; empty: none.
	Permissions string
	Forms       bool // the forms of MCP servers, too
}

// matcher returns the matcher of an event, and whether the hook handles the event.
func (h Hook) matcher(event string) (string, bool) {
	switch {
	case slices.Contains(endEvents(), event):
		return "", true
	case h.First:
		return h.Permissions, event == "PermissionRequest"
	case event == form:
		return "", h.Forms
	case h.Permissions == "" || event == "PreToolUse":
		return hookTool, event != failed
	case h.Permissions == "*":
		return h.Permissions, true
	}
	return hookTool + "|" + h.Permissions, true
}

// SetHook adds the hook to a coding agent's settings, or replaces it.
func SetHook(text string, h Hook) (string, error) {
	var err error
	for _, event := range hookEvents() {
		matcher, ok := h.matcher(event)
		if !ok {
			if text, err = removeHook(text, event); err != nil {
				return "", err
			}
			continue
		}
		entry := hookEntry{matcher, []hookCommand{{"command", h.Command, h.Seconds}}}
		if slices.Contains(endEvents(), event) || event == failed {
			entry.Hooks[0].Timeout = endSeconds
		}
		if text, err = setElement(text, []string{"hooks", event}, entry); err != nil {
			return "", err
		}
	}
	return text, nil
}

// RemoveHook removes the hook.
func RemoveHook(text string) (string, error) {
	var err error
	for _, event := range hookEvents() {
		if text, err = removeHook(text, event); err != nil {
			return "", err
		}
	}
	return text, nil
}

// removeHook removes the hook of one event.
func removeHook(text, event string) (string, error) {
	path := []string{"hooks", event}
	for {
		list, ok, err := array(text, path)
		if err != nil || !ok {
			return text, err
		}
		i, err := ours(text, list)
		switch {
		case err != nil:
			return "", err
		case i < 0:
			return text, nil
		case len(list.members) == 1:
			return removeJSON(text, path)
		}
		text = list.remove(text, &list.members[i])
	}
}

// setElement adds an element to the array at a path, or replaces ours.
func setElement(text string, path []string, entry any) (string, error) {
	list, ok, err := array(text, path)
	if err != nil {
		return "", err
	}
	if !ok {
		return setJSON(text, path, []any{entry})
	}
	i, err := ours(text, list)
	if err != nil {
		return "", err
	}
	unit, depth := indentOf(text), len(path)+1
	if i < 0 {
		return list.insert(text, "", entry, unit, depth), nil
	}
	m := list.members[i]
	if same(plain(text[m.start:m.end]), entry) {
		return text, nil
	}
	return text[:m.start] + encode(entry, unit, depth) + text[m.end:], nil
}

// array returns the array at a path; ok is false if there is none.
func array(text string, path []string) (list container, ok bool, err error) {
	if strings.TrimSpace(text) == "" {
		return container{}, false, nil
	}
	at, err := document(text)
	if err != nil {
		return at, false, err
	}
	for i, key := range path {
		m, err := at.find(key)
		if err != nil || m == nil {
			return at, false, err
		}
		want := byte('{')
		if i == len(path)-1 {
			want = '['
		}
		if text[m.value] != want {
			return at, false, fmt.Errorf("%w: %q is not %s", errSyntax, key, map[byte]string{'{': "an object", '[': "an array"}[want])
		}
		at = within(m.in)
	}
	return at, true, nil
}

// ours returns the index of our element, or -1.
func ours(text string, list container) (int, error) {
	for i, m := range list.members {
		entry, _ := plain(text[m.start:m.end]).(map[string]any)
		hooks, _ := entry["hooks"].([]any)
		for _, h := range hooks {
			one, _ := h.(map[string]any)
			command, _ := one["command"].(string)
			if !ourHook.MatchString(command) {
				continue
			}
			if len(hooks) > 1 || strings.ContainsAny(quoted.ReplaceAllString(command, ""), ";&|") {
				return -1, errSharedHook
			}
			return i, nil
		}
	}
	return -1, nil
}
