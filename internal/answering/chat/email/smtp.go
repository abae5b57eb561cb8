package email

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/wneessen/go-mail"
)

// server is the mail server that mails are given to.
type server struct {
	Host string
	User string
	port int
	tls  mail.TLSPolicy
	ssl  bool
}

// parseServer parses its URL. Only a server on this machine may be used without TLS.
func parseServer(text string) (*server, error) {
	u, err := url.Parse(text)
	if text == "" || err != nil || u.Host == "" || u.Path != "" || u.RawQuery != "" {
		return nil, errors.New("give the mail server as smtps://user@host, or as smtp://user@host for STARTTLS")
	}
	if _, secret := u.User.Password(); secret {
		return nil, errors.New("the password does not belong into the address: set ASKBUS_EMAIL_PASSWORD_FILE")
	}
	s := &server{Host: u.Hostname(), User: u.User.Username(), tls: mail.TLSMandatory}
	switch u.Scheme {
	case "smtps":
		s.ssl, s.port = true, 465
	case "smtp":
		s.port = 587
	case "smtp+plain":
		if s.tls, s.port = mail.NoTLS, 25; !httpserver.LoopbackHost(u.Host) {
			return nil, errors.New("smtp+plain is for a server on this machine; use smtp:// or smtps:// for others")
		}
	default:
		return nil, fmt.Errorf("invalid scheme %q of a mail server: use smtps, or smtp for STARTTLS", u.Scheme)
	}
	if u.Port() != "" {
		if s.port, err = strconv.Atoi(u.Port()); err != nil {
			return nil, fmt.Errorf("invalid port %q", u.Port())
		}
	}
	return s, nil
}

// mailer gives mails to the server, each at its turn.
type mailer struct {
	server  *server
	options []mail.Option
	limiter *responder.Limiter

	mu    sync.Mutex
	tried bool
	down  error // of the last call
}

// Classes of calls. Mail servers document no limits; these are below what any provider's are said to be.
const (
	classServer = "server"
	classPerson = "person"
)

// callFor bounds one conversation with the server.
const callFor = 20 * time.Second

// filesFor bounds that of a mail with files, which is all that go-mail gives it from the greeting to the last reply. With
// reading the files before, and a mail without them after, it is below [sendFor].
const filesFor = 75 * time.Second

// boundOf returns the bound of the conversation about a mail.
func boundOf(m *mail.Msg) time.Duration {
	if len(m.GetAttachments()) > 0 {
		return filesFor
	}
	return callFor
}

func newMailer(o *Options, clock responder.Clock) (*mailer, error) {
	srv, err := parseServer(o.SMTP)
	if err != nil {
		return nil, err
	}
	with := []mail.Option{
		mail.WithPort(srv.port), mail.WithTimeout(callFor), mail.WithTLSPolicy(srv.tls), mail.WithoutNoop(), mail.WithoutSMTPUTF8(),
		mail.WithTLSConfig(&tls.Config{ServerName: srv.Host, RootCAs: o.CAs, MinVersion: tls.VersionTLS12}),
	}
	if srv.ssl {
		with = append(with, mail.WithSSL())
	}
	if _, domain, _ := strings.Cut(o.From, "@"); domain != "" {
		with = append(with, mail.WithHELO(strings.TrimRight(domain, "> ")))
	}
	switch {
	case srv.User != "" && srv.tls == mail.NoTLS:
		with = append(with, mail.WithSMTPAuth(mail.SMTPAuthPlainNoEnc), mail.WithUsername(srv.User), mail.WithPassword(o.Password))
	case srv.User != "":
		with = append(with, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(srv.User), mail.WithPassword(o.Password))
	}
	if _, err := mail.NewClient(srv.Host, with...); err != nil {
		return nil, err
	}
	pace := map[string]responder.Pace{classServer: {Every: 100 * time.Millisecond, Burst: 20}, classPerson: {Every: 2 * time.Second, Burst: 20}}
	return &mailer{server: srv, options: with, limiter: responder.NewLimiter(clock, func(class string) responder.Pace { return pace[class] })}, nil
}

// connect signs in at the server.
func (m *mailer) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callFor)
	defer cancel()
	client, err := mail.NewClient(m.server.Host, m.options...) // a client is for one conversation at a time
	if err == nil {
		err = client.DialWithContext(ctx)
	}
	if err == nil {
		err = client.Close()
	}
	m.went(err)
	return err
}

func (m *mailer) went(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tried, m.down = true, err
}

func (m *mailer) ready() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case !m.tried:
		return errors.New("the mail server has not been reached yet")
	case m.down != nil:
		return fmt.Errorf("the mail server %s cannot be used: %w", m.server.Host, m.down)
	}
	return nil
}

// greylisted is the pause after a server said "not now".
const greylisted = 30 * time.Second

// send gives a mail for one address to the server, at its turn.
func (m *mailer) send(ctx context.Context, to string, r responder.Rank, msg *mail.Msg) error {
	return chat.Call(ctx, m.limiter, []chat.Queue{{Class: classPerson, Place: to}, {Class: classServer}}, to, r, func(err error) time.Duration {
		if sent, ok := errors.AsType[*mail.SendError](err); ok && refuses(sent) && sent.IsTemp() {
			return greylisted
		}
		return 0
	}, func(ctx context.Context) error {
		within := boundOf(msg)
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		client, err := mail.NewClient(m.server.Host, append(slices.Clip(m.options), mail.WithTimeout(within))...)
		if err != nil {
			return err
		}
		err = client.DialAndSendWithContext(ctx, msg)
		if msg.IsDelivered() { // the server has it, whatever came after
			err = nil
		}
		if sent, ok := errors.AsType[*mail.SendError](err); !ok || !refuses(sent) {
			m.went(err)
		} else {
			m.went(nil) // the server is up
		}
		return err
	})
}

// refuses reports whether the server refused a mail, and not the sender's credentials or the connection.
func refuses(e *mail.SendError) bool {
	return e.ErrorCode() >= 400 && !slices.Contains([]int{421, 530, 535}, e.ErrorCode())
}

// hopeless reports errors of a mail for which a retry is useless: the server knows no such address, or does not want it.
func hopeless(err error) bool {
	e, ok := errors.AsType[*mail.SendError](err)
	return ok && refuses(e) && !e.IsTemp() && e.ErrorCode() >= 500
}

// network splits the address of a listener: "lmtp+unix:///path" or "lmtp://host:port".
func network(text string) (lmtp bool, network, address string, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return false, "", "", fmt.Errorf("%q is not an address: give one such as lmtp://127.0.0.1:8024", text)
	}
	switch u.Scheme {
	case "lmtp", "smtp":
		if _, _, err := net.SplitHostPort(u.Host); err != nil {
			return false, "", "", fmt.Errorf("%q has no port: give an address such as lmtp://127.0.0.1:8024", text)
		}
		return u.Scheme == "lmtp", "tcp", u.Host, nil
	case "lmtp+unix":
		if u.Path == "" {
			return false, "", "", fmt.Errorf("%q has no path: give an address such as lmtp+unix:///run/askbus/lmtp.sock", text)
		}
		return true, "unix", u.Path, nil
	}
	return false, "", "", fmt.Errorf("%q: use lmtp://host:port, smtp://host:port or lmtp+unix:///path", text)
}
