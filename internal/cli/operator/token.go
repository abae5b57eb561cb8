package operator

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// issuing is what only operators may do with tokens.
const issuing = "issue, list and revoke tokens"

// TokenCmd is "askbus token".
func TokenCmd(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "token", Short: "Issue, list and revoke bearer tokens for the HTTP API",
		Example: "  askbus token issue --session build-42",
		Long: `The bus stores the bearer tokens of the HTTP and WebSocket APIs, and of each only its
hash. Gateways apply a change within a second and close what a revoked token opened.
The bus must be running. The credential must be an operator's, such as the one of --dir.`,
	}
	cmd.AddCommand(tokenIssueCmd(a), tokenListCmd(a), tokenRevokeCmd(a))
	return cmd
}

func tokenIssueCmd(a *cli.App) *cobra.Command {
	var role string
	var sessions, endpoints []string
	var expires time.Duration
	var t token.Token
	cmd := &cobra.Command{
		Use: "issue", Short: "Make a token and show it once", Args: cobra.NoArgs,
		Long: `Makes a token and prints it. It is not shown again.

  agent       asks, and reads its own asks; never answers
  host        in addition to an agent's token: sends the answers of the dialog of the agent's host
              in the one --session; only for the process that shows the dialog
  screen      answers for the sessions that --session names
  responder   answers for every session of --tenant
  operator    asks and answers in every tenant

Agents and screens have --session: a name, "name*", or "*" for every session of the
tenant (an agent's default). People answer with screens, responders
and operators: only these may have a person's --principal. A host's is the user who runs
it, os:<user>.`,
		Example: `  askbus token issue --role agent --session build-42 --expires 24h
  askbus token issue --session build-42 --asker oidc:id.example.com#mei@example.com,os:mei
  askbus token issue --role screen --session build-42 --principal oidc:id.example.com#mei --name Mei --groups platform`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t.Role, t.Tenant = token.Role(role), a.Tenant
			if !cmd.Flags().Changed("session") && a.Session != "" && (t.Role == token.Agent || t.Role == token.Host || t.Role == token.Screen) {
				sessions = []string{a.Session}
			}
			for _, s := range sessions {
				if strings.ContainsAny(strings.TrimSuffix(s, token.Every), "*>") { // meant as a pattern; TokenOf would map it to a name
					return cli.Usage("invalid session %q: use A-Z a-z 0-9 _ -, and * at the end only", s)
				}
				if !strings.HasSuffix(s, token.Every) {
					s = ask.Token(s)
				}
				t.Sessions = append(t.Sessions, s)
			}
			if t.Role == token.Agent && len(t.Sessions) == 0 {
				t.Sessions = []string{token.Every}
			}
			if t.Role == token.Host && t.Principal == "" {
				t.Principal = cli.Sitting().Principal
			}
			t.Created = time.Now().UTC().Truncate(time.Second)
			if expires < time.Second || expires > token.MostLife {
				return cli.Usage("invalid --expires %s: use 1s to %s", expires, token.MostLife)
			}
			t.Expires = t.Created.Add(expires)
			for _, e := range endpoints {
				t.Endpoints = append(t.Endpoints, token.Endpoint(e))
			}
			if err := t.Validate(); err != nil {
				return &cli.ExitError{Code: cli.ExitUsage, Err: err}
			}
			if strings.HasPrefix(t.Principal, ask.ProofOIDC+":") && !strings.Contains(t.Principal, "#") { // tokens of before ADR 0189 have such ones
				return cli.Usage("--principal %.80s is nobody; name the provider, too, such as oidc:id.example.com#mei@example.com", t.Principal)
			}
			b, err := operator(a, issuing)
			if err != nil {
				return err
			}
			defer b.Close()
			made, secret, err := token.NewIssuer(b.NC).Issue(cmd.Context(), t)
			if err != nil {
				return err
			}
			return printToken(a, &made, secret)
		},
	}
	f := cmd.Flags()
	f.StringVar(&role, "role", string(token.Agent), "agent, host, screen, responder or operator")
	f.StringSliceVar(&sessions, "session", nil, `sessions of an agent or a screen, "*" for all; the one session of a host`)
	f.DurationVar(&expires, "expires", token.DefaultLife, "how long it is valid")
	f.StringSliceVar(&endpoints, "endpoints", nil, "where it is accepted: http, ws, mcp, hook, nats, a2a (default: everywhere)")
	f.StringVar(&t.Principal, "principal", "", "principal that it answers as (default: token:<id>; of a host: os:<user>)")
	f.StringSliceVar(&t.Asker, "asker", nil, "principals of the person for whom an agent or operator asks, such as oidc:id.example.com#mei@example.com: exclude_asker and policies count them (default of an operator: --principal)")
	f.StringVar(&t.Name, "name", "", "name to show with its answers")
	f.StringSliceVar(&t.Groups, "groups", nil, "groups of that principal, for audiences")
	return cmd
}

