package install

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

// hookTool is the tool of the questions.
const hookTool = "AskUserQuestion"

// hookEvents are the tool events that the hook handles.
func hookEvents() []string {
	return append([]string{"PreToolUse", "PermissionRequest", "PostToolUse"}, endEvents()...)
}

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

var errSharedHook = errors.New("the askbus hook shares an entry with another hook; remove it by hand")

// SetHook adds the hook to a coding agent's settings. Seconds is the host's timeout for it.
func SetHook(text, command string, seconds int) (string, error) {
	var err error
	for _, event := range hookEvents() {
		entry := hookEntry{hookTool, []hookCommand{{"command", command, seconds}}}
		if slices.Contains(endEvents(), event) {
			entry = hookEntry{"", []hookCommand{{"command", command, endSeconds}}}
		}
		if text, err = setElement(text, []string{"hooks", event}, entry); err != nil {
			return "", err
		}
	}
	return text, nil
}

// RemoveHook removes the hook.
func RemoveHook(text string) (string, error) {
	for _, event := range hookEvents() {
		path := []string{"hooks", event}
		list, ok, err := array(text, path)
		if err != nil {
			return "", err
		}
		for ok {
			i, err := ours(text, list)
			if err != nil {
				return "", err
			}
			if i < 0 {
				break
			}
			if len(list.members) == 1 {
				if text, err = removeJSON(text, path); err != nil {
					return "", err
				}
				break
			}
			text = list.remove(text, &list.members[i])
			if list, ok, err = array(text, path); err != nil {
				return "", err
			}
		}
	}
	return text, nil
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
			return at, false, errSyntax
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
			if len(hooks) > 1 {
				return -1, errSharedHook
			}
			return i, nil
		}
	}
	return -1, nil
}
