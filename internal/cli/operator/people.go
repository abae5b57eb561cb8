package operator

import (
	"fmt"
	"text/tabwriter"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// PeopleCmd is "askbus people".
func PeopleCmd(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "people", Short: "List who is signed in at the web inbox and who is who in chats, and end both", Args: cli.NoCommand,
		Example: "  askbus people list\n  askbus people sign-out oidc:mei",
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(peopleListCmd(a), peopleSignOutCmd(a), peopleLinksCmd(a), peopleUnlinkCmd(a), peopleKeysCmd(a), peopleRemoveCmd(a))
	return cmd
}

// people connects as an operator.
func people(a *cli.App) (_ *auth.People, end func(), err error) {
	b, err := operator(a, "see who is signed in")
	if err != nil {
		return nil, nil, err
	}
	return auth.NewPeople(b.NC), b.Close, nil
}

// operator connects as an operator; what says what only operators may do.
func operator(a *cli.App, what string) (*cli.Bus, error) {
	b, err := a.DialOperator()
	if err != nil {
		return nil, err
	}
	if b.Role.Name != "" && b.Role.Name != rights.RoleOperator {
		b.Close()
		return nil, fmt.Errorf("only operators %s; this credential is of %s", what, b.Cred.Name)
	}
	return b, nil
}

func peopleListCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the sign-in sessions", Args: cobra.NoArgs,
		Example: "  askbus people list",
		RunE: func(cmd *cobra.Command, _ []string) error {
			people, end, err := people(a)
			if err != nil {
				return err
			}
			defer end()
			list, err := people.List(cmd.Context())
			if err != nil {
				return err
			}
			if a.JSON() {
				return a.TellJSON(list)
			}
			w := tabwriter.NewWriter(a.Stdout, 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "PRINCIPAL\tNAME\tSINCE\tSEEN\tID\tBROWSER")
			for _, s := range list {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", ask.CleanLine(s.Principal), ask.CleanLine(s.Name), s.Created.Local().Format("2006-01-02 15:04"), s.Seen.Local().Format("2006-01-02 15:04"), s.ID, ask.CleanLine(auth.BrowserName(s.Client)))
			}
			return w.Flush()
		},
	}
}

func peopleSignOutCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "sign-out PRINCIPAL | ID", Short: "End one or all of a person's sessions; open pages close within a second", Args: cobra.ExactArgs(1),
		Example: "  askbus people sign-out oidc:mei",
		RunE: func(cmd *cobra.Command, args []string) error {
			people, end, err := people(a)
			if err != nil {
				return err
			}
			defer end()
			gone, err := people.End(cmd.Context(), args[0])
			for _, s := range gone {
				a.Note("%s is signed out of session %s", s.Principal, s.ID)
			}
			return err
		},
	}
}
