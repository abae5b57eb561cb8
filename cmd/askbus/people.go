package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/askbus/askbus/internal/auth"
	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

func (a *app) peopleCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "people", Short: "List who is signed in at the web inbox, and sign them out", Args: noCommand,
		Example: "  askbus people list\n  askbus people sign-out oidc:mei",
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.peopleListCmd(), a.peopleSignOutCmd(), a.peopleKeysCmd(), a.peopleRemoveCmd())
	return cmd
}

// people connects as an operator.
func (a *app) people() (_ *auth.People, end func(), err error) {
	b, err := a.operator("see who is signed in")
	if err != nil {
		return nil, nil, err
	}
	return auth.NewPeople(b.nc), b.close, nil
}

// operator connects as an operator; what says what only operators may do.
func (a *app) operator(what string) (*bus, error) {
	b, err := a.dialOperator()
	if err != nil {
		return nil, err
	}
	if b.role.Name != "" && b.role.Name != natsd.RoleOperator {
		b.close()
		return nil, fmt.Errorf("only operators %s; this credential is of %s", what, b.cred.Name)
	}
	return b, nil
}

func (a *app) peopleListCmd() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the sign-in sessions", Args: cobra.NoArgs,
		Example: "  askbus people list",
		RunE: func(cmd *cobra.Command, _ []string) error {
			people, end, err := a.people()
			if err != nil {
				return err
			}
			defer end()
			list, err := people.List(cmd.Context())
			if err != nil {
				return err
			}
			if a.json() {
				return a.tellJSON(list)
			}
			w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "PRINCIPAL\tNAME\tSINCE\tSEEN\tID\tBROWSER")
			for _, s := range list {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", ask.CleanLine(s.Principal), ask.CleanLine(s.Name), s.Created.Local().Format("2006-01-02 15:04"), s.Seen.Local().Format("2006-01-02 15:04"), s.ID, ask.CleanLine(s.Client))
			}
			return w.Flush()
		},
	}
}

func (a *app) peopleSignOutCmd() *cobra.Command {
	return &cobra.Command{
		Use: "sign-out PRINCIPAL | ID", Short: "End one or all of a person's sessions; open pages close within a second", Args: cobra.ExactArgs(1),
		Example: "  askbus people sign-out oidc:mei",
		RunE: func(cmd *cobra.Command, args []string) error {
			people, end, err := a.people()
			if err != nil {
				return err
			}
			defer end()
			gone, err := people.End(cmd.Context(), args[0])
			for _, s := range gone {
				a.say("%s is signed out of session %s", s.Principal, s.ID)
			}
			return err
		},
	}
}
