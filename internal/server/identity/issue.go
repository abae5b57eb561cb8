package identity

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// User describes the holder of a credential.
type User struct {
	Name  string            // for logs
	Scope string            // the scope whose key signs it
	Tags  map[string]string // fill the scope's template; each value is a token
	May   assertion.Set     // what it may say about the person who acted
	Inbox string            // the inbox prefix, for clients that cannot find it elsewhere
	Life  time.Duration     // until it expires
}

// Credential is a user's JWT and key.
type Credential struct {
	Key     string // public
	Creds   string // a .creds file
	Issued  time.Time
	Expires time.Time
}

// Issue signs a user with a new key. No two credentials share a key, because
// revocations are by key.
func (k *Keys) Issue(u User, now time.Time) (Credential, error) {
	signing, ok := k.Signing[u.Scope]
	if !ok || len(signing.Seeds) == 0 {
		return Credential{}, fmt.Errorf("no signing key for %s in these keys", u.Scope)
	}
	if u.Life < time.Second {
		return Credential{}, errors.New("every credential expires: set its life, at least 1s")
	}
	signer, err := nkeys.FromSeed([]byte(signing.Seeds[0]))
	if err != nil {
		return Credential{}, fmt.Errorf("the signing key of %s is damaged", u.Scope)
	}
	user, err := nkeys.CreateUser()
	if err != nil {
		return Credential{}, err
	}
	public, err := user.PublicKey()
	if err != nil {
		return Credential{}, err
	}
	claims := jwt.NewUserClaims(public)
	claims.Name, claims.IssuerAccount = u.Name, k.Accounts[signing.Account]
	claims.SetScoped(true)
	if claims.Tags, err = tags(u); err != nil {
		return Credential{}, err
	}
	c := Credential{Key: public, Issued: now.Truncate(time.Second), Expires: now.Add(u.Life).Truncate(time.Second)}
	claims.Expires = c.Expires.Unix()
	token, err := claims.Encode(signer)
	if err != nil {
		return Credential{}, fmt.Errorf("sign %s: %w", u.Name, err)
	}
	private, err := user.Seed()
	if err != nil {
		return Credential{}, err
	}
	text, err := jwt.FormatUserConfig(token, private)
	c.Creds = string(text)
	return c, err
}

// tags returns a user's tags, one of each name. TagList.Add is not used because
// it lower-cases: session S1 would get the permissions of s1.
func tags(u User) (jwt.TagList, error) {
	var list jwt.TagList
	for _, name := range []string{"type", "tenant", "session"} {
		value, ok := u.Tags[name]
		if !ok {
			continue
		}
		if !ask.ValidToken(value) {
			return nil, fmt.Errorf("invalid %s %q: use 1 to %d of A-Z a-z 0-9 _ -", name, value, ask.MaxToken)
		}
		list = append(list, name+":"+value)
	}
	if len(list) != len(u.Tags) {
		return nil, fmt.Errorf("a credential has at most a type, a tenant and a session, not %v", u.Tags)
	}
	if u.Inbox != "" {
		if strings.ContainsAny(u.Inbox, "*> \t\r\n:{}") {
			return nil, fmt.Errorf("invalid inbox prefix %q", u.Inbox)
		}
		list = append(list, "inbox:"+u.Inbox)
	}
	if err := u.May.Validate(); err != nil {
		return nil, err
	}
	return append(list, u.May.Tags()...), nil
}
