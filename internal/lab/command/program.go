// Package command has the commands of askbus-lab: bench and torture, and the
// roles that both start as processes.
package command

import (
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/cli/agent"
	"github.com/askbus/askbus/internal/cli/operator"
	"github.com/askbus/askbus/internal/role"
)

// Program is askbus-lab with all its commands.
func Program() cli.Program {
	return cli.Program{
		Name: "askbus-lab", Short: "Measures askbus, and breaks its parts on purpose", Groups: groups(),
		Long: `askbus-lab measures askbus (bench) and tests its promises while processes, servers,
disks and clocks fail (torture). The commands of askbus that both start as
processes of their own are in this binary, too, so that what is measured is what
was built with it.`,
	}
}

func groups() []cli.Group {
	return []cli.Group{
		{ID: "lab", Title: "Measure and torture:", Commands: []cli.Command{{Name: "bench", New: benchCmd}, {Name: "torture", New: tortureCmd}}},
		{ID: "operate", Title: "Processes of askbus that these start:", Commands: append([]cli.Command{
			{Name: "up", New: role.UpCmd},
			{Name: "server", New: role.ServerCmd},
			{Name: "broker", New: role.BrokerCmd},
			{Name: "web", New: role.WebCmd},
			{Name: "gateway", New: role.GatewayCmd},
			{Name: "ask", New: agent.AskCmd},
			{Name: "auth", New: operator.AuthCmd},
			{Name: "token", New: operator.TokenCmd},
		}, role.ChatCommands()...)},
	}
}
