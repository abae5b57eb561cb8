package main

import (
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/cli/agent"
	"github.com/askbus/askbus/internal/cli/operator"
	"github.com/askbus/askbus/internal/cli/person"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/role"
	"github.com/spf13/cobra"
)

// program is askbus with all its commands.
func program() cli.Program {
	return cli.Program{
		Name: "askbus", Short: "The ask-a-human bus for AI agents", Groups: groups(), Settings: settings(),
		Long: `askbus lets AI agents ask people, wherever the people are, and keeps every
question and its answer through restarts of anything.

Start everything with "askbus up", ask from a second terminal with "askbus ask".

` + cli.ExitCodes,
	}
}

// groups returns all commands in the order of the help.
func groups() []cli.Group {
	return []cli.Group{
		{ID: "ask", Title: "Ask:", Commands: []cli.Command{
			{Name: "ask", New: agent.AskCmd},
			{Name: "wait", New: agent.WaitCmd},
			{Name: "get", New: agent.GetCmd},
			{Name: "file", New: agent.FileCmd},
			{Name: "withdraw", New: agent.WithdrawCmd},
			{Name: "approvals", New: agent.ApprovalsCmd},
		}},
		{ID: "answer", Title: "Answer:", Commands: []cli.Command{
			{Name: "tui", New: person.TUICmd},
			{Name: "next", New: person.NextCmd},
			{Name: "answer", New: person.AnswerCmd},
			{Name: "list", New: person.ListCmd},
			{Name: "stats", New: person.StatsCmd},
			{Name: "status", New: person.StatusCmd},
			{Name: "away", New: person.AwayCmd},
			{Name: "login", New: role.LoginCmd},
			{Name: "logout", New: person.LogoutCmd},
		}},
		{ID: "agents", Title: "Connect agents:", Commands: []cli.Command{
			{Name: "mcp", New: agent.MCPCmd},
			{Name: "hook", New: agent.HookCmd},
			{Name: "acp", New: agent.ACPCmd},
			{Name: "codex", New: agent.CodexCmd},
			{Name: "opencode", New: agent.OpencodeCmd},
			{Name: "transcript", New: agent.TranscriptCmd},
		}},
		{ID: "run", Title: "Run a bus:", Commands: append([]cli.Command{
			{Name: "up", New: role.UpCmd},
			{Name: "connect", New: role.ConnectCmd},
			{Name: "server", New: role.ServerCmd},
			{Name: "broker", New: role.BrokerCmd},
			{Name: "web", New: role.WebCmd},
			{Name: "ssh", New: role.SSHCmd},
			{Name: "gateway", New: role.GatewayCmd},
			{Name: "issuer", New: role.IssuerCmd},
			{Name: "webhook", New: role.WebhookCmd},
			{Name: "push", New: role.PushCmd},
			{Name: "pagerduty", New: role.PagerDutyCmd},
		}, role.ChatCommands()...)},
		{ID: "operate", Title: "Operate it:", Commands: []cli.Command{
			{Name: "auth", New: operator.AuthCmd},
			{Name: "token", New: operator.TokenCmd},
			{Name: "invite", New: operator.InviteCmd},
			{Name: "people", New: operator.PeopleCmd},
			{Name: "abort", New: operator.AbortCmd},
			{Name: "tenant", New: operator.TenantCmd},
			{Name: "audit", New: func(a *cli.App) *cobra.Command { return operator.AuditCmd(a, role.AuditLogCmd(a)) }},
			{Name: "ledger", New: operator.LedgerCmd},
			{Name: "doctor", New: role.DoctorCmd},
			{Name: "health", New: operator.HealthCmd},
			{Name: "settings", New: settingsCmd},
			{Name: "version", New: versionCmd},
		}},
	}
}

func settings() []any {
	return append([]any{config.Common{}, config.Reach{}, config.Log{}, config.Telemetry{}, config.Listen{}, config.Ledger{}, config.Types{}, config.Issuer{}, config.Web{}, config.Gateway{}, config.Webhook{}, config.Push{}, config.PagerDuty{}, config.AuditLog{}, cli.SessionSetting{}, cli.HostSettings{}, cli.TerminalSettings{}, config.SSH{}}, role.ChatSettings()...)
}
