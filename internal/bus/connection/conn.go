package connection

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// HeaderCredential carries the sender's own JWT, which says what it may assert
// about the answering person. The broker checks it against the key in the
// subject.
const HeaderCredential = "Askbus-Credential" //nolint:gosec // a name, not a secret

// errAnonymous means that a request must name its sender, but the connection
// was made without a credential.
var errAnonymous = errors.New("the connection has no credential of a NATS user; connect with one from \"askbus auth\"")

// Conn is a connection with the credential under which it is authenticated. It
// is safe for concurrent use.
type Conn struct {
	nc *nats.Conn

	mu         sync.Mutex
	token      string // of a connection that was not made by [Connect]
	who        Identity
	reconnects uint64 // when the token was read
}

// On returns a Conn for a connection. It starts nothing and need not be closed.
func On(nc *nats.Conn) *Conn { return &Conn{nc: nc} }

// sign sets the subject of a request for one attempt, with the sender's key if
// it has a place for it, and adds the sender's JWT. Each attempt is signed
// again, because a new connection may have a new credential.
func (c *Conn) sign(msg *nats.Msg, subj string) error {
	msg.Subject = subj
	at := c.Subject(subj)
	if _, named := subject.As(at, ""); !named {
		return nil
	}
	user, token, err := c.Sender()
	if err != nil {
		return err
	}
	msg.Subject, _ = subject.As(at, user)
	if r, err := subject.Parse(msg.Subject); err == nil && r.Asserts() {
		msg.Header[HeaderCredential] = []string{token}
	}
	return nil
}

// Subject returns the subject on which this sender sends a request of agents:
// gateways, operators, and agents whose credential says for whom they ask, have
// their own.
func (c *Conn) Subject(subj string) string {
	if !strings.HasPrefix(subj, subject.Agents+".") {
		return subj
	}
	switch role := c.Role(); {
	case role == subject.TypeGateway || role == subject.TypeOperator:
		subj, _ = subject.Asked(subj, role)
	case c.HasAsker():
		if r, err := subject.Parse(subj); err == nil && r.Verb == subject.VerbAsk {
			subj, _ = subject.Asked(subj, subject.TypeAgent)
		}
	}
	return subj
}

// HasAsker reports whether the credential says for whom its holder asks.
func (c *Conn) HasAsker() bool {
	who, _, err := c.identity()
	return err == nil && who.Asker
}

// Role returns the name of the credential, which is its role and what narrows it.
// It is empty without a credential: the server may authenticate the connection in
// another way.
func (c *Conn) Role() string {
	who, _, _ := c.identity() // empty with an error
	return who.Name
}

// Alive asks whether a broker runs, on behalf of a session.
func (c *Conn) Alive(at ask.Session, broker string, limit time.Duration) error {
	msg := &nats.Msg{Header: nats.Header{}}
	if err := c.sign(msg, subject.Alive(at.Tenant, at.Name, broker)); err != nil {
		return err
	}
	_, err := c.nc.RequestMsg(msg, limit)
	return err
}

// Sender returns the public key and the JWT of the credential under which the
// connection is authenticated.
func (c *Conn) Sender() (user, token string, err error) {
	who, token, err := c.identity()
	return who.User, token, err
}

// identity returns what the credential says, and its JWT.
func (c *Conn) identity() (Identity, string, error) {
	if l := loginOf(c.nc); l != nil {
		who, token := l.current()
		return who, token, nil
	}
	if c.nc.Opts.UserJWT == nil {
		return Identity{}, "", errAnonymous
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.nc.Stats().Reconnects; c.token == "" || c.reconnects != now {
		// The client library has just read it as well. The file may later hold
		// the credential of the next connection.
		token, err := c.nc.Opts.UserJWT()
		if err != nil {
			return Identity{}, "", fmt.Errorf("read the connection's credential: %w", err)
		}
		who, err := identityOf(token)
		if err != nil {
			return Identity{}, "", err
		}
		c.token, c.who, c.reconnects = token, who, now
	}
	return c.who, c.token, nil
}

// dialer dials as before, and carries the login of its connection, because the
// library does not expose the JWT with which a connection was made.
type dialer struct {
	nats.CustomDialer
	login *login
}

// SkipTLSHandshake calls the inner dialer's.
func (d dialer) SkipTLSHandshake() bool {
	inner, ok := d.CustomDialer.(interface{ SkipTLSHandshake() bool })
	return ok && inner.SkipTLSHandshake()
}

// inProcess is the same for a server in this process.
type inProcess struct {
	nats.InProcessConnProvider
	login *login
}

// carry attaches a login to a connection's options.
func carry(l *login) nats.Option {
	return func(o *nats.Options) error {
		if o.InProcessServer != nil {
			o.InProcessServer = inProcess{o.InProcessServer, l}
			return nil
		}
		inner := o.CustomDialer
		if inner == nil {
			inner = &net.Dialer{Timeout: o.Timeout}
		}
		o.CustomDialer = dialer{inner, l}
		return nil
	}
}

// loginOf returns the login of a connection that [Connect] made, or nil.
func loginOf(nc *nats.Conn) *login {
	if p, ok := nc.Opts.InProcessServer.(inProcess); ok {
		return p.login
	}
	if d, ok := nc.Opts.CustomDialer.(dialer); ok {
		return d.login
	}
	return nil
}
