// Package openid signs people in at a provider that speaks OpenID Connect: the
// code flow with PKCE, state and nonce, refresh, and back-channel logout.
//
// It decides how a provider's claims map to a principal, a name and groups,
// and, by [auth.Rules], to access. It leaves cookies and sessions to its
// callers. It trusts no part of a token before it has checked its signature,
// issuer, audience, times and nonce.
package openid

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Defaults of [Options].
const (
	defaultLife           = 12 * time.Hour
	defaultGroupsClaim    = "groups"
	defaultPrincipalClaim = "sub"
)

const (
	callTimeout = 10 * time.Second
	maxReply    = 1 << 20 // bytes of one reply of the provider
)

// Options tunes a [Provider]. Issuer, ClientID, Redirect and Rules are required.
type Options struct {
	Name         string // for the button; default: the issuer's host
	Issuer       string
	ClientID     string
	ClientSecret string   // empty: a public client
	Scopes       []string // default: openid, profile, email
	Redirect     string   // where the provider sends people back

	GroupsClaim    string // or a path such as realm_access.roles; default: groups
	PrincipalClaim string // makes "oidc:<issuer>#<value>"; default: sub
	Rules          *auth.Rules
	Life           time.Duration // maximum, of a session; default 12h

	Logger *slog.Logger // default: discard
}

// Provider is an [auth.Provider] over OpenID Connect.
type Provider struct {
	opts Options
	http *http.Client

	mu    sync.Mutex
	known *discovered
}

var _ auth.Provider = (*Provider)(nil)

// discovered is the provider's discovery document.
type discovered struct {
	*oidc.Provider
	verifier *oidc.IDTokenVerifier
	style    oauth2.AuthStyle // how the client's secret is sent
}

// New makes a provider. It sends nothing: an inbox must start even if the
// provider is down.
func New(opts Options) (*Provider, error) {
	issuer, err := url.Parse(opts.Issuer)
	switch {
	case err != nil || issuer.Host == "" || strings.ContainsAny(opts.Issuer, "#?,; \t") || issuer.Scheme != "https" && !plain(issuer):
		return nil, fmt.Errorf("invalid issuer %q: use https://…, exactly as the provider writes it", opts.Issuer)
	case opts.ClientID == "":
		return nil, errors.New("no client id: register this inbox at the provider")
	case opts.Redirect == "":
		return nil, errors.New("no redirect URL")
	case opts.Rules == nil:
		return nil, errors.New("no rules: everybody at the provider could sign in")
	}
	opts.Name = cmp.Or(opts.Name, issuer.Host)
	if len(opts.Scopes) == 0 {
		opts.Scopes = []string{oidc.ScopeOpenID, "profile", "email"}
	}
	if !slices.Contains(opts.Scopes, oidc.ScopeOpenID) {
		return nil, errors.New(`the scopes lack "openid"`)
	}
	opts.GroupsClaim = cmp.Or(opts.GroupsClaim, defaultGroupsClaim)
	opts.PrincipalClaim = cmp.Or(opts.PrincipalClaim, defaultPrincipalClaim)
	opts.Life = cmp.Or(opts.Life, defaultLife)
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	return &Provider{opts: opts, http: &http.Client{Timeout: callTimeout, Transport: bounded{http.DefaultTransport}, CheckRedirect: noRedirect}}, nil
}

// plain reports whether the provider runs on this machine, which needs no TLS.
func plain(u *url.URL) bool {
	return u.Scheme == "http" && httpserver.LoopbackHost(u.Host)
}

// noRedirect keeps codes and secrets at the provider's own address.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// bounded limits the size of a reply, and refuses addresses without TLS, which a
// discovery document may name: codes and secrets go there.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && !plain(r.URL) {
		return nil, fmt.Errorf("the provider names the address %s, which is not https", r.URL.Redacted())
	}
	res, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, maxReply), res.Body}
	}
	return res, err
}

// Name returns the provider's display name.
func (p *Provider) Name() string { return p.opts.Name }

