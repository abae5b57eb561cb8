package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Bus is the connection of a local subcommand.
type Bus struct {
	NC   *nats.Conn
	Asks *client.Client
	Cred client.Credential
	Role rights.Role

	surface *nats.Conn // of this command line as a surface; nil: none

	own    *App                       // set if its directory has the keys: then each command uses the least role
	agents map[ask.Session]*agentConn // per session, if own is set
}

type agentConn struct {
	nc   *nats.Conn
	asks *client.Client
}

// Close closes the connections.
func (b *Bus) Close() {
	if b.surface != nil {
		b.surface.Close()
	}
	for _, agent := range b.agents {
		agent.nc.Close()
	}
	b.NC.Close()
}

// Session returns the asks of a session: over an agent's connection for just that session if the
// keys are available, else over the credential's own.
func (b *Bus) Session(tenant, session string) (client.Session, error) {
	if b.own == nil {
		return b.Asks.Session(tenant, session), nil
	}
	at := ask.Session{Tenant: tenant, Name: session}
	agent := b.agents[at]
	if agent == nil {
		cred, err := b.own.Local(rights.Role{Name: rights.RoleAgent, Tenant: tenant, Session: session})
		if err != nil {
			return client.Session{}, err
		}
		cred.URL = b.Cred.URL
		if agent, err = b.own.connectAgent(cred); err != nil {
			return client.Session{}, err
		}
		b.agents[at] = agent
	}
	return agent.asks.Session(tenant, session), nil
}

func (a *App) connectAgent(cred client.Credential) (*agentConn, error) {
	nc, err := a.connect(cred)
	if err != nil {
		return nil, err
	}
	asks, err := client.New(nc, client.Options{Logger: a.Logger(), TracerProvider: a.Tracing()})
	if err != nil {
		nc.Close()
		return nil, err
	}
	return &agentConn{nc, asks}, nil
}

// Credential returns the credential and the server of the settings: flags override the environment,
// which overrides context.json, whose credential is the operator's. If the keys are available,
// commands use a lesser one: see [App.Dial].
func (a *App) Credential() (client.Credential, error) {
	if cred, ok, err := a.personally(); ok || err != nil {
		cred.URL = cmp.Or(a.NATS.URL, cred.URL)
		return cred, err
	}
	ctx, err := ReadContext(a.Dir)
	if err != nil {
		return client.Credential{}, err
	}
	var cred client.Credential
	switch {
	case a.Exchange.URL != "":
		if cred, err = a.exchanged(); err != nil {
			return client.Credential{}, err
		}
	case a.Creds != "":
		if cred, err = ReadCreds(a.Creds); err != nil {
			return client.Credential{}, err
		}
	case ctx.Operator != nil:
		cred = *ctx.Operator
		cred.Renew = func() (string, error) { // the server writes a new one every day
			ctx, err := ReadContext(a.Dir)
			if err == nil && ctx.Operator == nil {
				err = fmt.Errorf("no operator's credential in %s", a.Dir)
			}
			if err != nil {
				return "", err
			}
			return ctx.Operator.Creds, nil
		}
	case a.NATS.URL != "" && rights.HasKeys(a.Dir): // a copy of the keys, where no server ran
		if cred, err = a.Local(rights.Role{Name: rights.RoleOperator}); err != nil {
			return client.Credential{}, err
		}
	case a.NATS.URL != "":
		return client.Credential{}, fmt.Errorf("no credential for %s; give one with --creds or ASKBUS_CREDS (\"askbus auth\" makes it where the keys are), or the --dir of its server", a.NATS.URL)
	default:
		return client.Credential{}, fmt.Errorf("no bus found in %s; start one with \"%s\", point to one with --dir, or with ASKBUS_NATS_URL and ASKBUS_CREDS, or sign in to answer with \"askbus login URL\" and the web inbox's address", a.Dir, a.Hint("up"))
	}
	switch {
	case a.NATS.URL != "":
		cred.URL = a.NATS.URL
	case cred.URL == "":
		cred.URL = ctx.NATSURL
	}
	switch {
	case cred.URL == "":
		return client.Credential{}, errors.New("no NATS server known; set --nats-url or ASKBUS_NATS_URL")
	case strings.HasPrefix(cred.URL, "http://"), strings.HasPrefix(cred.URL, "https://"):
		return client.Credential{}, Usage("invalid --nats-url %q: that is an address of HTTP; give the NATS server's, such as nats://127.0.0.1:4222", cred.URL)
	}
	return a.Trust(cred), nil
}

