package install

import (
	"path/filepath"
	"regexp"
	"slices"
)

// claudeRule is the rule of Claude Code for all tools of our MCP server.
const claudeRule = "mcp__" + entryName

// ClaudeSettings returns the settings of Claude Code in a project: those of this machine, or those that are
// shared with others.
func ClaudeSettings(p Place, shared bool) string {
	if shared {
		return filepath.Join(p.Dir, ".claude", "settings.json")
	}
	return filepath.Join(p.Dir, ".claude", "settings.local.json")
}

// SetClaudeTools makes our MCP tools the ones with which Claude Code asks: they run without a prompt of their
// own, and its own AskUserQuestion is denied, which its model then no longer sees.
func SetClaudeTools(text string) (string, error) {
	text, err := addText(text, []string{"permissions", "allow"}, claudeRule)
	if err != nil {
		return "", err
	}
	return addText(text, []string{"permissions", "deny"}, hookTool)
}

// RemoveClaudeTools undoes [SetClaudeTools]. Without our rule the denial is somebody else's, and stays.
func RemoveClaudeTools(text string) (string, error) {
	list, ok, err := array(text, []string{"permissions", "allow"})
	if err != nil || !ok || element(text, list, claudeRule) < 0 {
		return text, err
	}
	if text, err = removeText(text, []string{"permissions", "allow"}, claudeRule); err != nil {
		return "", err
	}
	return removeText(text, []string{"permissions", "deny"}, hookTool)
}

// addText adds a string to the array at a path.
func addText(text string, path []string, s string) (string, error) {
	list, ok, err := array(text, path)
	switch {
	case err != nil:
		return "", err
	case !ok:
		return setJSON(text, path, []any{s})
	case element(text, list, s) >= 0:
		return text, nil
	}
	return list.insert(text, "", s, indentOf(text), len(path)+1), nil
}

// removeText removes a string from the array at a path.
func removeText(text string, path []string, s string) (string, error) {
	list, ok, err := array(text, path)
	if err != nil || !ok {
		return text, err
	}
	i := element(text, list, s)
	switch {
	case i < 0:
		return text, nil
	case len(list.members) == 1:
		return removeJSON(text, path)
	}
	return list.remove(text, &list.members[i]), nil
}

// element returns the index of a string, or -1.
func element(text string, list container, s string) int {
	return slices.IndexFunc(list.members, func(m member) bool { return plain(text[m.start:m.end]) == s })
}

var hookMode = regexp.MustCompile(`--mode[ =]['"]?(wait|race|defer)`)

// HookMode returns the mode of our hook in the settings of Claude Code; ok is false if it is not there.
func HookMode(text string) (mode string, ok bool) {
	list, there, err := array(text, []string{"hooks", "PreToolUse"})
	if err != nil || !there {
		return "", false
	}
	i, err := ours(text, list)
	if err != nil || i < 0 {
		return "", false
	}
	if m := hookMode.FindStringSubmatch(text[list.members[i].start:list.members[i].end]); m != nil {
		return m[1], true
	}
	return "wait", true
}
