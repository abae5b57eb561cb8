package operator

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/answering/auth/passkey"
	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// InviteCmd is "askbus invite".
func InviteCmd(a *cli.App) *cobra.Command {
	var w config.Web
	var name string
	var groups []string
	var grant ask.Grant
	cmd := &cobra.Command{
		Use: "invite PERSON", Short: "Print a link with which a person makes a passkey for the web inbox", Args: cobra.ExactArgs(1),
		Example: "  askbus invite mei --name Mei --group platform\n  askbus invite tom --only-tenant acme --reader",
		Long: `Prints a link to the web inbox with which PERSON makes a passkey, and signs in with it from then
on as passkey:PERSON. The link is valid for seven days and for one passkey. Invite the same person
again for another device, or to change what they may see.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !ask.ValidToken(args[0]) {
				return cli.Usage("invalid person %q: use A-Z a-z 0-9 _ -", args[0])
			}
			url, err := a.KnownInbox()
			if err != nil {
				return err
			}
			key, err := a.CookieKey(w)
			if err != nil {
				return err
			}
			pages, err := web.PagesAt(key, url)
			if err != nil {
				return err
			}
			origin, err := passkey.Origin(pages)
			if err != nil {
				return err
			}
			if err := grant.Check(); err != nil {
				return cli.Usage("%w", err)
			}
			if name = ask.CleanLine(name); name == "" {
				name = args[0]
			}
			p := auth.Person{By: ask.By{Principal: "passkey:" + args[0], Name: name, Groups: groups}}
			if grant.ReadOnly || len(grant.Tenants)+len(grant.Sessions)+len(grant.Audiences) > 0 {
				p.Access = ask.Access{grant}
			}
			link, err := web.InviteLink(key, origin, p, time.Now())
			if err != nil {
				return err
			}
			reportToAudit(cmd.Context(), a, audit.Report{
				Action: audit.InvitationMade,
				Object: &audit.Object{Kind: "invitation", Principal: p.By.Principal, Name: name, Note: invited(&grant, groups), Expires: time.Now().Add(web.InviteLife).UTC()},
			})
			if a.JSON() {
				return a.TellJSON(map[string]string{"principal": p.By.Principal, "url": link})
			}
			fmt.Fprintln(a.Stdout, link)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&name, "name", "", "display name (default: PERSON)")
	f.StringSliceVar(&groups, "group", nil, "the person's groups, for audiences")
	f.StringSliceVar(&grant.Tenants, "only-tenant", nil, "patterns of the tenants that they see (default: all)")
	f.StringSliceVar(&grant.Sessions, "only-session", nil, "patterns of the sessions that they see (default: all)")
	f.StringSliceVar(&grant.Audiences, "only-audience", nil, "patterns of the audiences that they see, such as group:platform (default: all)")
	f.BoolVar(&grant.ReadOnly, "reader", false, "they may see asks but not decide")
	cli.Load(&w, cmd)
	return cmd
}

// invited says what an invitation lets somebody see and do.
func invited(g *ask.Grant, groups []string) string {
	var words []string
	for _, v := range []struct {
		what   string
		values []string
	}{{"groups", groups}, {"tenants", g.Tenants}, {"sessions", g.Sessions}, {"audiences", g.Audiences}} {
		if len(v.values) > 0 {
			words = append(words, v.what+" "+strings.Join(v.values, " "))
		}
	}
	if g.ReadOnly {
		words = append(words, "may not decide")
	}
	return strings.Join(words, "; ")
}

func peopleKeysCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "passkeys", Short: "List the people with passkeys", Args: cobra.NoArgs,
		Example: "  askbus people passkeys",
		RunE: asOperator(a, "manage passkeys", func(ctx context.Context, b *cli.Bus, _ []string) error {
			list, err := passkey.NewHolders(b.NC).List(ctx)
			if err != nil {
				return err
			}
			return cli.TellList(a, list, "PRINCIPAL\tNAME\tPASSKEYS\tSINCE", list, func(h *passkey.Holder) []string {
				return []string{h.Principal, h.Name, strconv.Itoa(h.Keys), minute(h.Since)}
			})
		}),
	}
}

func peopleRemoveCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "remove PRINCIPAL", Short: "Delete a person's passkeys and end their sessions", Args: cobra.ExactArgs(1),
		Example: "  askbus people remove passkey:mei",
		RunE: asOperator(a, "manage passkeys", func(ctx context.Context, b *cli.Bus, args []string) error {
			found, err := passkey.NewHolders(b.NC).Remove(ctx, args[0])
			if err != nil {
				return err
			}
			gone, err := auth.NewPeople(b.NC).End(ctx, args[0])
			if err != nil && (!found || !errors.Is(err, auth.ErrNobody)) {
				return err
			}
			a.Note("%s no longer has passkeys; ended %d sessions", args[0], len(gone))
			return nil
		}),
	}
}
