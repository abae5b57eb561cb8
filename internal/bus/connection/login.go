package connection

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/nats-io/nkeys"
)

// Credential says how to reach the bus and as which role.
type Credential struct {
	URL         string                 `json:"url"`
	Name        string                 `json:"name"`                 // the role; for people only
	InboxPrefix string                 `json:"inbox_prefix"`         // default: from the credential
	Creds       string                 `json:"creds,omitempty"`      // the text of a .creds file: a user's JWT and key
	CredsFile   string                 `json:"creds_file,omitempty"` // or the path of one; read again at each reconnect
	Expires     time.Time              `json:"expires,omitzero"`
	Renew       func() (string, error) `json:"-"` // returns a fresh text for Creds

	CA         string `json:"ca,omitempty"`          // PEM: the CAs of the server's certificate, instead of the system's
	CAFile     string `json:"ca_file,omitempty"`     // or the path of a file with them; read again at each reconnect
	ServerName string `json:"server_name,omitempty"` // the name that the certificate must have; default: the host in URL
	CertFile   string `json:"cert_file,omitempty"`   // a client certificate, for mutual TLS; read again at each reconnect
	KeyFile    string `json:"key_file,omitempty"`    // and its key
}

// Identity is the content of a .creds file about its user. It proves nothing:
// the server checks the signature.
type Identity struct {
	Name        string
	User        string // its public key
	InboxPrefix string
	Expires     time.Time // zero: never
	Asserts     bool      // it may assert who acted
	Asker       bool      // it says for whom its holder asks
}

// refused explains why the server may have refused the credential.
func (i Identity) refused(now time.Time) string {
	if !i.Expires.IsZero() && now.After(i.Expires) {
		return fmt.Sprintf("the credential of %s expired at %s; get a fresh one from \"askbus auth\"", i.Name, i.Expires.Format(time.RFC3339))
	}
	or := ""
	if slices.Contains([]string{"ledger", "maintenance", "backup"}, i.Name) { // a leaf node does not have their accounts
		or = "; or the server is a leaf node: give the address of one of the bus's own servers"
	}
	return fmt.Sprintf("the server refused the credential of %s: it belongs to another bus, or was revoked; get a fresh one from \"askbus auth\"%s", i.Name, or)
}

// Identify parses the text of a .creds file.
func Identify(creds string) (Identity, error) {
	token, err := nkeys.ParseDecoratedJWT([]byte(creds))
	if err != nil {
		return Identity{}, errNoCreds
	}
	return identityOf(token)
}

// identityOf reads a user's JWT. NATS has verified it.
func identityOf(token string) (Identity, error) {
	var claims struct {
		Name    string `json:"name"`
		Subject string `json:"sub"`
		Expires int64  `json:"exp"`
		NATS    struct {
			Type string   `json:"type"`
			Tags []string `json:"tags"`
		} `json:"nats"`
	}
	if assertion.Unverified(token, &claims) != nil || claims.NATS.Type != "user" || !subject.ValidUser(claims.Subject) {
		return Identity{}, errNoCreds
	}
	i := Identity{Name: claims.Name, User: claims.Subject}
	if claims.Expires > 0 {
		i.Expires = time.Unix(claims.Expires, 0)
	}
	for _, tag := range claims.NATS.Tags {
		if inbox, ok := strings.CutPrefix(tag, "inbox:"); ok {
			i.InboxPrefix = inbox
		}
		i.Asserts = i.Asserts || strings.HasPrefix(tag, "assert:")
		i.Asker = i.Asker || strings.HasPrefix(tag, "asker:")
	}
	return i, nil
}

var errNoCreds = errors.New("the credential is not the text of a NATS user's .creds file; make one with \"askbus auth\"")

// login gives the client library the token, and signs the server's nonce with
// its key. The library calls token and then sign.
type login struct {
	c   Credential
	log *slog.Logger

	mu    sync.Mutex
	creds string
	used  bool
	who   Identity
	jwt   string // the JWT of the connection
}

func newLogin(c Credential, log *slog.Logger) (*login, error) {
	l := &login{c: c, log: log, creds: c.Creds}
	if l.creds == "" {
		fresh, err := l.fresh()
		if err != nil {
			return nil, err
		}
		l.creds = fresh
	}
	var err error
	if l.who, err = Identify(l.creds); err != nil {
		return nil, err
	}
	l.who.Name = cmp.Or(c.Name, l.who.Name)
	return l, nil
}

// fresh reads the credential from its source again.
func (l *login) fresh() (string, error) {
	switch {
	case l.c.Renew != nil:
		return l.c.Renew()
	case l.c.CredsFile != "":
		data, err := os.ReadFile(l.c.CredsFile)
		if err != nil {
			return "", fmt.Errorf("read the credential: %w", err)
		}
		return string(data), nil
	}
	if l.creds == "" {
		return "", errors.New("no credential given; make one with \"askbus auth\"")
	}
	return l.creds, nil
}

// token is called at each connect.
func (l *login) token() (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.used {
		fresh, err := l.fresh()
		if err != nil {
			l.log.Warn("cannot renew the credential; trying the previous one again", slog.Any("error", err))
		} else {
			l.creds = fresh
		}
	}
	l.used = true
	token, err := nkeys.ParseDecoratedJWT([]byte(l.creds))
	if err != nil {
		return "", errNoCreds
	}
	if token != l.jwt {
		who, err := identityOf(token)
		if err != nil {
			return "", err
		}
		l.who.User, l.jwt = who.User, token
	}
	return token, nil
}

// current returns the identity and the JWT of the connection.
func (l *login) current() (who Identity, token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.who, l.jwt
}

func (l *login) sign(nonce []byte) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key, err := nkeys.ParseDecoratedUserNKey([]byte(l.creds))
	if err != nil {
		return nil, errNoCreds
	}
	defer key.Wipe()
	return key.Sign(nonce)
}
