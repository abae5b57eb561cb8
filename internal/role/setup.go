package role

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/internal/asking/install"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/pkg/ask"
)

// firstSteps finds the coding agents of this machine, and connects them by the commands that the page shows and a person
// could type. It is part of "askbus up" only.
type firstSteps struct {
	a     *cli.App
	place install.Place
}

// firstSession is the session of the test question.
const firstSession = "first-steps"

// setup returns the first steps, or nil where the inbox is for others as well: at a given address, behind a proxy, or with
// another way to sign in than links of this machine.
func (r *Process) setup(w config.Web) web.Setup {
	if r.a.HTTP.URL != "" || len(w.Web.Hosts) > 0 || w.Web.Proxy.Header != "" || w.Web.OIDC.Issuer != "" {
		return nil
	}
	home, err1 := os.UserHomeDir()
	conf, err2 := os.UserConfigDir()
	if errors.Join(err1, err2) != nil {
		return nil
	}
	if runtime.GOOS == "darwin" { // where command line tools use this directory as well
		conf = filepath.Join(home, ".config")
	}
	return firstSteps{r.a, install.Place{Home: home, Dir: home, Config: conf, OS: runtime.GOOS}}
}

// programs are the commands of the agents that askbus connects, by the name of the client.
var programs = []struct{ name, program string }{ //nolint:gochecknoglobals // never changed
	{"claude-code", "claude"},
	{"codex", "codex"},
	{"gemini", "gemini"},
	{"opencode", "opencode"},
	{"copilot", "copilot"},
	{"qwen", "qwen"},
	{"cline", "cline"},
	{"crush", "crush"},
	{"amp", "amp"},
	{"goose", "goose"},
	{"continue", "cn"},
	{"kimi", "kimi"},
	{"kilo", "kilo"},
	{"cursor", "cursor"},
	{"zed", "zed"},
	{"vscode", "code"},
}

// Agents returns the agents whose programs are on the PATH.
func (f firstSteps) Agents() (found []web.LocalAgent) {
	for _, p := range programs {
		if _, err := exec.LookPath(p.program); err != nil {
			continue
		}
		client, ok := install.Lookup(p.name)
		if !ok {
			continue
		}
		one := web.LocalAgent{Name: client.Name, Title: client.Title, Command: f.a.Hint(strings.Join(connects(client.Name), " "))}
		path := client.File(f.place)
		switch text, _ := os.ReadFile(path); { // no file: not connected
		case p.name == "claude-code":
			text, _ := os.ReadFile(filepath.Join(f.place.Home, ".claude", "settings.json"))
			_, one.Connected = install.HookMode(string(text))
		case client.Printed():
			one.ByHand, one.Command = true, f.a.Hint("mcp install "+client.Name)
			one.Connected = strings.Contains(string(text), "askbus")
		case p.name == "vscode": // its file is in a project
			one.ByHand = true
		default:
			rest, err := client.Remove(string(text))
			one.Connected = err == nil && rest != string(text)
		}
		found = append(found, one)
	}
	return found
}

// connects returns the arguments that connect a client: of Claude Code its hook, which asks what it asks anyway.
func connects(name string) []string {
	if name == "claude-code" {
		return []string{"hook", "install", "--write"}
	}
	return []string{"mcp", "install", name, "--write"}
}

// Connect runs the command of an agent that was found.
func (f firstSteps) Connect(ctx context.Context, name string) (string, error) {
	i := slices.IndexFunc(f.Agents(), func(a web.LocalAgent) bool { return a.Name == name && !a.ByHand })
	if i < 0 {
		return "", fmt.Errorf("%q is not an agent that this page can connect", ask.Clip(name, 80))
	}
	return f.run(ctx, connects(name)...)
}

// Try asks a test question.
func (f firstSteps) Try(ctx context.Context, question string, options ...string) (ask.Key, error) {
	k := ask.Key{Tenant: f.a.Tenant, Session: firstSession, ID: "try-" + strconv.FormatInt(time.Now().UnixMilli(), 36)}
	args := []string{"ask", "--session", k.Session, "--id", k.ID, "--agent", "askbus", "--question", question, "--wait", "0", "--timeout", "1h"}
	for _, o := range options {
		args = append(args, "--option", o)
	}
	_, err := f.run(ctx, args...)
	if e, ok := errors.AsType[*exec.ExitError](err); ok && e.ExitCode() == cli.ExitPending { // as it should be
		err = nil
	}
	return k, err
}

// Chats returns the chats, and whether this process sees their tokens.
func (f firstSteps) Chats() (all []web.LocalChat) {
	for _, entry := range chats() {
		c := entry()
		_ = config.Load(c.Settings) // what cannot be read is not set
		set := slices.ContainsFunc(c.Secrets, func(s chatSecret) bool { return *s.Text != "" || *s.File != "" })
		if connected, err := c.connected(f.a.Dir); err == nil && connected != nil {
			set = true
		}
		all = append(all, web.LocalChat{Title: c.Name, Command: f.a.Hint("connect " + c.Type), Set: set})
	}
	return all
}

// run runs a command of askbus on the same directory, and returns what it tells a person.
func (f firstSteps) run(ctx context.Context, args ...string) (said string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the path of this program: %w", err)
	}
	if f.a.Dir != config.DefaultDir() {
		dir, err := filepath.Abs(f.a.Dir)
		if err != nil {
			return "", fmt.Errorf("directory: %w", err)
		}
		args = append(args, "--dir", dir)
	}
	cmd := exec.CommandContext(ctx, self, args...) //nolint:gosec // askbus itself, with arguments of a short list
	cmd.WaitDelay = time.Second
	var stderr strings.Builder
	cmd.Stderr = &stderr
	err = cmd.Run()
	said = strings.TrimPrefix(strings.TrimSpace(ask.CleanText(stderr.String())), "askbus: ")
	if err != nil {
		return "", fmt.Errorf("%s (%w)", said, err)
	}
	return said, nil
}
