package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/askbus/askbus/internal/config"
	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
	"golang.org/x/term"
)

// bus is a connection of a local subcommand.
type bus struct {
	nc   *nats.Conn
	cred client.Credential
	role natsd.Role
}

// credential is who we are and where the bus is, as the settings say: flags
// beat environment beats context.json, whose credential is the operator's.
func (a *app) credential() (client.Credential, error) {
	ctx, err := config.ReadContext(a.Dir)
	if err != nil {
		return client.Credential{}, err
	}
	var cred client.Credential
	switch {
	case a.Creds != "":
		if cred, err = readCreds(a.Creds); err != nil {
			return client.Credential{}, err
		}
	case ctx.Operator != nil:
		cred = *ctx.Operator
	default:
		return client.Credential{}, fmt.Errorf("no bus found in %s; start one with \"askbus up\", or point to one with --dir, or with ASKBUS_NATS_URL and ASKBUS_CREDS", a.Dir)
	}
	switch {
	case a.NATS.URL != "":
		cred.URL = a.NATS.URL
	case cred.URL == "":
		cred.URL = ctx.NATSURL
	}
	if cred.URL == "" {
		return client.Credential{}, errors.New("no NATS server known; set --nats-url or ASKBUS_NATS_URL")
	}
	return cred, nil
}

// dial connects as [app.credential] says.
func (a *app) dial() (*bus, error) {
	cred, err := a.credential()
	if err != nil {
		return nil, err
	}
	role, _ := natsd.ParseUser(cred.User) // a .creds file names no role of ours
	nc, err := client.Connect(cred, a.log(), nats.RetryOnFailedConnect(false))
	if errors.Is(err, nats.ErrNoServers) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("nothing answers at %s; is \"askbus up\" running?", cred.URL)
	}
	if err != nil {
		return nil, err
	}
	return &bus{nc, cred, role}, nil
}

// readCreds reads a credential: user:password, or a file.
func readCreds(s string) (client.Credential, error) {
	if data, err := os.ReadFile(s); err == nil {
		if strings.HasPrefix(strings.TrimSpace(string(data)), "{") {
			var c client.Credential
			if err := json.Unmarshal(data, &c); err != nil {
				return client.Credential{}, fmt.Errorf("credential file %s: %w", s, err)
			}
			if c.User == "" && c.CredsFile == "" {
				return client.Credential{}, fmt.Errorf("credential file %s names no user; make one with \"askbus creds … --output json\"", s)
			}
			return c, nil
		}
		return client.Credential{CredsFile: s}, nil
	}
	name, password, ok := strings.Cut(s, ":")
	if !ok {
		return client.Credential{}, fmt.Errorf("credential %q is no file and not user:password; see \"askbus creds\"", s)
	}
	role, err := natsd.ParseUser(name)
	if err != nil {
		return client.Credential{}, fmt.Errorf("credential: %w", err)
	}
	return client.Credential{User: name, Password: password, InboxPrefix: role.InboxPrefix()}, nil
}

// home is the tenant and session that commands use when nothing else is said.
func (a *app) home(b *bus) (tenant, session string) {
	tenant, session = a.Tenant, a.session
	if b.role.Tenant != "" {
		tenant = b.role.Tenant
	}
	if b.role.Session != "" {
		session = b.role.Session
	}
	if session == "" {
		session = terminalSession()
	}
	return tenant, session
}

// terminalSession is stable per terminal: its name and the id of its login
// session; without a terminal it is "cli".
func terminalSession() string {
	for _, f := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		if !term.IsTerminal(int(f.Fd())) {
			continue
		}
		name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
		if err != nil {
			name = "tty"
		}
		sid, err := getsid()
		if err != nil {
			sid = os.Getppid()
		}
		return ask.Token(strings.ReplaceAll(strings.TrimPrefix(name, "/dev/"), "/", "") + "-" + strconv.Itoa(sid))
	}
	return ask.DefaultSession
}

// localUser is who sits at this machine, for logins and answers.
func localUser(groups []string) ask.By {
	by := ask.By{Principal: "os:" + strconv.Itoa(os.Getuid()), Groups: groups, Proof: "local"}
	if u, err := user.Current(); err == nil {
		by.Principal, by.Name = "os:"+u.Username, u.Name
		if by.Name == "" {
			by.Name = u.Username
		}
		by.Name, _, _ = strings.Cut(by.Name, ",") // the GECOS field says more than the name
	}
	return by
}

// inboxURL is where the web inbox is, if it is known.
func (a *app) inboxURL() string {
	if a.HTTP.URL != "" {
		return a.HTTP.URL
	}
	ctx, err := config.ReadContext(a.Dir)
	if err != nil {
		return ""
	}
	return ctx.HTTPURL
}

// command is how a person calls us again for an ask, in full.
func (a *app) command(verb string, k ask.Key) string {
	s := "askbus " + verb + " " + k.Session + "/" + k.ID
	if k.Tenant != ask.DefaultTenant {
		s += " --tenant " + k.Tenant
	}
	if a.Dir != config.DefaultDir() {
		if abs, err := filepath.Abs(a.Dir); err == nil {
			s += " --dir " + quote(abs)
		}
	}
	return s
}

// quote quotes s for a shell when it needs it.
func quote(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@%+,", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
