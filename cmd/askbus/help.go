package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// commandGroup is a section of the help.
type commandGroup struct {
	id, title string
	commands  []*cobra.Command
}

// groups returns all commands in the order of the help.
func (a *app) groups() []commandGroup {
	return []commandGroup{
		{"ask", "Ask:", []*cobra.Command{a.askCmd(), a.waitCmd(), a.getCmd(), a.withdrawCmd()}},
		{"answer", "Answer:", []*cobra.Command{a.tuiCmd(), a.nextCmd(), a.answerCmd(), a.listCmd(), a.statusCmd(), a.loginCmd(), a.logoutCmd()}},
		{"agents", "Connect agents:", []*cobra.Command{a.mcpCmd(), a.hookCmd(), a.acpCmd(), a.transcriptCmd()}},
		{"run", "Run a bus:", []*cobra.Command{a.upCmd(), a.serverCmd(), a.brokerCmd(), a.webCmd(), a.sshCmd(), a.gatewayCmd(), a.issuerCmd(), a.slackCmd(), a.pushCmd()}},
		{"operate", "Operate it:", []*cobra.Command{
			a.authCmd(), a.credsCmd(), a.tokenCmd(), a.inviteCmd(), a.peopleCmd(), a.abortCmd(), a.auditCmd(), a.ledgerCmd(), a.doctorCmd(), a.healthCmd(), a.settingsCmd(), a.benchCmd(), a.tortureCmd(), a.versionCmd(),
		}},
	}
}

// addCommands gives the root its commands, in groups.
func (a *app) addCommands(root *cobra.Command) {
	for _, g := range a.groups() {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, cmd := range g.commands {
			cmd.GroupID = g.id
			root.AddCommand(cmd)
		}
	}
	root.SetCompletionCommandGroupID("operate")
	root.SetHelpCommand(helpCmd(root))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd() // now, so that its arguments are checked like all others
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Args, cmd.RunE = noCommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			cmd.Short = "Print the completion script of a shell: bash, zsh, fish or powershell"
			cmd.Example = `  source <(askbus completion bash)
  askbus completion zsh > "${fpath[1]}/_askbus"
  askbus completion fish > ~/.config/fish/completions/askbus.fish`
		}
	}
}

// helpCmd is cobra's help command, except that an unknown topic is a usage error.
func helpCmd(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Show the help of a command", GroupID: "operate",
		Example: "  askbus help ask",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(root, strings.Join(args, " "))
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			cmd, _, err := root.Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []cobra.Completion
			for _, sub := range cmd.Commands() {
				if sub.IsAvailableCommand() && strings.HasPrefix(sub.Name(), typed) {
					names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// noCommand rejects unknown commands and suggests similar ones.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return unknownCommand(cmd, args[0])
}

func unknownCommand(cmd *cobra.Command, name string) error {
	meant := ""
	for _, distance := range []int{1, 2} { // one wrong letter, else two
		cmd.SuggestionsMinimumDistance = distance
		near := cmd.SuggestionsFor(name)
		if len(near) == 0 {
			continue
		}
		meant = " (did you mean " + strings.Join(near, " or ") + "?)"
		break
	}
	return usage("unknown command %q for %q%s; see \"%s --help\"", name, cmd.CommandPath(), meant, cmd.CommandPath())
}