// discover fetches the discovery document until that has succeeded once.
func (p *Provider) discover(ctx context.Context) (*discovered, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known != nil {
		return p.known, nil
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.http), callTimeout)
	defer cancel()
	found, err := oidc.NewProvider(ctx, p.opts.Issuer)
	if err != nil {
		return nil, fmt.Errorf("read the sign-in provider's discovery document: %w", err)
	}
	var about struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := found.Claims(&about); err != nil {
		return nil, fmt.Errorf("read the sign-in provider's discovery document: %w", err)
	}
	p.known = &discovered{found, found.Verifier(&oidc.Config{ClientID: p.opts.ClientID}), oauth2.AuthStyleInHeader}
	if p.opts.ClientSecret == "" || len(about.Methods) > 0 && !slices.Contains(about.Methods, "client_secret_basic") {
		p.known.style = oauth2.AuthStyleInParams
	}
	return p.known, nil
}

// Run reads the discovery document before the first person signs in, and logs if it cannot be read.
func (p *Provider) Run(ctx context.Context) error {
	if _, err := p.discover(ctx); err != nil && ctx.Err() == nil {
		p.opts.Logger.WarnContext(ctx, "nobody can sign in at the provider until it answers; each sign-in tries again", slog.Any("error", err))
	}
	<-ctx.Done()
	return nil
}

func (p *Provider) oauth(d *discovered) *oauth2.Config {
	endpoint := d.Endpoint()
	endpoint.AuthStyle = d.style // detecting the style by trial would use up codes
	return &oauth2.Config{
		ClientID: p.opts.ClientID, ClientSecret: p.opts.ClientSecret, Endpoint: endpoint, RedirectURL: p.opts.Redirect, Scopes: p.opts.Scopes,
	}
}

// Begin returns the URL to which the browser goes.
func (p *Provider) Begin(ctx context.Context, f auth.Flow) (string, error) {
	d, err := p.discover(ctx)
	if err != nil {
		return "", err
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)}
	var prompt []string // what OpenID Connect Core demands of every provider (15.1)
	if f.Login {
		prompt = append(prompt, "login")
	}
	if slices.Contains(p.opts.Scopes, oidc.ScopeOfflineAccess) {
		prompt = append(prompt, "consent") // otherwise the scope may be ignored
	}
	if len(prompt) > 0 {
		options = append(options, oauth2.SetAuthURLParam("prompt", strings.Join(prompt, " ")))
	}
	return p.oauth(d).AuthCodeURL(f.State, options...), nil
}

// Finish returns the person who came back with a code.
func (p *Provider) Finish(ctx context.Context, f auth.Flow, code string) (auth.SignIn, error) {
	d, err := p.discover(ctx)
	if err != nil {
		return auth.SignIn{}, err
	}
	ctx = oidc.ClientContext(ctx, p.http)
	tokens, err := p.oauth(d).Exchange(ctx, code, oauth2.VerifierOption(f.Verifier))
	if refused(err) {
		return auth.SignIn{}, auth.Tell(ask.CodeInvalid, "the provider refused this code: %s", ask.CleanLine(err.Error()))
	}
	if err != nil {
		return auth.SignIn{}, fmt.Errorf("ask the sign-in provider for tokens: %w", err)
	}
	id, err := p.verified(ctx, d, tokens)
	if err != nil {
		return auth.SignIn{}, err
	}
	if f.Nonce == "" || id.Nonce != f.Nonce {
		return auth.SignIn{}, auth.Tell(ask.CodeInvalid, "the provider's token belongs to another sign-in: its nonce differs")
	}
	claims, err := p.claims(ctx, d, tokens, id)
	if err != nil {
		return auth.SignIn{}, err
	}
	person, err := p.person(claims)
	if err != nil {
		return auth.SignIn{}, err
	}
	return auth.SignIn{
		Person: person, Until: time.Now().Add(p.opts.Life),
		Issuer: p.opts.Issuer, Subject: id.Subject, Session: claims.One("sid"), Token: tokens.RefreshToken,
	}, nil
}

