package rights

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/server/identity"
)

// Credential is what a client needs to connect, with a name in the format of [Role.User].
type Credential = connection.Credential

// Issuer makes credentials with the signing keys of a directory.
type Issuer struct {
	dir string
	own bool // for the server's own process
}

// LoadIssuer opens the keys of a directory.
func LoadIssuer(dir string) (*Issuer, error) {
	if err := lostKeys(dir); err != nil {
		return nil, err
	}
	if _, err := identity.LoadKeys(dir); err != nil {
		return nil, err
	}
	return &Issuer{dir: dir}, nil
}

// OwnIssuer returns the issuer of the server's own process, whose brokers connect
// without the network.
func OwnIssuer(dir string) *Issuer { return &Issuer{dir: dir, own: true} }

// IssuerIn returns the issuer with the keys of a directory, without looking at
// them.
func IssuerIn(dir string) *Issuer { return &Issuer{dir: dir} }

// Dir returns the directory of the signing keys.
func (i *Issuer) Dir() string { return i.dir }

// Verifier returns a verifier that always uses the directory's current account.
func (i *Issuer) Verifier() *identity.Verifier {
	return identity.NewVerifier(identity.BusAccount(i.dir))
}

// ownLife is the lifetime of a credential that a process makes for itself. It
// makes another one whenever it reconnects.
const ownLife = 24 * time.Hour

// processLife is the lifetime of the credentials with which a server connects
// to itself. They are valid only in its process, and are not renewed.
const processLife = 10 * 365 * 24 * time.Hour

// Credential makes a credential for a process that can read the keys, with its
// role's usual assertions. It is valid for a day and renews itself, so it is
// not listed: a thief of it could have taken the keys.
func (i *Issuer) Credential(url string, r Role) (Credential, error) {
	return i.Asserting(url, r, r.Assertions())
}

// Asserting is Credential with exactly these assertions.
func (i *Issuer) Asserting(url string, r Role, may assertion.Set) (Credential, error) {
	life := ownLife
	if r.Name == RoleGuard || i.own && r.Name == RoleClock {
		life = processLife
	}
	issue := func() (identity.Credential, error) { return i.sign(r, may, life) }
	c, err := issue()
	if err != nil {
		return Credential{}, err
	}
	return Credential{
		URL: url, Name: r.User(), InboxPrefix: r.InboxPrefix(), Creds: c.Creds, Expires: c.Expires,
		Renew: func() (string, error) {
			c, err := issue()
			return c.Creds, err
		},
	}, nil
}

func (i *Issuer) sign(r Role, may assertion.Set, life time.Duration) (identity.Credential, error) {
	if err := r.Validate(); err != nil {
		return identity.Credential{}, err
	}
	keys, err := identity.LoadKeys(i.dir)
	if err != nil {
		return identity.Credential{}, err
	}
	// Keys of an older version may have been copied here before a server has added to its own what is new.
	if _, err := keys.Add(Scopes(false)); err != nil {
		return identity.Credential{}, err
	}
	scope := r.scope()
	if i.own && r.ofBroker() || r.Name == RoleGuard {
		scope += inProcess
	}
	return keys.Issue(identity.User{Name: r.User(), Scope: scope, Tags: r.tags(), May: may, Inbox: r.InboxPrefix(), Life: life}, time.Now())
}

// HandOut makes a credential for another process, and records it in the
// directory's list, so that it can be revoked.
func (i *Issuer) HandOut(url string, r Role, may assertion.Set, life time.Duration, note string) (Credential, error) {
	if err := r.Validate(); err != nil {
		return Credential{}, err
	}
	if err := r.MayAssert(may); err != nil {
		return Credential{}, err
	}
	if most := r.MostLife(); life > most {
		return Credential{}, fmt.Errorf("a credential of %s is valid for at most %s", r.Name, most)
	}
	c, err := identity.HandOut(i.dir, identity.User{Name: r.User(), Scope: r.scope(), Tags: r.tags(), May: may, Inbox: r.InboxPrefix(), Life: life}, note, time.Now())
	if err != nil {
		return Credential{}, err
	}
	return Credential{URL: url, Name: r.User(), InboxPrefix: r.InboxPrefix(), Creds: c.Creds, Expires: c.Expires}, nil
}

