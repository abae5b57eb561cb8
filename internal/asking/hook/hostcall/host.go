package hostcall

import (
	"slices"

	"github.com/askbus/askbus/pkg/dialect"
)

// Host is a coding agent's CLI whose hook has the events of Claude Code's, or nearly so. The zero value is Claude Code.
type Host struct {
	Name string // on the command line
	// First says that the host opens its own dialog only after the hook, so that the two are no race, and that its agent
	// goes on after every refusal.
	First bool

	tools map[string]string // its names of Claude Code's tools, whose arguments have the same names
	left  []string          // tools whose permission it takes from its own dialog only
	flat  bool              // a permission has names in camel case, and its decision stands alone
	patch string            // the argument in which the host itself puts all of an edit; "": none, and the model may give any
}

// hosts returns the known hosts. To "interrupt" after a refusal is a failure of the hook for Codex, and Qwen Code ignores it.
// Tried with Codex 0.169.0, Qwen Code 0.24.4 and Copilot CLI 1.0.102.
func hosts() []Host {
	return []Host{
		{Name: "claude-code"},
		{Name: "codex", First: true, patch: "command", tools: map[string]string{"apply_patch": "Edit"}},
		{Name: "qwen", First: true, left: []string{"enter_plan_mode", "exit_plan_mode"}, tools: map[string]string{
			"run_shell_command": "Bash", "edit": "Edit", "write_file": "Write", "notebook_edit": "NotebookEdit", "ask_user_question": dialect.ToolName,
		}},
		{Name: "copilot", First: true, flat: true, patch: "diff", tools: map[string]string{"bash": "Bash", "powershell": "PowerShell", "edit": "Edit", "create": "Write"}},
	}
}

// Hosts returns the names of the known hosts; the first is Claude Code.
func Hosts() []string {
	var names []string
	for _, h := range hosts() {
		names = append(names, h.Name)
	}
	return names
}

// HostOf returns the host of a name; "" is Claude Code.
func HostOf(name string) (h Host, ok bool) {
	all := hosts()
	i := slices.IndexFunc(all, func(h Host) bool { return h.Name == name })
	if i < 0 {
		return Host{}, name == ""
	}
	return all[i], true
}

// claudes returns the PermissionRequest of a host as Claude Code would send it; ok is false for all other events, and if
// the host's own dialog decides it.
func (h Host) claudes(fields []member) (same []member, ok bool) {
	if h.flat && textOf(fields, "hookName") == "permissionRequest" {
		names := map[string]string{"sessionId": "session_id", "toolName": "tool_name", "toolInput": "tool_input", "permissionSuggestions": "permission_suggestions"}
		for i := range fields {
			if name, ok := names[fields[i].key]; ok {
				fields[i].key = name
			}
		}
		fields = append(fields, member{"hook_event_name", encode(PermissionRequest)})
	}
	tool := textOf(fields, "tool_name")
	if slices.Contains(h.left, tool) || textOf(fields, "hook_event_name") != PermissionRequest {
		return nil, false
	}
	if name := h.tools[tool]; name != "" {
		for i := range fields {
			if fields[i].key == "tool_name" {
				fields[i].raw = encode(name)
			}
		}
	}
	return fields, true
}

// decision returns the output of a PermissionRequest, nil for none.
func (h Host) decision(v *verdict) []byte {
	switch {
	case v == nil:
		return nil
	case h.flat:
		return encode(v)
	}
	var out hookOutput
	out.Specific.Event, out.Specific.Dialog = PermissionRequest, v
	return encode(out)
}
