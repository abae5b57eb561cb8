package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/askbus/askbus/internal/gateway/token"
	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// issuer connects with the operator's credential of the directory, or that of
// the settings.
func (a *app) issuer() (_ *token.Issuer, end func(), err error) {
	b, err := a.dialOperator()
	if err != nil {
		return nil, nil, err
	}
	if b.role.Name != "" && b.role.Name != natsd.RoleOperator {
		b.nc.Close()
		return nil, nil, fmt.Errorf("only operators issue, list and revoke tokens; this credential is of %s", b.cred.Name)
	}
	return token.NewIssuer(b.nc), b.nc.Close, nil
}

func (a *app) tokenCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "token", Short: "Issue, list and revoke bearer tokens for the HTTP doors", Args: noCommand,
		Example: "  askbus token issue --session build-42",
		Long: `Bearer tokens for the HTTP and WebSocket doors lie on the bus, which holds only their
hashes. Every gateway sees a change within a second, and ends what a revoked token opened.
The bus must be running, and the credential be an operator's: that of --dir is.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.tokenIssueCmd(), a.tokenListCmd(), a.tokenRevokeCmd(), a.tokenImportCmd())
	return cmd
}

func (a *app) tokenIssueCmd() *cobra.Command {
	var role string
	var sessions, doors []string
	var expires time.Duration
	var t token.Token
	cmd := &cobra.Command{
		Use: "issue", Short: "Make a token, and show it this once", Args: cobra.NoArgs,
		Long: `Makes a token and prints it. It is not shown again.

  agent       asks, and reads its own asks; never answers
  host        beside an agent's token: what the dialog of the agent's host answered
              in the one --session; for the process that shows the dialog only
  screen      answers for the sessions that --session names
  responder   answers for every session of --tenant
  operator    asks and answers in every tenant

