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
		Name: "askbus", Short: "The ask-a-human bus for AI agents", Groups: groups, Settings: settings(),
		Long: `askbus lets AI agents ask people, wherever the people are, and keeps every
question and its answer through restarts of anything.

Start everything with "askbus up", ask from a second terminal with "askbus ask".

` + cli.ExitCodes,
	}
}

// groups returns all commands in the order of the help.
func groups(a *cli.App) []cli.Group {
	return []cli.Group{
		{ID: "ask", Title: "Ask:", Commands: []*cobra.Command{agent.AskCmd(a), agent.WaitCmd(a), agent.GetCmd(a), agent.FileCmd(a), agent.WithdrawCmd(a), agent.ApprovalsCmd(a)}},
		{ID: "answer", Title: "Answer:", Commands: []*cobra.Command{person.TUICmd(a), person.NextCmd(a), person.AnswerCmd(a), person.ListCmd(a), person.StatsCmd(a), person.StatusCmd(a), person.AwayCmd(a), person.LoginCmd(a), person.LogoutCmd(a)}},
		{ID: "agents", Title: "Connect agents:", Commands: []*cobra.Command{agent.MCPCmd(a), agent.HookCmd(a), agent.ACPCmd(a), agent.CodexCmd(a), agent.OpencodeCmd(a), agent.TranscriptCmd(a)}},
		{ID: "run", Title: "Run a bus:", Commands: append([]*cobra.Command{role.UpCmd(a), role.ConnectCmd(a), role.ServerCmd(a), role.BrokerCmd(a), role.WebCmd(a), role.SSHCmd(a), role.GatewayCmd(a), role.IssuerCmd(a), role.WebhookCmd(a), role.PushCmd(a)}, role.ChatCmds(a)...)},
		{ID: "operate", Title: "Operate it:", Commands: []*cobra.Command{
			operator.AuthCmd(a), operator.CredsCmd(a), operator.TokenCmd(a), operator.InviteCmd(a), operator.PeopleCmd(a), operator.AbortCmd(a), operator.AuditCmd(a, role.AuditLogCmd(a)), operator.LedgerCmd(a), role.DoctorCmd(a), operator.HealthCmd(a), settingsCmd(a), versionCmd(a),
		}},
	}
}

// settings returns the settings of all commands.
func settings() []any {
	return append([]any{config.Common{}, config.Reach{}, config.Log{}, config.Telemetry{}, config.Listen{}, config.Ledger{}, config.Types{}, config.Issuer{}, config.Web{}, config.Gateway{}, config.Webhook{}, config.Push{}, config.AuditLog{}, cli.SessionSetting{}, cli.HostSettings{}, cli.TerminalSettings{}, config.SSH{}}, role.ChatSettings()...)
}
