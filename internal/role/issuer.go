package role

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/process/daemon"
	"github.com/askbus/askbus/internal/server/exchange"
	"github.com/askbus/askbus/internal/server/kube"
	"github.com/askbus/askbus/internal/server/revocations"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
)

// issuerSettings are the settings of "askbus issuer".
type issuerSettings struct {
	config.Issuer
	OpsAddr string `split_words:"true" default:"127.0.0.1:0" desc:"address of /healthz, /readyz and /metrics"`
	keyOf   string
}

// IssuerCmd is "askbus issuer".
func IssuerCmd(a *cli.App) *cobra.Command {
	var s issuerSettings
	cmd := &cobra.Command{
		Use: "issuer", Short: "Exchange tokens of service accounts, OIDC issuers and the API for NATS credentials", Args: cobra.NoArgs,
		Example: "  askbus issuer --rules issuer.yaml",
		Long: `Exchanges tokens for NATS credentials, for the gateways of a bus ("askbus up" does it itself).
A gateway sends the token of a POST to /v1/credentials here. This process verifies it, decides
by the rules file which credential it is exchanged for, signs that with the keys in --dir, and
records it in the list ("askbus auth list"). Terminals that signed in with "askbus login
URL" also get theirs from here, and lose it when they sign out.

Only this process needs the keys; gateways do not. Without a rules file, only API tokens
are exchanged. The rules file is read again when it changes.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s.keyOf != "" {
				if err := rights.ShareKey(s.keyOf, a.Dir); err != nil {
					return fmt.Errorf("--key-of: %w", err)
				}
			}
			r := NewRunning(cmd.Context(), a)
			defer r.Close()
			keys, _, err := a.Keys()
			if err != nil {
				return err
			}
			nc, url, err := r.issuer(keys, s.Issuer)
			if err != nil {
				return err
			}
			r.parts = append(r.parts, daemon.Part{Name: "revocations", Run: r.tellServers})
			return r.serve(cmd.Context(), "issuer", s.OpsAddr, connected(nc), "issuer on "+url)
		},
	}
	cli.Load(&s, cmd)
	opsFlag(cmd, &s.OpsAddr)
	cmd.Flags().StringVar(&s.keyOf, "key-of", "", "directory from which to copy the keys at start, on the same machine")
	issuerFlags(&s.Issuer, cmd)
	return cmd
}

func issuerFlags(i *config.Issuer, cmd *cobra.Command) {
	cmd.Flags().StringVar(&i.Issuer.Rules, "rules", i.Issuer.Rules, "rules file (YAML): which tokens are exchanged for which credentials")
}

// issuer adds the part that swaps tokens for credentials, and returns its connection and its server's URL.
func (r *Process) issuer(keys *rights.Issuer, s config.Issuer) (*nats.Conn, string, error) {
	source, err := exchange.Open(s.Issuer.Rules, tokenReviews(exchange.SourceOptions{Logger: r.Log}))
	if err != nil {
		return nil, "", cli.Usage("--rules: %w", err)
	}
	cred, err := r.credential(rights.Role{Name: rights.RoleIssuer})
	if err != nil {
		return nil, "", err
	}
	nc, err := r.connect(cred)
	if err != nil {
		return nil, "", err
	}
	tokens := token.NewChecker(nc, r.Log)
	count, report := r.metrics.Exchanges(), exchangeRefusals(r.reports(nc, "issuer", audit.Issuer()))
	terminals := auth.NewTerminals(nc, time.Now, r.Log)
	i := exchange.New(nc, exchange.Options{
		Source: source, Logger: r.Log, Verifier: keys.Verifier(),
		Refused: func(what string, p exchange.Proof, e *ask.Error) {
			count(e.Code)
			report(what, p, e)
		},
		Person: func(ctx context.Context, of, terminal, tenant string) (exchange.Person, error) {
			p, err := terminals.Person(ctx, of, terminal)
			if err != nil {
				return exchange.Person{}, err
			}
			tenant, err = auth.TerminalTenant(p.Access, tenant)
			return exchange.Person{By: p.By, Tenant: tenant}, err
		},
		Tokens: func(ctx context.Context, secret string) (exchange.Proof, error) { return apiToken(ctx, tokens, secret) },
		Sign: func(g exchange.Grant, address string) ([]byte, string, error) {
			address = cmp.Or(address, cred.URL)
			role := rights.Role{Name: g.Role, Type: g.Type, Tenant: g.Tenant, Session: g.Session}
			c, err := keys.HandOut(address, role, g.May, g.Life, g.Note)
			if err != nil {
				return nil, "", err
			}
			who, err := connection.Identify(c.Creds)
			if err != nil {
				return nil, "", err
			}
			body, err := json.Marshal(client.Credential(r.a.CarryTrust(c)))
			return body, who.User, err
		},
	})
	r.parts = append(r.parts, daemon.Part{Name: "issuer", Run: i.Run}, daemon.Part{Name: "sign-ins of terminals", Run: terminals.Run}, daemon.Part{Name: "API tokens", Run: tokens.Run},
		daemon.Part{Name: "ends of sign-ins and tokens", Run: func(ctx context.Context) error { return r.revokeEnded(ctx, keys.Dir(), terminals, tokens) }},
		daemon.Part{Name: "audit of credentials", Run: newCredentialAudit(keys.Dir(), nc, r.Log).Run},
		daemon.Part{Name: "audit of maintenance", Run: newMaintenanceAudit(keys.Dir(), nc, r.Log).Run})
	return nc, cred.URL, nil
}

// tellServers lets an issuer with a directory of its own and the servers tell each other what they have revoked,
// until ctx ends. Servers with accounts of an older version refuse the connection until they are started again.
func (r *Process) tellServers(ctx context.Context) error {
	for try := 0; ctx.Err() == nil; try++ {
		nc, err := r.dialServers()
		if err == nil {
			defer nc.Close()
			p, err := revocations.Follow(nc, r.a.Dir, revocations.Every, r.Log)
			if err == nil {
				<-ctx.Done()
				p.Close()
			}
			return err
		}
		if try == 0 {
			r.Log.Warn("cannot tell the servers what is revoked here: trying again", slog.Any("error", err))
		}
		_ = backoff.Wait(ctx, time.Second, try) // the loop looks at ctx
	}
	return nil
}

// dialServers connects to the account of the servers, to tell them what is revoked.
func (r *Process) dialServers() (*nats.Conn, error) {
	cred, err := r.a.Local(rights.Role{Name: rights.RoleRevocations})
	if err != nil {
		return nil, err
	}
	return r.dial(cred)
}

// tokenReviews lets the API server of this pod's cluster review tokens. Outside a
// pod, and in one without a token for the API server, it changes nothing.
func tokenReviews(opts exchange.SourceOptions) exchange.SourceOptions {
	api, err := kube.New(kube.Dir, os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
	if err != nil {
		return opts // rules that want reviews are refused then
	}
	opts.ReviewKeys = api.Keys
	opts.Review = func(ctx context.Context, token, audience string) (exchange.Review, error) {
		r, err := api.Review(ctx, token, audience)
		return exchange.Review{Authenticated: r.Authenticated, Audiences: r.Audiences, User: r.User.Name, Groups: r.User.Groups, Extra: r.User.Extra}, err
	}
	return opts
}

// apiToken returns what an API token proves to the issuer.
func apiToken(ctx context.Context, tokens *token.Checker, secret string) (exchange.Proof, error) {
	now := time.Now()
	t, err := tokens.Check(ctx, secret, token.NATS, now)
	switch {
	case err != nil:
		return exchange.Proof{}, err
	case t.Role != token.Agent:
		return exchange.Proof{}, ask.Refuse(ask.CodeForbidden, "this token has the role %s; only tokens of the role agent are swapped for credentials", t.Role)
	}
	expires := t.Expires
	if expires.IsZero() {
		expires = now.Add(token.DefaultLife)
	}
	return exchange.Token(t.ID, t.Tenant, t.Sessions, t.Asker, expires), nil
}
