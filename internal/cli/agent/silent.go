package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/file"
)

// Silent is the last run of claude -p on this machine whose model had no tool to ask with, and so asked nobody.
type Silent struct {
	At  time.Time `json:"at"`
	Dir string    `json:"dir"` // where it ran
}

// silentFile keeps a [Silent] in --dir.
const silentFile = "claude-p-without-prompt-tool.json"

// promptFlag is the flag without which claude -p has no AskUserQuestion.
const promptFlag = "--permission-prompt-tool"

// noteSilent records whether the run of claude -p that a hook event comes from can ask. Claude Code says nothing
// about that: its model has no AskUserQuestion, and the run ends with exit code 0.
func noteSilent(ctx context.Context, a *cli.App, body []byte) error {
	var event struct {
		Name string `json:"hook_event_name"`
		Dir  string `json:"cwd"`
	}
	_ = json.Unmarshal(body, &event) // the hook refuses what is no event
	if event.Name != "UserPromptSubmit" || os.Getenv("CLAUDE_CODE_ENTRYPOINT") != "sdk-cli" {
		return nil
	}
	line, err := commandLine(ctx, os.Getenv("CLAUDE_PID"))
	if err != nil {
		return nil //nolint:nilerr // not to be seen here
	}
	path := filepath.Join(a.Dir, silentFile)
	if strings.Contains(line, promptFlag) {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if _, err := os.Stat(a.Dir); err != nil {
		return nil //nolint:nilerr // the bus is elsewhere
	}
	data, err := json.Marshal(Silent{At: time.Now().UTC(), Dir: event.Dir})
	if err != nil {
		return err
	}
	return file.Replace(path, data, 0o600)
}

// commandLine returns the arguments of a process.
func commandLine(ctx context.Context, pid string) (string, error) {
	if _, err := strconv.ParseUint(pid, 10, 32); err != nil {
		return "", err
	}
	if data, err := os.ReadFile("/proc/" + pid + "/cmdline"); err == nil { //nolint:gosec // a number
		return string(bytes.ReplaceAll(data, []byte{0}, []byte(" "))), nil
	}
	out, err := exec.CommandContext(ctx, "ps", "-o", "args=", "-p", pid).Output() //nolint:gosec // a number
	return string(out), err
}

// LastSilent returns the last run that could not ask, or nil if the last run could.
func LastSilent(dir string) *Silent {
	data, err := os.ReadFile(filepath.Join(dir, silentFile))
	var s Silent
	if err != nil || json.Unmarshal(data, &s) != nil {
		return nil
	}
	return &s
}

// ClaudeP returns the command line with which claude -p can ask, and why it is needed.
func ClaudeP(a *cli.App) (string, error) {
	self, err := self(a, "mcp", "--permissions")
	if err != nil {
		return "", err
	}
	server := struct {
		Servers map[string]any `json:"mcpServers"`
	}{map[string]any{"askbus": map[string]any{"command": self.Path, "args": self.Args}}}
	data, err := json.Marshal(server)
	return "In claude -p the model has no AskUserQuestion, and nobody is asked, unless the command line names a tool for permission prompts:\n\n  claude -p --mcp-config " +
		cli.Quote(string(data)) + " " + promptFlag + " mcp__askbus__PermissionPrompt -- 'the prompt'", err
}
