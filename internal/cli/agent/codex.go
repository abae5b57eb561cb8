package agent

import (
	"slices"
	"strings"
	"time"

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
	var minProof string
	var timeout time.Duration
	var outlive bool
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
			if err := checkLimits(timeout, minProof); err != nil {
				return err
			}
			tenant, session, err := hostHome(a, func() string { return "" })
			if err != nil {
				return err
			}
			speaks := codex.New(codex.Options{
				Session:  func(dir string) string { return clientSession("codex", dir) },
				Work:     func(dir string, agent *ask.Agent) { checkout.Of(dir).Fill(agent) },
				Language: a.Language(), MinProof: minProof,
			})
			who := relay.Caller{Tenant: tenant, Session: session, Timeout: timeout, Outlive: outlive, Agent: mcpserver.AgentPath(a.Host.Agent), Human: cli.Sitting()}
			return runRelay(cmd.Context(), a, speaks, who, args, "askbus codex -- codex app-server")
		},
	}
	cmd.Flags().StringVar(&minProof, "min-proof", "", "the weakest proof of who answers an approval; with os or stronger, Codex's lasting rules can be permitted too (default: any, not lasting)")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "when each ask ends by itself: 1s to 720h (default 720h)")
	cmd.Flags().StringVar(&a.Host.Agent, "agent", a.Host.Agent, "the asking agent, below the agents that started it, such as planner/a-1/builder (default: Codex)")
	outliveFlag(cmd, &outlive)
	cli.Fixed(cmd, "min-proof", ask.MinProofs()...)
	cmd.Flags().SetInterspersed(false)
	return cmd
}

// checkLimits checks the flags of commands that stand between an agent and its host.
func checkLimits(timeout time.Duration, minProof string) error {
	if timeout != 0 && (timeout < ask.MinTimeout || timeout > ask.MaxTimeout) {
		return cli.Usage("invalid --timeout %s: use %s to %s", timeout, ask.MinTimeout, ask.MaxTimeout)
	}
	if minProof != "" && !slices.Contains(ask.MinProofs(), minProof) {
		return cli.Usage("invalid --min-proof %q: use %s", minProof, strings.Join(ask.MinProofs(), ", "))
	}
	return nil
}
