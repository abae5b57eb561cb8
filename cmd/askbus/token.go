package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/askbus/askbus/internal/config"
	"github.com/askbus/askbus/internal/gateway/token"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// tokensFile is the file of tokens for the HTTP doors.
func (a *app) tokensFile(d config.Doors) *token.File {
	path := d.TokensFile
	if path == "" {
		path = filepath.Join(a.Dir, "tokens.json")
	}
	return token.Open(path)
}

func (a *app) tokenCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "token", Short: "Issue, list and revoke bearer tokens for the HTTP doors", Args: cobra.NoArgs,
		Long: `Bearer tokens for the HTTP and WebSocket doors lie in a file (ASKBUS_TOKENS_FILE, else
tokens.json in --dir), which holds only their hashes. A running gateway sees a change
at once; replicas may share the file.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.tokenIssueCmd(), a.tokenListCmd(), a.tokenRevokeCmd())
	return cmd
}

func (a *app) tokenIssueCmd() *cobra.Command {
	var d config.Doors
	var role string
	var sessions []string
	var expires time.Duration
	var t token.Token
	cmd := &cobra.Command{
		Use: "issue", Short: "Make a token, and show it this once", Args: cobra.NoArgs,
		Long: `Makes a token and prints it. It is not shown again.

  agent       asks, and reads its own asks; never answers
  screen      answers for the sessions that --session names
  responder   answers for every session of --tenant
  operator    asks and answers in every tenant

Agents and screens have --session: a name, "name*", or "*" for every session of the
tenant (what an agent has when none is given).`,
		Example: `  askbus token issue --role agent --session build-42 --expires 24h
  askbus token issue --role screen --session build-42 --principal oidc:mei --name Mei --groups platform`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t.Role, t.Tenant = token.Role(role), a.Tenant
			if !cmd.Flags().Changed("session") && a.session != "" && (t.Role == token.Agent || t.Role == token.Screen) {
				sessions = []string{a.session}
			}
			for _, s := range sessions {
				if !strings.HasSuffix(s, token.Every) {
					s = ask.Token(s)
				}
				t.Sessions = append(t.Sessions, s)
			}
			if t.Role == token.Agent && len(t.Sessions) == 0 {
				t.Sessions = []string{token.Every}
			}
			t.Created = time.Now().UTC().Truncate(time.Second)
			if expires < 0 {
				return usage("--expires is %s; give a duration such as 720h, or 0 for never", expires)
			}
			if expires > 0 {
				t.Expires = t.Created.Add(expires)
			}
			if err := t.Validate(); err != nil {
				return &exitError{exitUsage, err}
			}
			made, secret, err := a.tokensFile(d).Issue(t)
			if err != nil {
				return err
			}
			return a.tellToken(&made, secret)
		},
	}
	load(&d, cmd)
	f := cmd.Flags()
	f.StringVar(&role, "role", string(token.Agent), "agent, screen, responder or operator")
	f.StringSliceVar(&sessions, "session", nil, `sessions of an agent or a screen; "*" is every one`)
	f.DurationVar(&expires, "expires", 0, "how long it is good; 0 is for ever")
	f.StringVar(&t.Principal, "principal", "", "in whose name it answers (default: token:<id>)")
	f.StringVar(&t.Name, "name", "", "name to show beside what it answers")
	f.StringSliceVar(&t.Groups, "groups", nil, "groups of who answers with it, for audiences")
	return cmd
}

func (a *app) tellToken(t *token.Token, secret string) error {
	if a.json() {
		return json.NewEncoder(a.out).Encode(struct {
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
	ID        string     `json:"id"`
	Role      token.Role `json:"role"`
	Tenant    string     `json:"tenant"`
	Sessions  []string   `json:"sessions,omitempty"`
	Principal string     `json:"principal,omitempty"`
	Name      string     `json:"name,omitempty"`
	Groups    []string   `json:"groups,omitempty"`
	Created   time.Time  `json:"created"`
	Expires   *time.Time `json:"expires,omitempty"`
}

func rowOf(t *token.Token) tokenRow {
	r := tokenRow{t.ID, t.Role, t.Tenant, t.Sessions, t.Principal, t.Name, t.Groups, t.Created, nil}
	if !t.Expires.IsZero() {
		r.Expires = &t.Expires
	}
	return r
}

func until(t *token.Token) string {
	if t.Expires.IsZero() {
		return ""
	}
	return ", until " + t.Expires.Local().Format("2 Jan 2006 15:04")
}

func (a *app) tokenListCmd() *cobra.Command {
	var d config.Doors
	cmd := &cobra.Command{
		Use: "list", Short: "List the tokens, without their secrets", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			tokens, err := a.tokensFile(d).List()
			if err != nil {
				return err
			}
			if a.json() {
				rows := make([]tokenRow, len(tokens))
				for i := range tokens {
					rows[i] = rowOf(&tokens[i])
				}
				return json.NewEncoder(a.out).Encode(rows)
			}
			w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "ID\tROLE\tSCOPE\tEXPIRES")
			for i := range tokens {
				t := &tokens[i]
				expires := "never"
				if !t.Expires.IsZero() {
					expires = t.Expires.Local().Format("2006-01-02 15:04")
				}
				if t.Expired(time.Now()) {
					expires += " (expired)"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.ID, t.Role, t.Scope(), expires)
			}
			return w.Flush()
		},
	}
	load(&d, cmd)
	return cmd
}

func (a *app) tokenRevokeCmd() *cobra.Command {
	var d config.Doors
	cmd := &cobra.Command{
		Use: "revoke ID", Short: "Take a token away; it opens nothing from then on", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			t, err := a.tokensFile(d).Revoke(args[0])
			if err != nil {
				return err
			}
			a.say("token %s is revoked: it %s", t.ID, t.Scope())
			return nil
		},
	}
	load(&d, cmd)
	return cmd
}
