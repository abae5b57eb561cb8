package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// NoCommand rejects unknown commands and suggests similar ones.
func NoCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return UnknownCommand(cmd, args[0])
}

// UnknownCommand returns the error for a command that does not exist, and suggests similar ones,
// or those of other commands that have this name.
func UnknownCommand(cmd *cobra.Command, name string) error {
	meant := ""
	if deeper := named(cmd, name); len(deeper) > 0 {
		meant = " (did you mean " + strings.Join(deeper, " or ") + "?)"
	}
	for _, distance := range []int{1, 2} { // one wrong letter, else two
		if meant != "" {
			break
		}
		cmd.SuggestionsMinimumDistance = distance
		near := cmd.SuggestionsFor(name)
		if len(near) == 0 {
			continue
		}
		meant = " (did you mean " + strings.Join(near, " or ") + "?)"
	}
	return Usage("unknown command %q for %q%s; see \"%s --help\"", name, cmd.CommandPath(), meant, cmd.CommandPath())
}

// named returns the commands below cmd's own that have this name: "mcp install" for "install".
func named(cmd *cobra.Command, name string) []string {
	var found []string
	for _, group := range cmd.Commands() {
		for _, sub := range group.Commands() {
			if sub.Name() == name && sub.IsAvailableCommand() {
				found = append(found, group.Name()+" "+name)
			}
		}
	}
	return found
}

// helpCmd is cobra's help command, except that an unknown topic is a usage error.
func helpCmd(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Show the help of a command", GroupID: "operate",
		Example: "  askbus help ask",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return UnknownCommand(root, strings.Join(args, " "))
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