// Life returns the default lifetime of a role's credential.
func (r Role) Life() time.Duration {
	switch r.Name {
	case RoleMaintenance:
		return time.Hour
	case RoleAgent, RoleHost:
		return 30 * 24 * time.Hour
	}
	return 90 * 24 * time.Hour
}

// MostLife returns its maximum lifetime.
func (r Role) MostLife() time.Duration {
	if r.Name == RoleMaintenance {
		return 8 * time.Hour
	}
	return 366 * 24 * time.Hour
}

// Issued returns the credentials that were handed out from a directory.
func Issued(dir string) ([]identity.Issued, error) { return identity.List(dir) }

// BusAccount returns the JWT of the account of everything but the ledger: what
// a broker needs to check credentials. It contains no secret.
func BusAccount(dir string) (string, error) { return identity.BusAccount(dir)() }

// Revoke revokes credentials by their public keys. A server on the directory
// then refuses them, and cuts their connections within a second.
func Revoke(dir string, keys ...string) ([]identity.Issued, error) {
	return identity.Revoke(dir, keys, time.Now())
}

// Rotate makes a new signing key for a role; see [identity.Rotate].
func Rotate(dir, role string, dropOld bool) error {
	return identity.Rotate(dir, Scopes(false), role, dropOld)
}

// Config returns the part of a nats-server's configuration that admits the
// credentials of a directory. It contains no secret. With the system account of
// another operator, it is what goes into resolver_preload beside that operator's
// accounts.
func Config(dir, system string) (string, error) {
	return configOf(dir, system, identity.Names())
}

func configOf(dir, system string, accounts []string) (string, error) {
	a, err := identity.ReadAccounts(dir)
	if err != nil {
		return "", err
	}
	begin, end := fmt.Sprintf("operator: %s\nsystem_account: %s\nresolver: MEMORY\nresolver_preload: {\n", a.OperatorToken, a.Keys[identity.System]), "}\n"
	if system != "" {
		begin, end = fmt.Sprintf("# Include this in resolver_preload { }, and add askbus's operator to yours:\n# operator: [ …, %s ]\n", a.OperatorToken), ""
		if err := a.Under(dir, system); err != nil {
			return "", err
		}
	}
	var b strings.Builder
	b.WriteString(begin)
	for _, name := range accounts {
		if a.Tokens[name] == "" {
			continue // of backups, in older keys that nothing has signed again
		}
		fmt.Fprintf(&b, "  # %s\n  %s: %s\n", name, a.Keys[name], a.Tokens[name])
	}
	return b.String() + end, nil
}

// Leaf is where a leaf node finds the bus and its own files. Paths are relative to its working directory.
type Leaf struct {
	Hub       []string // URLs of the bus's servers
	Creds     string   // file of its credential
	CA        string   // file of CAs of the bus's certificate; empty: the system's
	Cert, Key string   // files of its own certificate, for servers that ask for one; empty: none
}

// LeafConfig is [Config] for a leaf node: a nats-server without streams, whose
// clients reach the bus with the credentials of the directory. A connection that
// is cut without a word is noticed within 15 s. Without the accounts of the ledger, a broker cannot make a second one
// there, which would take asks of the bus.
func LeafConfig(dir string, leaf Leaf) (string, error) {
	config, err := configOf(dir, "", []string{identity.System, identity.Bus})
	if err != nil {
		return "", err
	}
	a, err := identity.ReadAccounts(dir)
	if err != nil {
		return "", err
	}
	urls := make([]string, len(leaf.Hub))
	for i, h := range leaf.Hub {
		urls[i] = strconv.Quote(h)
	}
	var tls []string
	for _, f := range []struct{ key, file string }{{"ca_file", leaf.CA}, {"cert_file", leaf.Cert}, {"key_file", leaf.Key}} {
		if f.file != "" {
			tls = append(tls, f.key+": "+strconv.Quote(f.file))
		}
	}
	trust := ""
	if len(tls) > 0 {
		trust = ", tls: {" + strings.Join(tls, ", ") + "}"
	}
	return config + fmt.Sprintf("ping_interval: \"5s\"\nping_max: 2\nleafnodes {\n  remotes: [{urls: [%s], account: %s, credentials: %q%s}]\n}\n", strings.Join(urls, ", "), a.Keys[identity.Bus], leaf.Creds, trust), nil
}
