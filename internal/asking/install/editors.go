package install

import (
	"path/filepath"
	"slices"
	"strings"
)

// Editor is a known ACP client.
type Editor struct {
	Name  string // on the command line
	Title string
	File  func(Place) string
	Note  string // next step for the person

	path  []string                            // of the object that contains the agents
	entry func(c Command) any                 // JSON
	code  func(name string, c Command) string // if the configuration is a program, which is only printed
}

// Editors returns the known editors.
func Editors() []Editor {
	type agent struct {
		Type    string            `json:"type,omitempty"`
		Command string            `json:"command"`
		Args    []string          `json:"args"`
		Env     map[string]string `json:"env"`
	}
	lua := under(config, "nvim", "init.lua")
	return []Editor{
		{
			Name: "zed", Title: "Zed", File: under(config, "zed", "settings.json"), path: []string{"agent_servers"},
			entry: func(c Command) any { return agent{"custom", c.Path, c.Args, map[string]string{}} },
			Note:  "Choose it in the agent panel's menu for new threads.",
		},
		{
			Name: "jetbrains", Title: "JetBrains IDEs", File: under(home, ".jetbrains", "acp.json"), path: []string{"agent_servers"},
			entry: func(c Command) any { return agent{"", c.Path, c.Args, map[string]string{}} },
			Note:  "Choose it in the AI Chat.",
		},
		{
			Name: "vscode", Title: "VS Code with the extension ACP Client", File: vscode, path: []string{"acp.agents"},
			entry: func(c Command) any { return agent{"", c.Path, c.Args, map[string]string{}} },
			Note:  "Choose it in the ACP panel.",
		},
		{
			Name: "codecompanion", Title: "Neovim with CodeCompanion", File: lua, code: codecompanion,
			Note: "Extend the adapter that your agent has there, such as claude_code.",
		},
		{Name: "avante", Title: "Neovim with avante.nvim", File: lua, code: avante, Note: "Set it as the provider."},
	}
}

// vscode returns the path of the user's settings.
func vscode(p Place) string {
	if p.OS == "darwin" {
		return filepath.Join(p.Home, "Library", "Application Support", "Code", "User", "settings.json")
	}
	return filepath.Join(p.Config, "Code", "User", "settings.json")
}

func codecompanion(name string, c Command) string {
	return `require("codecompanion").setup({
  adapters = {
    acp = {
      claude_code = function()
        return require("codecompanion.adapters").extend("claude_code", {
          formatted_name = ` + quote(name) + `,
          commands = { default = { ` + quoteAll(append([]string{c.Path}, c.Args...)) + ` } },
        })
      end,
    },
  },
})
`
}

func avante(name string, c Command) string {
	return `require("avante").setup({
  provider = ` + quote(name) + `,
  acp_providers = {
    [` + quote(name) + `] = {
      command = ` + quote(c.Path) + `,
      args = { ` + quoteAll(c.Args) + ` },
    },
  },
})
`
}

// quoteAll returns quoted words with commas between them, for Lua and TOML.
func quoteAll(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, ", ")
}

// LookupEditor returns the editor of a name.
func LookupEditor(name string) (Editor, bool) {
	all := Editors()
	i := slices.IndexFunc(all, func(e Editor) bool { return strings.EqualFold(e.Name, name) })
	if i < 0 {
		return Editor{}, false
	}
	return all[i], true
}

// EditorNames returns the names of all editors.
func EditorNames() []string {
	var names []string
	for _, e := range Editors() {
		names = append(names, e.Name)
	}
	return names
}

// Printed reports whether the configuration is a program, which we print but do not change.
func (e Editor) Printed() bool { return e.code != nil }

// Set adds or replaces an agent in the text of the editor's file.
func (e Editor) Set(text, name string, c Command) (string, error) {
	if e.Printed() {
		return text + e.code(name, c), nil
	}
	return setJSON(text, slices.Concat(e.path, []string{name}), e.entry(c))
}

// Remove removes an agent from the text of the editor's file.
func (e Editor) Remove(text, name string) (string, error) {
	return removeJSON(text, slices.Concat(e.path, []string{name}))
}