// Dial connects with the credential of the settings. If the directory has the server's keys, it
// connects as this command line's surface, and [Bus.Session] as an agent: each command gets the
// least rights.
func (a *App) Dial() (*Bus, error) {
	b, err := a.DialAs(rights.Role{Name: rights.RoleResponder, Type: SurfaceType})
	if err == nil && b.Role.Name == rights.RoleAuditor {
		b.Close()
		return nil, Usage("the credential of %s is an auditor's: it may not list, read or answer asks, only search the audit; use \"askbus audit --kind ask\", or a credential of \"askbus auth responder\" or an operator's", b.Cred.Name)
	}
	return b, err
}

// DialAs connects with the credential of the settings, or as a role if the directory has the
// server's keys.
func (a *App) DialAs(role rights.Role) (*Bus, error) {
	cred, err := a.Credential()
	if err != nil {
		return nil, err
	}
	if a.Creds != "" || a.Exchange.URL != "" || !rights.HasKeys(a.Dir) {
		return a.dialWith(cred)
	}
	own, err := a.Local(role)
	if err != nil {
		return nil, err
	}
	own.URL = cred.URL
	b, err := a.dialWith(own)
	if err == nil && role.Name != rights.RoleAgent {
		b.own, b.agents = a, map[ask.Session]*agentConn{}
	}
	return b, err
}

// DialOperator connects as the operator, who may end other people's asks and make tokens and
// sign-ins.
func (a *App) DialOperator() (*Bus, error) {
	cred, err := a.Credential()
	if err != nil {
		return nil, err
	}
	return a.dialWith(cred)
}

func (a *App) dialWith(cred client.Credential) (*Bus, error) {
	agent, err := a.connectAgent(cred)
	if err != nil {
		return nil, err
	}
	role, _ := rights.ParseUser(cred.Name) // unknown roles stay empty
	return &Bus{NC: agent.nc, Asks: agent.asks, Cred: cred, Role: role}, nil
}

// Connect connects with a credential.
func (a *App) Connect(cred client.Credential, opts ...nats.Option) (*nats.Conn, error) {
	return client.Connect(a.Trust(cred), a.Logger(), opts...)
}

func (a *App) connect(cred client.Credential) (*nats.Conn, error) {
	follows, made := a.following(cred.URL)
	opts := append(follows,
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil && a.away.CompareAndSwap(false, true) {
				a.sayAway()
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { a.away.Store(false) }))
	nc, err := a.Connect(cred, opts...)
	if errors.Is(err, nats.ErrAuthorization) && a.login != nil { // revoked: the inbox knows whether the person is signed out
		if cred.Creds, err = cred.Renew(); err != nil {
			return nil, err
		}
		nc, err = a.Connect(cred, opts...)
	}
	if errors.Is(err, nats.ErrNoServers) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("nothing answers at %s; is \"%s\" running?", cred.URL, a.Hint("up"))
	}
	if err == nil {
		made(nc)
	}
	return nc, err
}

// sayAway tells a person that the bus went away under a running command.
func (a *App) sayAway() {
	if a.Quiet {
		return // a screen is drawn, which shows it
	}
	if IsTerminal(a.Stderr) {
		fmt.Fprint(a.Stderr, "\r\x1b[K") // the spinner's line
	}
	a.Note("the bus is away; this command continues when it is back, and nothing is lost")
}

