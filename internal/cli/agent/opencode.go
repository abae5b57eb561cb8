package agent

import (
	"cmp"
	"errors"
	"os"

	"github.com/askbus/askbus/internal/asking/checkout"
	"github.com/askbus/askbus/internal/asking/mcpserver"
	"github.com/askbus/askbus/internal/asking/opencode"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// OpencodeCmd is "askbus opencode".
func OpencodeCmd(a *cli.App) *cobra.Command {
	var address string
	var flags hostFlags
	cmd := &cobra.Command{
		Use:   "opencode",
		Short: "Bridge an opencode server, so that its questions and permissions can be answered from any screen",
		Long: `Follows a running "opencode serve", or an "opencode" that was started with --port, and asks
on every screen what its sessions ask: questions and permissions. opencode's own dialogs stay
open. The first answer counts: one given here is replied to opencode, and what is decided
in opencode is withdrawn here.

Start it before or after the server; it waits for a server that is not up, or restarts. A
server with a password needs OPENCODE_SERVER_PASSWORD (and OPENCODE_SERVER_USERNAME) in the
environment of this command as well. When this command stops, what is open is withdrawn.`,
		Example: `  askbus opencode
  askbus opencode --url http://127.0.0.1:4100 --min-proof os`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			base, err := opencode.ParseURL(address)
			if err != nil {
				return cli.Usage("--url: %w", err)
			}
			tenant, session, err := flags.home(a)
			if err != nil {
				return err
			}
			who := opencode.Caller{
				Tenant: tenant, Agent: mcpserver.AgentPath(a.Host.Agent), Language: a.Language(), Timeout: flags.timeout, Outlive: flags.outlive, MinProof: flags.minProof,
				Session: func(dir string) string {
					if session != "" {
						return session
					}
					return clientSession("opencode", dir)
				},
			}
			if base.Scheme == "http" { // on this machine
				who.Work = func(dir string, agent *ask.Agent) { checkout.Of(dir).Fill(agent) }
			}
			server := &opencode.Server{Base: base, User: cmp.Or(os.Getenv("OPENCODE_SERVER_USERNAME"), "opencode"), Password: os.Getenv("OPENCODE_SERVER_PASSWORD")}
			lazy := &lazyBus{a: a}
			defer lazy.close()
			following := func() { a.Note("askbus: asking what %s asks", base) }
			err = opencode.Run(cmd.Context(), server, lazy, who, opencode.Options{Logger: a.Logger(), Waiting: a.NeededFor(), Following: following})
			switch {
			case errors.Is(err, opencode.ErrPassword):
				return cli.Usage("%s: %w; set OPENCODE_SERVER_PASSWORD as it is set for the server", base, err)
			case errors.Is(err, opencode.ErrForeign):
				return cli.Usage("%s: %w; give the address that opencode prints with --url", base, err)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&address, "url", "http://127.0.0.1:4096", "the server's address: on this machine, or with https://")
	flags.add(cmd, a, "opencode")
	flags.addMinProof(cmd, "the weakest proof of who answers a permission; with os or stronger, opencode's \"always\" can be permitted too (default: any, once)")
	return cmd
}
