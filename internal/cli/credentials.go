package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/server/identity"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/client"
)

// Keys returns the directory's keys and, if known, its server's URL.
func (a *App) Keys() (*rights.Issuer, string, error) {
	ctx, err := ReadContext(a.Dir)
	if err != nil {
		return nil, "", err
	}
	url := cmp.Or(a.NATS.URL, ctx.NATSURL)
	keys, err := rights.LoadIssuer(a.Dir)
	if errors.Is(err, identity.ErrNone) {
		err = fmt.Errorf("no server found in %s, and no keys; start \"askbus up\" or \"askbus server\" there, or run \"askbus auth init\", or set ASKBUS_NATS_URL and ASKBUS_CREDS", a.Dir)
	}
	return keys, url, err
}

// SecretOf returns a setting that is given as text or in a file, which NAME_FILE names.
func SecretOf(name, text, file string) (string, error) {
	switch {
	case file == "":
		return text, nil
	case text != "":
		return "", fmt.Errorf("%s and %s_FILE are both set; use one of them", name, name)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%s_FILE: %w", name, err)
	}
	return strings.TrimSpace(string(data)), nil
}

// CookieKey returns the key of login cookies: the configured one, or one derived from the
// directory's key.
func (a *App) CookieKey(w config.Web) ([]byte, error) {
	k, err := SecretOf("ASKBUS_WEB_COOKIE_KEY", w.Web.CookieKey, w.Web.CookieKeyFile)
	if err != nil {
		return nil, &ExitError{Code: ExitUsage, Err: err}
	}
	if k != "" || w.Web.CookieKeyFile != "" {
		if len(k) < 32 {
			return nil, Usage("the key of login cookies has fewer than 32 characters; make one with \"openssl rand -hex 32\"")
		}
		return []byte(k), nil
	}
	key, err := rights.LoadKey(a.Dir)
	if err != nil {
		return nil, err
	}
	return key.Derive("web-cookie"), nil
}

// CredOf returns the credential of a process: the one of ASKBUS_CREDS, else one that it makes with
// the directory's keys.
func (a *App) CredOf(role rights.Role) (client.Credential, error) {
	if a.Creds == "" {
		return a.Local(role)
	}
	return a.GivenCred(role)
}

// GivenCred returns the credential of ASKBUS_CREDS. With that of another role a
// process would run, be denied everything and serve nobody, so it is an error.
func (a *App) GivenCred(role rights.Role) (client.Credential, error) {
	c, err := ReadCreds(a.Creds)
	if err != nil {
		return c, err
	}
	of, err := rights.ParseUser(c.Name) // unknown roles are not judged
	operator := of.Name == rights.RoleOperator && role.Name == rights.RoleAuditor
	if err == nil && (of.Name != role.Name || of.Type != role.Type) && !operator {
		which := role.Name
		if role.Type != "" {
			which += " --type " + role.Type
		}
		return c, Usage("the credential in %s is of %s, which may not do this; \"askbus auth %s\" prints one that may", a.Creds, c.Name, which)
	}
	c.URL = cmp.Or(a.NATS.URL, c.URL)
	return c, nil
}

// Local makes a credential for this process with the directory's keys.
func (a *App) Local(role rights.Role) (client.Credential, error) {
	may := role.Assertions()
	if own := []string{LocalUser(nil).Principal}; role.Name == rights.RoleAgent && assertion.CheckAsker(own) == nil {
		may.Asker = own // the directory's keys are readable by that user alone
	}
	return a.LocalAsserting(role, may)
}

// LocalAsserting is local with other assertions than the role's default.
func (a *App) LocalAsserting(role rights.Role, may assertion.Set) (client.Credential, error) {
	keys, url, err := a.Keys()
	if err != nil {
		return client.Credential{}, err
	}
	if url == "" {
		return client.Credential{}, fmt.Errorf("no server found in %s; start \"%s\", or set ASKBUS_NATS_URL and ASKBUS_CREDS", a.Dir, a.Hint("server"))
	}
	c, err := keys.Asserting(url, role, may)
	return client.Credential(c), err
}
