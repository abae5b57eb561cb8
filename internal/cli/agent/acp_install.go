package agent

import (
	"path/filepath"
	"strings"

	"github.com/askbus/askbus/internal/asking/install"
	"github.com/askbus/askbus/internal/cli"
	"github.com/spf13/cobra"
)

func acpInstallCmd(a *cli.App) *cobra.Command {
	var f installFlags
	var name string
	cmd := &cobra.Command{
		Use:   "install [" + strings.Join(install.EditorNames(), " | ") + "] [-- COMMAND [ARGUMENT...]]",
		Short: "Print or write an editor's settings that put askbus in front of an agent",
		Long: `Prints what to put into the settings of an editor that runs agents by ACP, and where.
--write changes the file and keeps everything else in it, comments included; a second run
changes nothing. Without an editor it lists the known ones.

  askbus acp install zed --write -- claude-agent-acp`,
		RunE: func(cmd *cobra.Command, args []string) error {
			place, err := herePlace()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				var known []installTarget
				for _, e := range install.Editors() {
					known = append(known, installTarget{Name: e.Name, Title: e.Title, File: e.File(place)})
				}
				return listTargets(a, f, "editor", known)
			}
			e, ok := install.LookupEditor(args[0])
			if !ok {
				return cli.Usage("unknown editor %q; use one of: %s", args[0], strings.Join(install.EditorNames(), ", "))
			}
			agent := args[1:]
			switch {
			case len(agent) == 0 && (name == "" || !f.remove):
				return cli.Usage("give the agent's command after --, such as: askbus acp install %s -- claude-agent-acp", e.Name)
			case f.write && e.Printed():
				return cli.Usage("the settings of %s are a program, which askbus does not change; run this without --write and add what it prints", e.Title)
			case f.remove && e.Printed():
				return cli.Usage("the settings of %s are a program, which askbus does not change; remove the entry by hand", e.Title)
			}
			if name == "" {
				name = strings.TrimSuffix(filepath.Base(agent[0]), ".exe") + " with askbus"
			}
			path := f.file
			if path == "" {
				path = e.File(place)
			}
			self, err := self(a, "acp")
			if err != nil {
				return err
			}
			if a.Host.Agent != "" {
				self.Args = append(self.Args, "--agent", a.Host.Agent)
			}
			self.Args = append(append(self.Args, "--"), agent...)
			return installClient(a, f, e.Title, path, e.Note,
				func(text string) (string, error) { return e.Set(text, name, self) },
				func(text string) (string, error) { return e.Remove(text, name) })
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&name, "name", "", `name in the editor (default: the command, and "with askbus")`)
	return cmd
}