func printToken(a *cli.App, t *token.Token, secret string) error {
	if a.JSON() {
		return a.TellJSON(struct {
			Token string `json:"token"`
			tokenRow
		}{secret, rowOf(t)})
	}
	fmt.Fprintln(a.Stdout, secret)
	a.Note("token %s %s%s; it is not shown again", t.ID, t.Scope(), until(t))
	return nil
}

// tokenRow is a token in a list, without its secret.
type tokenRow struct {
	ID        string           `json:"id"`
	Role      token.Role       `json:"role"`
	Tenant    string           `json:"tenant"`
	Sessions  []string         `json:"sessions,omitempty"`
	Principal string           `json:"principal,omitempty"`
	Name      string           `json:"name,omitempty"`
	Groups    []string         `json:"groups,omitempty"`
	Asker     []string         `json:"asker,omitempty"`
	Endpoints []token.Endpoint `json:"endpoints,omitempty"`
	Created   time.Time        `json:"created"`
	Expires   time.Time        `json:"expires"`
	Used      *time.Time       `json:"used,omitempty"` // last use, to the minute
}

func rowOf(t *token.Token) tokenRow {
	return tokenRow{t.ID, t.Role, t.Tenant, t.Sessions, t.Principal, t.Name, t.Groups, t.Asker, t.Endpoints, t.Created, t.Expires, nil}
}

func endpointsOf(t *token.Token) string {
	if len(t.Endpoints) == 0 {
		return "all"
	}
	names := make([]string, len(t.Endpoints))
	for i, e := range t.Endpoints {
		names[i] = string(e)
	}
	return strings.Join(names, ", ")
}

func until(t *token.Token) string {
	return ", until " + t.Expires.Local().Format("2 Jan 2006 15:04")
}

func tokenListCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the tokens, without their secrets", Args: cobra.NoArgs,
		RunE: asOperator(a, issuing, func(ctx context.Context, b *cli.Bus, _ []string) error {
			tokens, err := token.NewIssuer(b.NC).List(ctx)
			if err != nil {
				return err
			}
			rows := make([]tokenRow, len(tokens))
			for i := range tokens {
				rows[i] = rowOf(&tokens[i].Token)
				if !tokens[i].Last.IsZero() {
					rows[i].Used = &tokens[i].Last
				}
			}
			return cli.TellList(a, rows, "ID\tROLE\tSCOPE\tENDPOINTS\tEXPIRES\tLAST USED", tokens, func(l *token.Used) []string {
				t := &l.Token
				expires, used := minute(t.Expires), "never"
				if t.Expired(time.Now()) {
					expires += " (expired)"
				}
				if !l.Last.IsZero() {
					used = minute(l.Last)
				}
				return []string{t.ID, string(t.Role), t.Scope(), endpointsOf(t), expires, used}
			})
		}),
	}
}

func tokenRevokeCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "Revoke a token; what it opened closes within a second", Args: cobra.ExactArgs(1),
		RunE: asOperator(a, issuing, func(ctx context.Context, b *cli.Bus, args []string) error {
			t, err := token.NewIssuer(b.NC).Revoke(ctx, args[0])
			if err != nil {
				return err
			}
			a.Note("revoked token %s: it %s", t.ID, t.Scope())
			return nil
		}),
	}
}
