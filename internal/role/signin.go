package role

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/answering/auth/openid"
	"github.com/askbus/askbus/internal/answering/auth/passkey"
	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/nats-io/nats.go"
)

// signIns are the sign-in methods of a web inbox, besides its login links.
type signIns struct {
	provider *openid.Provider
	passkeys *passkey.Keys
	proxy    *web.Proxy
}

// signIns makes the configured sign-in methods.
func (r *Process) signIns(nc *nats.Conn, tenant, base, pages string, w config.Web) (ways signIns, err error) {
	var rules *auth.Rules
	if w.Web.Rules != "" {
		if rules, err = auth.ReadRules(w.Web.Rules); err != nil {
			return ways, fmt.Errorf("ASKBUS_WEB_RULES: %w", err)
		}
	}
	if o := w.Web.OIDC; o.Issuer+o.ClientID+o.ClientSecret+o.ClientSecretFile != "" || len(o.AllowedGroups) > 0 {
		if ways.provider, err = r.provider(base, w, rules); err != nil {
			return ways, fmt.Errorf("ASKBUS_WEB_OIDC_…: %w", err)
		}
	}
	if p := w.Web.Proxy; p.Header != "" || len(p.Networks) > 0 || p.GroupsHeader != "" || p.NameHeader != "" || p.Realm != "" {
		ways.proxy = &web.Proxy{Header: p.Header, Groups: p.GroupsHeader, Name: p.NameHeader, Realm: p.Realm, Rules: rules}
		for _, n := range p.Networks {
			network, err := netip.ParsePrefix(strings.TrimSpace(n))
			if err != nil {
				return ways, fmt.Errorf("invalid network %q in ASKBUS_WEB_PROXY_NETWORKS: use one such as 10.0.0.5/32", n)
			}
			ways.proxy.Networks = append(ways.proxy.Networks, network.Masked())
		}
	}
	if rules != nil && ways.provider == nil && ways.proxy == nil {
		return ways, errors.New("ASKBUS_WEB_RULES needs a provider or a proxy, and neither is set")
	}
	if origin, err := passkey.Origin(pages); err == nil { // other origins have no passkeys
		if ways.passkeys, err = passkey.New(state.Open(nc, state.Responder("web", tenant), state.Passkeys), origin, r.Log); err != nil {
			return ways, err
		}
	}
	return ways, nil
}

func (r *Process) provider(base string, w config.Web, rules *auth.Rules) (*openid.Provider, error) {
	o := w.Web.OIDC
	secret, err := cli.SecretOf("CLIENT_SECRET", o.ClientSecret, o.ClientSecretFile)
	if err != nil {
		return nil, err
	}
	switch {
	case rules != nil && len(o.AllowedGroups) > 0:
		return nil, errors.New("ALLOWED_GROUPS and ASKBUS_WEB_RULES are both set; use one of them")
	case rules == nil && len(o.AllowedGroups) == 0:
		return nil, errors.New("set who may sign in: ASKBUS_WEB_RULES names a rules file, or ALLOWED_GROUPS names groups (* is everybody at the provider)")
	case rules == nil:
		rules = auth.GroupRules(o.GroupsClaim, o.AllowedGroups)
	}
	return openid.New(openid.Options{
		Name: o.Name, Issuer: o.Issuer, ClientID: o.ClientID, ClientSecret: secret, Scopes: o.Scopes, Redirect: base + web.ProviderPath,
		GroupsClaim: o.GroupsClaim, PrincipalClaim: o.PrincipalClaim, Rules: rules, Life: o.Life, Logger: r.Log,
	})
}

// into sets the sign-in methods of an inbox. A nil pointer must not become a non-nil interface.
func (s signIns) into(o *web.Options) {
	if s.provider != nil {
		o.Provider = s.provider
	}
	if s.passkeys != nil {
		o.Passkeys = s.passkeys
	}
	o.Proxy = s.proxy
}

// beginnings are sessions that signal each sign-in.
type beginnings struct {
	*auth.Sessions
	begun chan<- struct{}
}

// Begin signs somebody in.
func (b beginnings) Begin(ctx context.Context, in auth.SignIn) (id string, err error) {
	id, err = b.Sessions.Begin(ctx, in)
	select {
	case b.begun <- struct{}{}:
	default: // it is signalled already
	}
	return id, err
}

// tokenKey derives the key that seals the provider's tokens in shared state.
func tokenKey(cookieKey []byte) []byte {
	mac := hmac.New(sha256.New, cookieKey)
	mac.Write([]byte("askbus provider tokens v1"))
	return mac.Sum(nil)
}
