// Package command has the commands of askbus-lab: bench and torture, and the
// roles that both start as processes.
package command

import (
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/cli/agent"
	"github.com/askbus/askbus/internal/cli/operator"
	"github.com/askbus/askbus/internal/role"
	"github.com/spf13/cobra"
)

// Program is askbus-lab with all its commands.
func Program() cli.Program {
	return cli.Program{
		Name: "askbus-lab", Short: "Measures askbus, and breaks its parts on purpose", Groups: groups,
		Long: `askbus-lab measures askbus (bench) and tests its promises while processes, servers,
disks and clocks fail (torture). The commands of askbus that both start as
processes of their own are in this binary, too, so that what is measured is what
was built with it.`,
	}
}

func groups(a *cli.App) []cli.Group {
	return []cli.Group{
		{ID: "lab", Title: "Measure and torture:", Commands: []*cobra.Command{benchCmd(a), tortureCmd(a)}},
		{ID: "operate", Title: "Processes of askbus that these start:", Commands: append([]*cobra.Command{
			role.UpCmd(a), role.ServerCmd(a), role.BrokerCmd(a), role.WebCmd(a), role.GatewayCmd(a), agent.AskCmd(a), operator.AuthCmd(a), operator.TokenCmd(a),
		}, role.ChatCmds(a)...)},
	}
}