// refused reports whether err is a refusal by the provider.
func refused(err error) bool {
	e, ok := errors.AsType[*oauth2.RetrieveError](err)
	return ok && e.ErrorCode == "invalid_grant"
}

// Refresh asks the provider again whether a person may stay signed in.
func (p *Provider) Refresh(ctx context.Context, token string) (auth.Refreshed, error) {
	d, err := p.discover(ctx)
	if err != nil {
		return auth.Refreshed{}, err
	}
	ctx = oidc.ClientContext(ctx, p.http)
	tokens, err := p.oauth(d).TokenSource(ctx, &oauth2.Token{RefreshToken: token}).Token()
	if refused(err) {
		return auth.Refreshed{}, ask.Refuse(ask.CodeForbidden, "the provider has ended this sign-in")
	}
	if err != nil {
		return auth.Refreshed{}, fmt.Errorf("ask the sign-in provider again: %w", err)
	}
	got := auth.Refreshed{Token: tokens.RefreshToken}
	var id *oidc.IDToken
	if tokens.Extra("id_token") != nil {
		if id, err = p.verified(ctx, d, tokens); err != nil {
			return got, ask.Refuse(ask.CodeForbidden, "%s", err.Error())
		}
	}
	claims, err := p.claims(ctx, d, tokens, id)
	if err != nil {
		return got, err
	}
	got.Person, err = p.person(claims)
	return got, err
}

// verified checks the ID token: signature, issuer, audience and times.
func (p *Provider) verified(ctx context.Context, d *discovered, tokens *oauth2.Token) (*oidc.IDToken, error) {
	raw, _ := tokens.Extra("id_token").(string)
	if raw == "" {
		return nil, auth.Tell(ask.CodeInvalid, "the provider gives no ID token; does it know the scope openid?")
	}
	id, err := d.verifier.Verify(ctx, raw)
	if err != nil {
		return nil, auth.Tell(ask.CodeInvalid, "the provider's token is not valid: %s", ask.CleanLine(err.Error()))
	}
	var body json.RawMessage
	if err := id.Claims(&body); err != nil {
		return nil, auth.Tell(ask.CodeInvalid, "the claims of the provider's token cannot be read")
	}
	if err := assertion.CheckTimes(body, time.Now()); err != nil {
		return nil, auth.Tell(ask.CodeInvalid, "the provider's token is not valid: %s", err.Error())
	}
	var more struct {
		AZP string `json:"azp"`
	}
	if err := id.Claims(&more); err != nil || len(id.Audience) > 1 && more.AZP != p.opts.ClientID || more.AZP != "" && more.AZP != p.opts.ClientID {
		return nil, auth.Tell(ask.CodeInvalid, "the provider's token is for another client")
	}
	return id, nil
}

// Logout reads a message that somebody has signed out at the provider.
func (p *Provider) Logout(ctx context.Context, token string) (auth.Logout, error) {
	d, err := p.discover(ctx)
	if err != nil {
		return auth.Logout{}, err
	}
	t, err := d.verifier.VerifyLogout(oidc.ClientContext(ctx, p.http), token)
	if err != nil {
		return auth.Logout{}, ask.Refuse(ask.CodeInvalid, "this logout token is not valid: %s", ask.CleanLine(err.Error()))
	}
	var body json.RawMessage
	err = assertion.Unverified(token, &body) // it is verified above
	if err == nil {
		err = assertion.CheckTimes(body, time.Now())
	}
	if err != nil {
		return auth.Logout{}, ask.Refuse(ask.CodeInvalid, "this logout token is not valid: %s", err)
	}
	if t.IssuedAt.IsZero() || t.Subject == "" && t.SessionID == "" {
		return auth.Logout{}, ask.Refuse(ask.CodeInvalid, "this logout token lacks a session or the time of issue")
	}
	return auth.Logout{Issuer: p.opts.Issuer, Subject: t.Subject, Session: t.SessionID, Issued: t.IssuedAt}, nil
}