Agents and screens have --session: a name, "name*", or "*" for every session of the
tenant (what an agent has when none is given). People answer with screens, responders
and operators: only these have a --principal of a person. A host's is the user who runs
it, os:<user>.`,
		Example: `  askbus token issue --role agent --session build-42 --expires 24h
  askbus token issue --role screen --session build-42 --principal oidc:mei --name Mei --groups platform`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t.Role, t.Tenant = token.Role(role), a.Tenant
			if !cmd.Flags().Changed("session") && a.session != "" && (t.Role == token.Agent || t.Role == token.Host || t.Role == token.Screen) {
				sessions = []string{a.session}
			}
			for _, s := range sessions {
				if strings.ContainsAny(strings.TrimSuffix(s, token.Every), "*>") { // somebody means a pattern; none is what its name would be mapped to
					return usage("invalid session %q: use A-Z a-z 0-9 _ -, and * at the end only", s)
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
				t.Principal = sitting().Principal
			}
			t.Created = time.Now().UTC().Truncate(time.Second)
			if expires < time.Second || expires > token.MostLife {
				return usage("--expires is %s; use 1s to %s", expires, token.MostLife)
			}
			t.Expires = t.Created.Add(expires)
			for _, d := range doors {
				t.Doors = append(t.Doors, token.Door(d))
			}
			if err := t.Validate(); err != nil {
				return &exitError{exitUsage, err}
			}
			issuer, end, err := a.issuer()
			if err != nil {
				return err
			}
			defer end()
			made, secret, err := issuer.Issue(cmd.Context(), t)
			if err != nil {
				return err
			}
			return a.tellToken(&made, secret)
		},
	}
	f := cmd.Flags()
	f.StringVar(&role, "role", string(token.Agent), "agent, host, screen, responder or operator")
	f.StringSliceVar(&sessions, "session", nil, `sessions of an agent or a screen; "*" is every one; the one of a host`)
	f.DurationVar(&expires, "expires", token.DefaultLife, "how long it is good")
	f.StringSliceVar(&doors, "doors", nil, "where it counts: http, ws, mcp, hook, nats, a2a (default: everywhere)")
	f.StringVar(&t.Principal, "principal", "", "in whose name it answers (default: token:<id>; of a host: os:<user>)")
	f.StringVar(&t.Name, "name", "", "name to show beside what it answers")
	f.StringSliceVar(&t.Groups, "groups", nil, "groups of who answers with it, for audiences")
	return cmd
}

func (a *app) tellToken(t *token.Token, secret string) error {
	if a.json() {
		return json.NewEncoder(cleanJSON{a.out}).Encode(struct {
			Token string `json:"token"`
			tokenRow
		}{secret, rowOf(t)})
	}
	fmt.Fprintln(a.out, secret)
	a.say("token %s %s%s; it is not shown again", t.ID, t.Scope(), until(t))
	return nil
}

// tokenRow is a token as lists show it: nothing that opens a door.
type tokenRow struct {
	ID        string       `json:"id"`
	Role      token.Role   `json:"role"`
	Tenant    string       `json:"tenant"`
	Sessions  []string     `json:"sessions,omitempty"`
	Principal string       `json:"principal,omitempty"`
	Name      string       `json:"name,omitempty"`
	Groups    []string     `json:"groups,omitempty"`
	Doors     []token.Door `json:"doors,omitempty"`
	Created   time.Time    `json:"created"`
	Expires   *time.Time   `json:"expires,omitempty"`
	Used      *time.Time   `json:"used,omitempty"` // last, to a minute
}

func rowOf(t *token.Token) tokenRow {
	r := tokenRow{t.ID, t.Role, t.Tenant, t.Sessions, t.Principal, t.Name, t.Groups, t.Doors, t.Created, nil, nil}
	if !t.Expires.IsZero() {
		r.Expires = &t.Expires
	}
	return r
}

func doorsOf(t *token.Token) string {
	if len(t.Doors) == 0 {
		return "all"
	}
	names := make([]string, len(t.Doors))
	for i, d := range t.Doors {
		names[i] = string(d)
	}
	return strings.Join(names, ", ")
}

func until(t *token.Token) string {
	if t.Expires.IsZero() {
		return ""
	}
	return ", until " + t.Expires.Local().Format("2 Jan 2006 15:04")
}

func (a *app) tokenListCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the tokens, without their secrets", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			issuer, end, err := a.issuer()
			if err != nil {
				return err
			}
			defer end()
			tokens, err := issuer.List(cmd.Context())
			if err != nil {
				return err
			}
			if a.json() {
				rows := make([]tokenRow, len(tokens))
				for i := range tokens {
					rows[i] = rowOf(&tokens[i].Token)
					if !tokens[i].Last.IsZero() {
						rows[i].Used = &tokens[i].Last
					}
				}
				return json.NewEncoder(cleanJSON{a.out}).Encode(rows)
			}
			w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "ID\tROLE\tSCOPE\tDOORS\tEXPIRES\tLAST USED")
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
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, t.Role, t.Scope(), doorsOf(t), expires, used)
			}
			return w.Flush()
		},
	}
	return cmd
}

func (a *app) tokenRevokeCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "revoke ID", Short: "Take a token away; what it opened ends within a second", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			issuer, end, err := a.issuer()
			if err != nil {
				return err
			}
			defer end()
			t, err := issuer.Revoke(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			a.say("token %s is revoked: it %s", t.ID, t.Scope())
			return nil
		},
	}
	return cmd
}

func (a *app) tokenImportCmd() *cobra.Command {
	return &cobra.Command{
		Use: "import FILE", Short: "Take over the tokens of a file, as earlier versions kept them", Args: cobra.ExactArgs(1),
		Example: "  askbus token import tokens.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			issuer, end, err := a.issuer()
			if err != nil {
				return err
			}
			defer end()
			n, err := importTokens(cmd.Context(), issuer, args[0])
			if err == nil {
				a.say("%d tokens are imported from %s", n, args[0])
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

// takeOverTokens imports the file of tokens that an earlier version left in the
// directory, once.
func (a *app) takeOverTokens(ctx context.Context) {
	path := filepath.Join(a.Dir, "tokens.json")
	if _, err := os.Stat(path); err != nil {
		return
	}
	issuer, end, err := a.issuer()
	if err == nil {
		defer end()
		_, err = importTokens(ctx, issuer, path)
	}
	if err == nil {
		err = os.Rename(path, path+".imported")
	}
	if err != nil && ctx.Err() == nil {
		a.say("askbus: the tokens in %s are not imported: %v; \"askbus token import\" does it", path, err)
	}
}
