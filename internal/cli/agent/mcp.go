package agent

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"time"

	"github.com/askbus/askbus/internal/asking/checkout"
	"github.com/askbus/askbus/internal/asking/mcpserver"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/telemetry"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// MCPCmd is "askbus mcp".
func MCPCmd(a *cli.App) *cobra.Command {
	var elicit, outlive, permissions bool
	var clientName, attachFrom string
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve MCP on standard input and output: a tool with which an agent asks people",
		Long: `Serves the tools AskUserQuestion, AwaitAnswer, WithdrawQuestion and
ListPendingQuestions to one MCP client on standard input and output. "askbus mcp
install" prints or writes the configuration of common clients.

The session is --session or ASKBUS_SESSION, else that of --client in this directory, else a
new one for this process. Asks outlive
the process: with the same session a new process finds them again. Asks shown as a
form (--elicit) are withdrawn about 8 minutes after this process exits, unless
--outlive is given.`,
		Example: `  askbus mcp install claude-code --write
  askbus mcp --session build-42 --elicit`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			otherwise := processSession("mcp")
			if dir, err := os.Getwd(); clientName != "" && err == nil {
				otherwise = clientSession(clientName, dir)
			}
			tenant, session, err := hostHome(a, otherwise)
			if err != nil {
				return err
			}
			if wait < time.Second || wait > ask.MaxHold {
				return cli.Usage("invalid --wait %s: use 1s to %s", wait, ask.MaxHold)
			}
			lazy := &lazyBus{a: a}
			defer lazy.close()
			who := mcpserver.Caller{
				Tenant: tenant, Session: session, Agent: mcpserver.AgentPath(a.Host.Agent), Human: cli.Sitting(), Forms: elicit, Outlive: outlive,
				Permissions: permissions, Language: a.Language(),
			}
			work := checkout.Of(".") // the host's directory
			work.Branch = ""         // it changes while we run
			work.Fill(&who.Agent)
			if a.Host.ProjectTask != "" {
				who.Metadata = map[string]any{"task": a.Host.ProjectTask}
			}
			opts := mcpserver.Options{Logger: a.Logger(), Version: cli.BuildVersion(), Span: telemetry.Tools(a.Tracing()), Wait: wait, Link: func(p0 ask.Key) string { return askLink(a, p0) }, Waiting: a.NeededFor()}
			if attachFrom != "" {
				dir, err := os.OpenRoot(attachFrom)
				if err != nil {
					return cli.Usage("--attach-from: %w", err)
				}
				defer dir.Close() //nolint:errcheck // read-only
				opts.ReadFile = func(path string) ([]byte, error) { return readBelow(dir, path) }
			}
			if elicit {
				dialog := &hostDialog{lazy: lazy, typ: ask.ResponderElicit}
				defer dialog.close()
				opts.Decider = dialog
			}
			return mcpserver.New(lazy, opts).Run(cmd.Context(), who, cmd.InOrStdin(), a.Stdout)
		},
	}
	cmd.Flags().StringVar(&clientName, "client", "", "the MCP client that starts this, such as codex: without --session, its session is that of the client in this directory")
	cmd.Flags().BoolVar(&permissions, "permissions", false, "also offer the tool PermissionPrompt, for claude -p --permission-prompt-tool mcp__askbus__PermissionPrompt")
	cmd.Flags().BoolVar(&elicit, "elicit", false, "also show each ask as a form in the client; the first answer counts")
	cmd.Flags().StringVar(&attachFrom, "attach-from", "", "a directory: agents may show people files below it, by their path (default: no files by path)")
	outliveFlag(cmd, &outlive)
	cmd.Flags().DurationVar(&wait, "wait", mcpserver.DefaultWait, "how long a call waits by default")
	agentFlag(cmd, a, "")
	cmd.AddCommand(mcpInstallCmd(a), mcpGuardCmd(a))
	return cmd
}

// clientSession returns the session of a client in a directory. Directories of one name have different ones.
func clientSession(name, dir string) string {
	sum := sha256.Sum256([]byte(filepath.Clean(dir)))
	if base := filepath.Base(dir); len(base) > 1 {
		name += "-" + base
	}
	return ask.Token(name + "-" + hex.EncodeToString(sum[:3]))
}

// processSession returns a session for this process alone. Its name shows people the command and
// the agent's directory.
func processSession(name string) string {
	if dir, err := os.Getwd(); err == nil && len(filepath.Base(dir)) > 1 {
		name += "-" + filepath.Base(dir)
	}
	var unique [4]byte
	_, _ = rand.Read(unique[:]) // never fails
	return ask.Token(name + "-" + hex.EncodeToString(unique[:]))
}
