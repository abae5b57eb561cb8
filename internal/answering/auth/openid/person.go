package openid

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"unicode/utf8"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// claims returns the provider's claims about a person: from the ID token, and
// from its userinfo endpoint, which often has more.
func (p *Provider) claims(ctx context.Context, d *discovered, tokens *oauth2.Token, id *oidc.IDToken) (auth.Claims, error) {
	claims := auth.Claims{}
	if id != nil {
		if err := exactly(id.Claims, &claims); err != nil {
			return nil, auth.Tell(ask.CodeInvalid, "the provider's token cannot be read: %s", ask.CleanLine(err.Error()))
		}
	}
	if d.UserInfoEndpoint() == "" || tokens.AccessToken == "" {
		if id == nil {
			return nil, fmt.Errorf("the sign-in provider %s has no claims about a person after a refresh", p.opts.Name)
		}
		return claims, nil
	}
	info, err := d.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if err != nil {
		return nil, fmt.Errorf("read the sign-in provider's userinfo: %w", err)
	}
	if id != nil && info.Subject != id.Subject {
		return nil, auth.Tell(ask.CodeInvalid, "the provider's token and its userinfo are about different people")
	}
	more := auth.Claims{}
	if err := exactly(info.Claims, &more); err != nil {
		return nil, auth.Tell(ask.CodeInvalid, "the provider's userinfo cannot be read: %s", ask.CleanLine(err.Error()))
	}
	if address, signed := claims["email"]; !signed {
		delete(claims, "email_verified") // each of the two is about its own address
	} else if address != more["email"] {
		delete(more, "email_verified")
	}
	for name, value := range more {
		if _, signed := claims[name]; !signed { // signed claims win
			claims[name] = value
		}
	}
	return claims, nil
}

// exactly decodes claims with their numbers as they are written: two long
// numeric ids must not become one.
func exactly(read func(any) error, claims *auth.Claims) error {
	var body json.RawMessage
	if err := read(&body); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	return d.Decode(claims)
}

// principal returns whom a value of the principal claim names: a subject is a name at its issuer only, and so is the
// address that a provider vouches for. An issuer has no fragment, so the first # ends it.
func (p *Provider) principal(value string) string {
	_, issuer, _ := strings.Cut(p.opts.Issuer, "://")
	return ask.ProofOIDC + ":" + issuer + "#" + value
}

// person maps claims to a person and their access.
func (p *Provider) person(claims auth.Claims) (auth.Person, error) {
	value := claims.One(p.opts.PrincipalClaim)
	switch {
	case value == "" && p.opts.PrincipalClaim == "email":
		return auth.Person{}, auth.Tell(ask.CodeForbidden, "the provider has no verified e-mail address of yours")
	case value == "":
		return auth.Person{}, auth.Tell(ask.CodeForbidden, "the provider's claims about you lack %s", p.opts.PrincipalClaim)
	case value != ask.CleanLine(value) || strings.ContainsAny(value, " \t") || utf8.RuneCountInString(p.principal(value)) > ask.MaxName:
		return auth.Person{}, auth.Tell(ask.CodeForbidden, "your %s at the provider cannot be a principal", p.opts.PrincipalClaim)
	}
	by := ask.By{Principal: p.principal(value), Proof: ask.ProofOIDC}
	by.Name = fmt.Sprintf("%.*s", ask.MaxName, ask.CleanLine(cmp.Or(claims.One("name"), claims.One("preferred_username"), claims.One("email"), value)))
	for _, g := range claims.All(p.opts.GroupsClaim) {
		if g != "" && g == ask.CleanLine(g) && utf8.RuneCountInString(g) <= ask.MaxName {
			by.Groups = append(by.Groups, g)
		}
	}
	if len(by.Groups) > ask.MaxGroups {
		p.opts.Logger.Warn("a person has more groups than an answer can hold; the rest is dropped", slog.String("principal", by.Principal), slog.Int("groups", len(by.Groups)))
		by.Groups = by.Groups[:ask.MaxGroups]
	}
	access, err := p.opts.Rules.Access(claims)
	return auth.Person{By: by, Access: access}, err
}
