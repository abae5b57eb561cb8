package operator

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// issuer connects as an operator, with the credential of the directory or of the settings.
func issuer(a *cli.App) (_ *token.Issuer, end func(), err error) {
	b, err := operator(a, "issue, list and revoke tokens")
	if err != nil {
		return nil, nil, err
	}
	return token.NewIssuer(b.NC), b.Close, nil
}

// TokenCmd is "askbus token".
func TokenCmd(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "token", Short: "Issue, list and revoke bearer tokens for the HTTP API", Args: cli.NoCommand,
		Example: "  askbus token issue --session build-42",
		Long: `The bus stores the bearer tokens of the HTTP and WebSocket APIs, and of each only its
hash. Gateways apply a change within a second and close what a revoked token opened.
The bus must be running. The credential must be an operator's, such as the one of --dir.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(tokenIssueCmd(a), tokenListCmd(a), tokenRevokeCmd(a), tokenImportCmd(a))
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
  askbus token issue --session build-42 --asker oidc:mei@example.com,os:mei
  askbus token issue --role screen --session build-42 --principal oidc:mei --name Mei --groups platform`,
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
			issuer, end, err := issuer(a)
			if err != nil {
				return err
			}
			defer end()
			made, secret, err := issuer.Issue(cmd.Context(), t)
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
	f.StringSliceVar(&t.Asker, "asker", nil, "principals of the person for whom an agent or operator asks, such as oidc:mei@example.com: exclude_asker and policies count them (default of an operator: --principal)")
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
	Expires   *time.Time       `json:"expires,omitempty"`
	Used      *time.Time       `json:"used,omitempty"` // last use, to the minute
}

func rowOf(t *token.Token) tokenRow {
	r := tokenRow{t.ID, t.Role, t.Tenant, t.Sessions, t.Principal, t.Name, t.Groups, t.Asker, t.Endpoints, t.Created, nil, nil}
	if !t.Expires.IsZero() {
		r.Expires = &t.Expires
	}
	return r
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
	if t.Expires.IsZero() {
		return ""
	}
	return ", until " + t.Expires.Local().Format("2 Jan 2006 15:04")
}

func tokenListCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the tokens, without their secrets", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			issuer, end, err := issuer(a)
			if err != nil {
				return err
			}
			defer end()
			tokens, err := issuer.List(cmd.Context())
			if err != nil {
				return err
			}
			if a.JSON() {
				rows := make([]tokenRow, len(tokens))
				for i := range tokens {
					rows[i] = rowOf(&tokens[i].Token)
					if !tokens[i].Last.IsZero() {
						rows[i].Used = &tokens[i].Last
					}
				}
				return a.TellJSON(rows)
			}
			w := tabwriter.NewWriter(a.Stdout, 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "ID\tROLE\tSCOPE\tENDPOINTS\tEXPIRES\tLAST USED")
			for i := range tokens {
				t := &tokens[i].Token
				expires := "never"
				if !t.Expires.IsZero() {
					expires = t.Expires.Local().Format("2006-01-02 15:04")
				}
				if t.Expired(time.Now()) {
					expires += " (expired)"
				}
				used := "never"
				if last := tokens[i].Last; !last.IsZero() {
					used = last.Local().Format("2006-01-02 15:04")
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, t.Role, t.Scope(), endpointsOf(t), expires, used)
			}
			return w.Flush()
		},
	}
}

func tokenRevokeCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "Revoke a token; what it opened closes within a second", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			issuer, end, err := issuer(a)
			if err != nil {
				return err
			}
			defer end()
			t, err := issuer.Revoke(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			a.Note("revoked token %s: it %s", t.ID, t.Scope())
			return nil
		},
	}
}

func tokenImportCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "import FILE", Short: "Import the token file of earlier versions", Args: cobra.ExactArgs(1),
		Example: "  askbus token import tokens.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			issuer, end, err := issuer(a)
			if err != nil {
				return err
			}
			defer end()
			n, err := importTokens(cmd.Context(), issuer, args[0])
			if err == nil {
				a.Note("imported %d tokens from %s", n, args[0])
			}
			return err
		},
	}
}

func importTokens(ctx context.Context, issuer *token.Issuer, path string) (int, error) {
	tokens, err := token.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return issuer.Import(ctx, tokens)
}

// TakeOverTokens imports the token file of an earlier version in the directory, once.
func TakeOverTokens(ctx context.Context, a *cli.App) {
	path := filepath.Join(a.Dir, "tokens.json")
	if _, err := os.Stat(path); err != nil {
		return
	}
	issuer, end, err := issuer(a)
	if err == nil {
		defer end()
		_, err = importTokens(ctx, issuer, path)
	}
	if err == nil {
		err = os.Rename(path, path+".imported")
	}
	if err != nil && ctx.Err() == nil {
		a.Note("askbus: the tokens in %s could not be imported: %v; run \"askbus token import\"", path, err)
	}
}
