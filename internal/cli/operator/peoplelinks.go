package operator

import (
	"cmp"
	"context"
	"time"

	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

func peopleLinksCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "links [PRINCIPAL]", Short: "List which members of chats people said they are", Args: cobra.MaximumNArgs(1),
		Example: "  askbus people links\n  askbus people links oidc:id.example.com#mei",
		RunE: asOperator(a, "see who is who", func(ctx context.Context, b *cli.Bus, args []string) error {
			all, err := state.ListLinks(ctx, state.Open(b.NC, state.Operator(), state.Links))
			if err != nil {
				return err
			}
			type line struct {
				Account   string    `json:"account"`
				Principal string    `json:"principal"`
				Name      string    `json:"name,omitempty"`
				Tenant    string    `json:"tenant,omitempty"`
				Since     time.Time `json:"since"`
			}
			lines := make([]line, 0, len(all))
			for i := range all {
				if l := &all[i]; len(args) == 0 || l.Account == args[0] || l.Principal == args[0] {
					lines = append(lines, line{l.Account, l.Principal, l.Name, l.Tenant, l.Since})
				}
			}
			return cli.TellList(a, lines, "PERSON\tIN A CHAT\tCALLED THERE\tTENANT\tSINCE", lines, func(l *line) []string {
				return []string{l.Account, l.Principal, l.Name, cmp.Or(l.Tenant, "all"), minute(l.Since)}
			})
		}),
	}
}

func peopleUnlinkCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "unlink PRINCIPAL", Short: "End the links of a member of a chat, or all of a person", Args: cobra.ExactArgs(1),
		Example: "  askbus people unlink telegram:4711\n  askbus people unlink oidc:id.example.com#mei",
		RunE: asOperator(a, "end links", func(ctx context.Context, b *cli.Bus, args []string) error {
			links := state.Open(b.NC, state.Operator(), state.Links)
			all, err := state.ListLinks(ctx, links)
			if err != nil {
				return err
			}
			ended := 0
			for i := range all {
				l := &all[i]
				if l.Account != args[0] && l.Principal != args[0] {
					continue
				}
				if err := links.Delete(ctx, state.LinkKey(l)); err != nil {
					return err
				}
				a.Note("%s is no longer linked with %s", ask.CleanLine(l.Principal), ask.CleanLine(l.Account))
				ended++
			}
			if ended == 0 {
				return ask.Refuse(ask.CodeNotFound, "nothing is linked with %s; \"askbus people links\" lists who is", args[0])
			}
			return nil
		}),
	}
}
