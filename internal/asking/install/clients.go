package install

import (
	"path/filepath"
	"slices"
	"strings"
)

// Command is the command with which a client starts askbus.
type Command struct {
	Path string
	Args []string
}

// Place has the directories of this machine.
type Place struct {
	Home   string // the user's
	Dir    string // the project's
	Config string // the user's configuration directory: XDG_CONFIG_HOME, or AppData
	OS     string // as runtime.GOOS
}

// Client is a known MCP client.
type Client struct {
	Name  string // on the command line
	Title string
	File  func(Place) string
	Note  string // next step for the person

	path  []string                 // path of our entry
	entry func(c Command) any      // JSON
	lines func(c Command) []string // TOML, instead
	trust func(c Command) any      // JSON with which the client asks no permission for our tools; nil: it has no such setting
	text  func(c Command) string   // instead, if the file is only printed
}

// entryName is our name in other programs' files.
const entryName = "askbus"

// stdio returns the entry of most clients.
type stdio struct {
	Type    string   `json:"type,omitempty"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

func local(c Command) any { return stdio{"", c.Path, c.Args} }
func typed(c Command) any { return stdio{"stdio", c.Path, c.Args} }

func under(base func(Place) string, parts ...string) func(Place) string {
	return func(p Place) string { return filepath.Join(append([]string{base(p)}, parts...)...) }
}

// trusted is the entry of Gemini CLI and those made of it, whose tools then run without a prompt.
func trusted(c Command) any {
	return struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
		Trust   bool     `json:"trust"`
	}{c.Path, c.Args, true}
}

// distrust is for clients with a trust entry.
const distrust = " Each question is preceded by a permission prompt, and refused without a terminal (-p), unless the entry trusts askbus: add --trust."

// listed is the entry of opencode, and of Kilo, which is made of it.
func listed(c Command) any {
	return struct {
		Type    string   `json:"type"`
		Command []string `json:"command"`
		Enabled bool     `json:"enabled"`
	}{"local", append([]string{c.Path}, c.Args...), true}
}

// goose is an entry in YAML, whose strings may be JSON.
func goose(c Command) string {
	return "extensions:\n  " + entryName + ":\n    type: stdio\n    name: " + entryName + "\n    enabled: true\n    timeout: 120\n    cmd: " +
		quote(c.Path) + "\n    args: [" + quoteAll(c.Args) + "]\n"
}

// continues is an entry of Continue, in YAML.
func continues(c Command) string {
	return "mcpServers:\n  - name: " + entryName + "\n    command: " + quote(c.Path) + "\n    args: [" + quoteAll(c.Args) + "]\n"
}

func home(p Place) string   { return p.Home }
func dir(p Place) string    { return p.Dir }
func config(p Place) string { return p.Config }

// Clients returns the known clients.
func Clients() []Client {
	return []Client{
		{
			Name: "claude-code", Title: "Claude Code", File: under(dir, ".mcp.json"), path: []string{"mcpServers", entryName}, entry: typed,
			Note: `Start Claude Code in this directory and choose "Use this MCP server", which its dialog does not preselect; "/mcp" lists it.` +
				" Each question is preceded by a permission prompt, and refused without a terminal (-p), and the model has a native AskUserQuestion as well: --trust settles all three.",
		},
		{
			Name: "claude-desktop", Title: "Claude Desktop", File: desktop, path: []string{"mcpServers", entryName}, entry: local,
			Note: "Quit Claude Desktop and start it again.",
		},
		{
			Name: "cursor", Title: "Cursor", File: under(home, ".cursor", "mcp.json"), path: []string{"mcpServers", entryName}, entry: local,
			Note: "Switch askbus on in Cursor's settings, under MCP.",
		},
		{
			Name: "vscode", Title: "VS Code", File: under(dir, ".vscode", "mcp.json"), path: []string{"servers", entryName}, entry: typed,
			Note: `Run the command "MCP: List Servers" and start askbus.`,
		},
		{
			Name: "codex", Title: "Codex", File: under(home, ".codex", "config.toml"), path: []string{"mcp_servers", entryName}, lines: codex,
			Note: `Start Codex again; "/mcp" lists askbus.`,
		},
		{
			Name: "gemini", Title: "Gemini CLI", File: under(home, ".gemini", "settings.json"), path: []string{"mcpServers", entryName}, entry: local,
			Note: `Start Gemini CLI again; "/mcp" lists askbus.` + distrust, trust: trusted,
		},
		{
			Name: "qwen", Title: "Qwen Code", File: under(home, ".qwen", "settings.json"), path: []string{"mcpServers", entryName}, entry: local,
			Note: `Start Qwen Code again; "/mcp" lists askbus.` + distrust, trust: trusted,
		},
		{
			Name: "copilot", Title: "GitHub Copilot CLI", File: under(home, ".copilot", "mcp-config.json"), path: []string{"mcpServers", entryName},
			entry: func(c Command) any {
				return struct {
					Type    string   `json:"type"`
					Command string   `json:"command"`
					Args    []string `json:"args"`
					Tools   []string `json:"tools"`
				}{"local", c.Path, c.Args, []string{"*"}}
			},
			Note: `Start Copilot again; "copilot mcp list" lists askbus.`,
		},
		{
			Name: "cline", Title: "Cline CLI", File: under(home, ".cline", "data", "settings", "cline_mcp_settings.json"), path: []string{"mcpServers", entryName}, entry: local,
			Note: "Start Cline again.",
		},
		{
			Name: "crush", Title: "Crush", File: under(config, "crush", "crush.json"), path: []string{"mcp", entryName}, entry: typed,
			Note: "Start Crush again.",
		},
		{
			Name: "amp", Title: "Amp", File: under(config, "amp", "settings.json"), path: []string{"amp.mcpServers", entryName}, entry: local,
			Note: "Start Amp again.",
		},
		{
			Name: "goose", Title: "Goose", File: under(config, "goose", "config.yaml"), text: goose,
			Note: "Start Goose again.",
		},
		{
			Name: "continue", Title: "Continue CLI", File: under(home, ".continue", "config.yaml"), text: continues,
			Note: "Start cn again.",
		},
		{
			Name: "kimi", Title: "Kimi Code", File: under(home, ".kimi-code", "mcp.json"), path: []string{"mcpServers", entryName}, entry: local,
			Note: "Start Kimi Code again.",
		},
		{
			Name: "opencode", Title: "opencode", File: under(config, "opencode", "opencode.json"), path: []string{"mcp", entryName}, entry: listed,
			Note: "Start opencode again.",
		},
		{
			Name: "kilo", Title: "Kilo Code CLI", File: under(config, "kilo", "kilo.json"), path: []string{"mcp", entryName}, entry: listed,
			Note: "Start Kilo again.",
		},
		{Name: "zed", Title: "Zed", File: under(config, "zed", "settings.json"), path: []string{"context_servers", entryName}, entry: func(c Command) any {
			return struct {
				Source  string            `json:"source"`
				Command string            `json:"command"`
				Args    []string          `json:"args"`
				Env     map[string]string `json:"env"`
			}{"custom", c.Path, c.Args, map[string]string{}}
		}, Note: "The settings of Zed's agent panel list askbus."},
	}
}

func desktop(p Place) string {
	if p.OS == "darwin" {
		return filepath.Join(p.Home, "Library", "Application Support", "Claude", "claude_desktop_config.json")
	}
	return filepath.Join(p.Config, "Claude", "claude_desktop_config.json")
}

// codex sets a timeout slightly longer than our default wait.
func codex(c Command) []string {
	return []string{
		"command = " + quote(c.Path),
		"args = [" + quoteAll(c.Args) + "]",
		"tool_timeout_sec = 120",
	}
}

// Lookup returns the client of a name.
func Lookup(name string) (Client, bool) {
	all := Clients()
	i := slices.IndexFunc(all, func(c Client) bool { return strings.EqualFold(c.Name, name) })
	if i < 0 {
		return Client{}, false
	}
	return all[i], true
}

// Names returns the names of all clients.
func Names() []string {
	var names []string
	for _, c := range Clients() {
		names = append(names, c.Name)
	}
	return names
}

// Printed reports whether the client's file is only printed.
func (c Client) Printed() bool { return c.text != nil }

// Trusted returns the client with an entry whose tools run without a permission prompt; ok is false if it
// has no such entry.
func (c Client) Trusted() (trusted Client, ok bool) {
	if c.trust == nil {
		return c, false
	}
	c.entry = c.trust
	return c, true
}

// Set adds or replaces our entry in the text of the client's file.
func (c Client) Set(text string, cmd Command) (string, error) {
	switch {
	case c.text != nil:
		return text + c.text(cmd), nil
	case c.lines != nil:
		return setTOML(text, strings.Join(c.path, "."), c.lines(cmd))
	}
	return setJSON(text, c.path, c.entry(cmd))
}

// Remove removes our entry from the text.
func (c Client) Remove(text string) (string, error) {
	if c.lines != nil {
		return removeTOML(text, strings.Join(c.path, "."))
	}
	return removeJSON(text, c.path)
}
