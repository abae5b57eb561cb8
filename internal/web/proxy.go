package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/askbus/askbus/internal/auth"
	"github.com/askbus/askbus/pkg/ask"
)

// Proxy is a proxy in front of the inbox that has signed people in and says who
// they are in a header. Requests from elsewhere that bear the header are those of
// strangers.
type Proxy struct {
	Header   string         // holds who it is, such as X-Forwarded-User
	Groups   string         // header that holds their groups, separated by commas; optional
	Name     string         // header that holds their name; optional
	Networks []netip.Prefix // where the proxy is; required
	Rules    *auth.Rules    // over the claims user, groups and email; nil: everything is allowed
}

func (p *Proxy) check() error {
	switch {
	case p == nil:
		return nil
	case p.Header == "":
		return errors.New("the proxy's networks are set, but not the header in which it says who somebody is (ASKBUS_WEB_PROXY_HEADER)")
	case len(p.Networks) == 0:
		return fmt.Errorf("the header %s is believed of nobody: say where the proxy is in ASKBUS_WEB_PROXY_NETWORKS, such as 10.0.0.5/32, else anybody could send that header", p.Header)
	}
	for _, n := range p.Networks {
		if !n.IsValid() || n.Bits() == 0 {
			return fmt.Errorf("invalid network %s in ASKBUS_WEB_PROXY_NETWORKS: everybody is in it; name the proxy's own address", n)
		}
	}
	return nil
}

// vouches reports that a request comes from the proxy, and says who it is of.
func (p *Proxy) vouches(r *http.Request) bool {
	if p == nil || len(r.Header.Values(p.Header)) == 0 {
		return false
	}
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && slices.ContainsFunc(p.Networks, func(n netip.Prefix) bool { return n.Contains(at.Addr().Unmap()) })
}

// person is of whom the proxy speaks. The error is [ask.ErrForbidden] when they
// are not let in.
func (p *Proxy) person(r *http.Request) (auth.Person, error) {
	user, err := single(r, p.Header)
	if err != nil {
		return auth.Person{}, err
	}
	if user == "" || user != ask.CleanLine(user) || strings.ContainsAny(user, " \t,") || utf8.RuneCountInString(user) > ask.MaxName-len("proxy:") {
		return auth.Person{}, ask.Refuse(ask.CodeForbidden, "the proxy's header %s names nobody", p.Header)
	}
	by := ask.By{Principal: "proxy:" + user, Name: user, Proof: ask.ProofProxy}
	if name, err := single(r, p.Name); err == nil && ask.CleanLine(name) != "" {
		by.Name = ask.CleanLine(name)
	}
	groups, err := single(r, p.Groups)
	if err != nil {
		return auth.Person{}, err
	}
	for g := range strings.SplitSeq(groups, ",") {
		if g = strings.TrimSpace(g); g != "" && g == ask.CleanLine(g) && len(by.Groups) < ask.MaxGroups {
			by.Groups = append(by.Groups, g)
		}
	}
	if p.Rules == nil {
		return auth.Person{By: by}, nil
	}
	claims := auth.Claims{"user": user, "groups": by.Groups}
	if strings.Contains(user, "@") {
		claims["email"], claims["email_verified"] = user, true
	}
	access, err := p.Rules.Access(claims)
	return auth.Person{By: by, Access: access}, err
}

// single is the value of a header that must not come twice: one of them would be
// somebody else's.
func single(r *http.Request, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	values := r.Header.Values(name)
	if len(values) > 1 {
		return "", ask.Refuse(ask.CodeForbidden, "the header %s came twice: the proxy must replace what browsers send", name)
	}
	if len(values) == 0 {
		return "", nil
	}
	return values[0], nil
}
