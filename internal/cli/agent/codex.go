package agent

import (
	"github.com/askbus/askbus/internal/asking/checkout"
	"github.com/askbus/askbus/internal/asking/codex"
	"github.com/askbus/askbus/internal/asking/mcpserver"
	"github.com/askbus/askbus/internal/asking/relay"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// CodexCmd is "askbus codex".
func CodexCmd(a *cli.App) *cobra.Command {
	var flags hostFlags
	cmd := &cobra.Command{
		Use:   "codex -- COMMAND [ARGUMENT...]",
		Short: "Proxy Codex's app-server, so that its approvals and questions can be answered from any screen",
		Long: `Starts Codex's app-server on standard input and output, and forwards everything between
it and the client that started askbus: an editor's extension, or a program of yours. What the server
asks (approvals of commands, file changes, MCP tools and permissions; request_user_input;
forms of MCP servers) appears on every screen beside the client's own dialog. The first answer
counts, and Codex closes the other dialogs.

Put it in front of the command in the client's settings: "askbus codex -- codex app-server". When
the bus is unreachable, the client's own dialogs still work. The exit code is the server's.`,
		Example: `  askbus codex -- codex app-server
  askbus codex --min-proof os -- codex app-server`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			tenant, session, err := flags.home(a)
			if err != nil {
				return err
			}
			speaks := codex.New(codex.Options{
				Session:  func(dir string) string { return clientSession("codex", dir) },
				Work:     func(dir string, agent *ask.Agent) { checkout.Of(dir).Fill(agent) },
				Language: a.Language(), MinProof: flags.minProof,
			})
			who := relay.Caller{Tenant: tenant, Session: session, Timeout: flags.timeout, Outlive: flags.outlive, Agent: mcpserver.AgentPath(a.Host.Agent), Human: cli.Sitting()}
			return runRelay(cmd.Context(), a, speaks, who, args, "askbus codex -- codex app-server")
		},
	}
	flags.add(cmd, a, "Codex")
	flags.addMinProof(cmd, "the weakest proof of who answers an approval; with os or stronger, Codex's lasting rules can be permitted too (default: any, not lasting)")
	cmd.Flags().SetInterspersed(false)
	return cmd
}
