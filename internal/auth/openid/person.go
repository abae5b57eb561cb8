package openid

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"unicode/utf8"

	"github.com/askbus/askbus/internal/auth"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// claims is everything that the provider says of a person: in the ID token, and
// at its userinfo endpoint, where many say more.
func (p *Provider) claims(ctx context.Context, d *discovered, tokens *oauth2.Token, id *oidc.IDToken) (auth.Claims, error) {
	claims := auth.Claims{}
	if id != nil {
		if err := id.Claims(&claims); err != nil {
			return nil, ask.Refuse(ask.CodeInvalid, "the provider's token cannot be read: %s", ask.CleanLine(err.Error()))
		}
	}
	if d.UserInfoEndpoint() == "" || tokens.AccessToken == "" {
		if id == nil {
			return nil, fmt.Errorf("the sign-in provider %s says nothing of a person when it is asked again", p.opts.Name)
		}
		return claims, nil
	}
	info, err := d.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if err != nil {
		return nil, fmt.Errorf("ask the sign-in provider who somebody is: %w", err)
	}
	if id != nil && info.Subject != id.Subject {
		return nil, ask.Refuse(ask.CodeInvalid, "the provider's token and its userinfo are of different people")
	}
	more := auth.Claims{}
	if err := info.Claims(&more); err != nil {
		return nil, ask.Refuse(ask.CodeInvalid, "the provider's userinfo cannot be read: %s", ask.CleanLine(err.Error()))
	}
	for name, value := range more {
		if _, signed := claims[name]; !signed { // what is signed counts
			claims[name] = value
		}
	}
	return claims, nil
}

// person is who somebody with these claims is here, and what they may see.
func (p *Provider) person(claims auth.Claims) (auth.Person, error) {
	value := claims.One(p.opts.PrincipalClaim)
	switch {
	case value == "" && p.opts.PrincipalClaim == "email":
		return auth.Person{}, ask.Refuse(ask.CodeForbidden, "the provider names no e-mail address of yours that it has verified")
	case value == "":
		return auth.Person{}, ask.Refuse(ask.CodeForbidden, "the provider does not say your %s", p.opts.PrincipalClaim)
	case value != ask.CleanLine(value) || strings.ContainsAny(value, " \t") || utf8.RuneCountInString(value) > ask.MaxName-len("oidc:"):
		return auth.Person{}, ask.Refuse(ask.CodeForbidden, "the provider's %s of yours cannot be a principal", p.opts.PrincipalClaim)
	}
	by := ask.By{Principal: "oidc:" + value, Proof: ask.ProofOIDC}
	by.Name = clip(ask.CleanLine(cmp.Or(claims.One("name"), claims.One("preferred_username"), claims.One("email"), value)))
	for _, g := range claims.All(p.opts.GroupsClaim) {
		if g != "" && g == ask.CleanLine(g) && utf8.RuneCountInString(g) <= ask.MaxName {
			by.Groups = append(by.Groups, g)
		}
	}
	if len(by.Groups) > ask.MaxGroups {
		p.opts.Logger.Warn("a person is in more groups than an answer can name; the rest is left out", slog.String("principal", by.Principal), slog.Int("groups", len(by.Groups)))
		by.Groups = by.Groups[:ask.MaxGroups]
	}
	access, err := p.opts.Rules.Access(claims)
	return auth.Person{By: by, Access: access}, err
}

func clip(s string) string {
	if r := []rune(s); len(r) > ask.MaxName {
		return string(r[:ask.MaxName])
	}
	return s
}
