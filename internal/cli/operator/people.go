package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/spf13/cobra"
)

// PeopleCmd is "askbus people".
func PeopleCmd(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "people", Short: "List who is signed in at the web inbox and whose the accounts in chats are, and end both",
		Example: "  askbus people list\n  askbus people sign-out oidc:id.example.com#mei",
	}
	cmd.AddCommand(peopleListCmd(a), peopleSignOutCmd(a), peopleLinksCmd(a), peopleUnlinkCmd(a), peopleKeysCmd(a), peopleRemoveCmd(a))
	return cmd
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

// asOperator connects as an operator for a command; what says what only operators may do.
func asOperator(a *cli.App, what string, do func(ctx context.Context, b *cli.Bus, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		b, err := operator(a, what)
		if err != nil {
			return err
		}
		defer b.Close()
		return do(cmd.Context(), b, args)
	}
}

// minute formats a moment in a table.
func minute(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

func peopleListCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the sign-in sessions", Args: cobra.NoArgs,
		Example: "  askbus people list",
		RunE: asOperator(a, "see who is signed in", func(ctx context.Context, b *cli.Bus, _ []string) error {
			list, err := auth.NewPeople(b.NC).List(ctx)
			if err != nil {
				return err
			}
			return cli.TellList(a, list, "PRINCIPAL\tNAME\tSINCE\tSEEN\tID\tBROWSER", list, func(s *auth.Session) []string {
				return []string{s.Principal, s.Name, minute(s.Created), minute(s.Seen), s.ID, auth.BrowserName(s.Client)}
			})
		}),
	}
}

func peopleSignOutCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "sign-out PRINCIPAL | ID", Short: "End one or all of a person's sessions; open pages close within a second", Args: cobra.ExactArgs(1),
		Example: "  askbus people sign-out oidc:id.example.com#mei",
		RunE: asOperator(a, "see who is signed in", func(ctx context.Context, b *cli.Bus, args []string) error {
			gone, err := auth.NewPeople(b.NC).End(ctx, args[0])
			for _, s := range gone {
				a.Note("%s is signed out of session %s", s.Principal, s.ID)
			}
			return err
		}),
	}
}