// ReadCreds reads a credential file: NATS .creds, or the JSON around it.
func ReadCreds(path string) (client.Credential, error) {
	read := func() (client.Credential, error) {
		data, err := os.ReadFile(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return client.Credential{}, fmt.Errorf("there is no credential file %q; make one with \"askbus auth\"", path)
		case err != nil:
			return client.Credential{}, fmt.Errorf("cannot read the credential: %w", err) // it names the file
		}
		c := client.Credential{Creds: string(data)}
		if strings.HasPrefix(strings.TrimSpace(string(data)), "{") {
			c = client.Credential{}
			if err := json.Unmarshal(data, &c); err != nil {
				return client.Credential{}, fmt.Errorf("credential file %s: %w", path, err)
			}
			switch {
			case c.Creds == "" && c.CredsFile == "":
				return client.Credential{}, fmt.Errorf("credential file %s has no \"creds\": what \"askbus auth broker\" prints is for brokers only", path)
			case c.Creds == "":
				if data, err = os.ReadFile(c.CredsFile); err != nil {
					return client.Credential{}, fmt.Errorf("credential file %s: %w", path, err)
				}
				c.Creds = string(data)
			}
		}
		who, err := connection.Identify(c.Creds)
		if err != nil {
			return client.Credential{}, fmt.Errorf("credential file %s: %w", path, err)
		}
		c.Name, c.Expires = who.Name, who.Expires
		c.InboxPrefix = cmp.Or(c.InboxPrefix, who.InboxPrefix)
		return c, nil
	}
	c, err := read()
	c.Renew = func() (string, error) { // it may have been replaced
		c, err := read()
		return c.Creds, err
	}
	return c, err
}

// Home returns the default tenant and session of commands.
func (a *App) Home(b *Bus) (tenant, session string) {
	tenant, session = a.Tenant, a.Session
	tenant = cmp.Or(b.Role.Tenant, tenant)
	session = cmp.Or(b.Role.Session, session)
	if session == "" {
		session = TerminalSession()
	}
	return tenant, session
}

// TerminalSession returns a session name that is stable per terminal: the terminal's name and login
// session id, or "cli" without a terminal.
func TerminalSession() string {
	for _, f := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		if !term.IsTerminal(int(f.Fd())) {
			continue
		}
		name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
		if err != nil {
			name = "tty"
		}
		sid, err := unix.Getsid(0)
		if err != nil {
			sid = os.Getppid()
		}
		return ask.Token(strings.ReplaceAll(strings.TrimPrefix(name, "/dev/"), "/", "") + "-" + strconv.Itoa(sid))
	}
	return ask.DefaultSession
}

// LocalUser returns the user of this machine, for logins and answers.
func LocalUser(groups []string) ask.By {
	by := ask.By{Principal: "os:" + strconv.Itoa(os.Getuid()), Groups: groups, Proof: ask.ProofOS}
	if u, err := user.Current(); err == nil {
		by.Principal, by.Name = "os:"+u.Username, u.Name
		by.Name = cmp.Or(by.Name, u.Username)
		by.Name, _, _ = strings.Cut(by.Name, ",") // the GECOS field has more than the name
	}
	return by
}

// InboxURL returns the URL of the web inbox, or "" if unknown.
func (a *App) InboxURL() string {
	if a.HTTP.URL != "" {
		return a.HTTP.URL
	}
	ctx, err := ReadContext(a.Dir)
	if err != nil {
		return ""
	}
	return ctx.HTTPURL
}

// KnownInbox returns the URL of the web inbox.
func (a *App) KnownInbox() (string, error) {
	url := a.InboxURL()
	if url == "" {
		if _, err := ReadContext(a.Dir); err != nil {
			return "", err
		}
		return "", fmt.Errorf("no web inbox known in %s; start one with \"%s\", or set ASKBUS_HTTP_URL", a.Dir, a.Hint("up"))
	}
	return url, nil
}

// Command returns the full command line with which a person runs verb for an ask.
func (a *App) Command(verb string, k ask.Key) string {
	s := verb + " " + k.Session + "/" + k.ID
	if k.Tenant != ask.DefaultTenant {
		s += " --tenant " + k.Tenant
	}
	return a.Hint(s)
}

// Hint returns a command that a person can run as it is, with --dir where needed.
func (a *App) Hint(args string) string {
	s := "askbus " + args
	if a.Dir != config.DefaultDir() {
		if abs, err := filepath.Abs(a.Dir); err == nil {
			s += " --dir " + Quote(abs)
		}
	}
	return s
}

// Quote quotes s for a shell if needed.
func Quote(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@%+,", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Sitting returns the person at the host, as far as this process can tell.
func Sitting() ask.By {
	by := LocalUser(nil)
	by.Proof = ask.ProofHostDialog
	return by
}
