package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/pkg/ask"
)

// Proxy describes an authenticating proxy in front of the inbox that names the
// person in a header. The header is ignored in requests from other addresses.
type Proxy struct {
	Header   string         // names the person, such as X-Forwarded-User
	Groups   string         // header that holds their groups, separated by commas; optional
	Name     string         // header that holds their name; optional
	Realm    string         // names the people whom it knows, where another proxy of the bus knows others; optional
	Networks []netip.Prefix // addresses of the proxy; required
	Rules    *auth.Rules    // over the claims user, groups and email; nil: everything is allowed
}

func (p *Proxy) check() error {
	switch {
	case p == nil:
		return nil
	case p.Header == "":
		return errors.New("the proxy's networks are set, but not the header in which it says who somebody is (ASKBUS_WEB_PROXY_HEADER)")
	case len(p.Networks) == 0:
		return fmt.Errorf("ASKBUS_WEB_PROXY_NETWORKS is required with the header %s: name the proxy's addresses, such as 10.0.0.5/32, or anybody could send that header", p.Header)
	}
	if p.Realm != "" && !ask.ValidToken(p.Realm) {
		return fmt.Errorf("invalid ASKBUS_WEB_PROXY_REALM %q: use 1 to %d of A-Z a-z 0-9 _ -", p.Realm, ask.MaxToken)
	}
	for _, n := range p.Networks {
		if !n.IsValid() || n.Bits() == 0 {
			return fmt.Errorf("invalid network %s in ASKBUS_WEB_PROXY_NETWORKS: it contains every address; name the proxy's own", n)
		}
	}
	return nil
}

// vouches reports whether a request comes from the proxy and names a person.
func (p *Proxy) vouches(r *http.Request) bool {
	if p == nil || len(r.Header.Values(p.Header)) == 0 {
		return false
	}
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && slices.ContainsFunc(p.Networks, func(n netip.Prefix) bool { return n.Contains(at.Addr().Unmap()) })
}

// person returns the person that the proxy names. The error is
// [ask.ErrForbidden] if the rules refuse them.
func (p *Proxy) person(r *http.Request) (auth.Person, error) {
	user, err := single(r, p.Header)
	if err != nil {
		return auth.Person{}, err
	}
	of, refused := "proxy:", " \t,#" // a user with "#" would be one of a realm
	if p.Realm != "" {
		of, refused = of+p.Realm+"#", " \t," // the first "#" ends the realm
	}
	if user == "" || user != ask.CleanLine(user) || strings.ContainsAny(user, refused) || utf8.RuneCountInString(user) > ask.MaxName-len(of) {
		return auth.Person{}, auth.Tell(ask.CodeForbidden, "the proxy's header %s names nobody", p.Header)
	}
	by := ask.By{Principal: of + user, Name: user, Proof: ask.ProofProxy}
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

// single returns the value of a header that may occur only once: a second one
// may have been added by the client.
func single(r *http.Request, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	values := r.Header.Values(name)
	if len(values) > 1 {
		return "", auth.Tell(ask.CodeForbidden, "the header %s came twice: the proxy must replace what browsers send", name)
	}
	if len(values) == 0 {
		return "", nil
	}
	return values[0], nil
}
