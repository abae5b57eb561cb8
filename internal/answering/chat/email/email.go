// Package email is the surface by e-mail: a mail for each ask, whose links lead to a page of this surface.
//
// It decides what a mail and its page say, who may be written to, and when a mail from outside is an answer. Only the
// page's form and a reply that our own mail server vouches for ever answer; opening a link does not, since scanners of
// mail open every link. A mail cannot be searched for or edited: what was sent is noted in shared state, and how an ask
// ended is a second mail.
//
// Safety: a link acts as one person on one life of one ask, with the proof "email-link", until that ask has ended.
// Liveness: a mail that the server accepted is sent again only if this process dies before it has noted that, with the
// same Message-ID.
package email

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// Type is the responder type.
const Type = "email"

// Options tunes an [App]. SMTP, From, Key, an address to write to, and one of URL, Reply and Link are required.
type Options struct {
	chat.Options
	SMTP     string // server: smtps://user@host, smtp://user@host with STARTTLS, or smtp+plain://host without TLS
	Password string
	CAs      *x509.CertPool // of that server; default: the system's
	From     string         // "askbus <ask@example.com>"
	URL      string         // at which people reach [App.Handler]
	Key      []byte         // signs links and the addresses of replies; at least 32 bytes
	People   string         // file of who may be written to and who wants what; read again when it changes

	Delay time.Duration // between an ask and its mail; default: none

	Reply    string   // address whose mail the own server delivers to Receive
	Receive  string   // where it is delivered: "lmtp://127.0.0.1:8024", "smtp://…", "lmtp+unix:///path"
	Servers  []string // networks of the servers that may deliver; default: this machine
	AuthServ string   // the name under which that server reports whether a sender is authentic
	Hops     int      // Received fields that own servers add; default 1
}

// Check returns an error for a missing or invalid setting.
func (o *Options) Check() error {
	if _, err := parseServer(o.SMTP); err != nil {
		return fmt.Errorf("email: ASKBUS_EMAIL_SMTP: %w", err)
	}
	if _, err := mail.ParseAddress(o.From); err != nil {
		return fmt.Errorf(`email: ASKBUS_EMAIL_FROM is %q: give the address that mails come from, such as "askbus <ask@example.com>"`, o.From)
	}
	if u, err := url.Parse(o.URL); o.URL != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		return fmt.Errorf("email: ASKBUS_EMAIL_URL is %q: give the URL at which people reach this process, such as https://ask.example.com", o.URL)
	}
	switch {
	case o.Nowhere() && o.People == "":
		return errors.New("email: nobody to write to: set ASKBUS_EMAIL_ROUTES or ASKBUS_EMAIL_TO")
	case o.Nowhere():
		return errors.New("email: no address for asks that name nobody: set ASKBUS_EMAIL_ROUTES or ASKBUS_EMAIL_TO")
	case !o.Unplaced && o.RouteFile == "" && !addressForm().MatchString(cmp.Or(o.Routes.Default.Person, o.Routes.Default.Channel)):
		return fmt.Errorf("email: ASKBUS_EMAIL_TO is %q: give an address such as mei@example.com", cmp.Or(o.Routes.Default.Person, o.Routes.Default.Channel))
	case len(o.Key) < 32:
		return errors.New("email: ASKBUS_EMAIL_KEY has fewer than 32 characters: make one with \"openssl rand -hex 32\"")
	case o.URL == "" && o.Reply == "" && o.Link == nil:
		return errors.New("email: nobody could answer a mail: set ASKBUS_EMAIL_URL, at which people reach this process, or ASKBUS_EMAIL_REPLY, or ASKBUS_EMAIL_INBOX")
	case o.Reply != "" && !addressForm().MatchString(o.Reply):
		return fmt.Errorf("email: ASKBUS_EMAIL_REPLY is %q: give the address of replies, such as ask@mail.example.com", o.Reply)
	case o.Reply != "" && (o.Receive == "" || o.AuthServ == ""):
		return errors.New("email: ASKBUS_EMAIL_REPLY also needs ASKBUS_EMAIL_RECEIVE, where your mail server delivers, and ASKBUS_EMAIL_AUTHSERV, its name in Authentication-Results")
	case o.Receive != "" && o.Reply == "":
		return errors.New("email: ASKBUS_EMAIL_RECEIVE also needs ASKBUS_EMAIL_REPLY, the address whose mail comes there")
	case o.Receive != "" && o.checkReceive() != nil:
		return fmt.Errorf("email: %w", o.checkReceive())
	case o.Hops < 0 || o.Hops > 10:
		return fmt.Errorf("email: ASKBUS_EMAIL_HOPS is %d: give the number of Received fields that your own servers add, 1 to 10", o.Hops)
	}
	return nil
}

// checkReceive returns what is wrong with where replies come in.
func (o *Options) checkReceive() error {
	if _, _, _, err := network(o.Receive); err != nil {
		return fmt.Errorf("ASKBUS_EMAIL_RECEIVE: %w", err)
	}
	for _, one := range o.Servers {
		if _, err := netip.ParsePrefix(one); err != nil {
			return fmt.Errorf("ASKBUS_EMAIL_SERVERS: %q is not a network such as 10.0.0.0/24", one)
		}
	}
	return nil
}

// App is the surface: it sends with [App.Serve], receives with [App.Listen], and serves its page with [App.Handler].
// It is safe for concurrent use.
type App struct {
	*chat.Surface
	opts    Options
	from    *mail.Address
	mailer  *mailer
	people  func() *People
	sent    *state.Bucket
	revoked *state.Bucket
	tenant  string // the only one, or ""
}

// New makes the surface. It makes no calls.
func New(bus *responder.Responder, opts Options) (*App, error) {
	if err := opts.Check(); err != nil {
		return nil, err
	}
	opts.URL, opts.Hops = strings.TrimRight(opts.URL, "/"), max(opts.Hops, 1)
	none := &People{}
	s := &App{opts: opts, people: func() *People { return none }}
	var err error
	if s.from, err = mail.ParseAddress(opts.From); err != nil {
		return nil, fmt.Errorf("email: %w", err)
	}
	if s.Surface, err = chat.NewSurface(Type, bus, opts.Options, ids(s)); err != nil {
		return nil, err
	}
	if opts.People != "" {
		f, err := file.OpenLive(opts.People, ParsePeople, s.Log)
		if err != nil {
			return nil, fmt.Errorf("email: file of people: %w", err)
		}
		s.people = f.Content
	}
	if s.mailer, err = newMailer(&opts, s.Clock); err != nil {
		return nil, fmt.Errorf("email: %w", err)
	}
	if bus != nil { // a doctor has none
		s.tenant = bus.Options().Tenant
		role := state.Responder(s.Type, s.tenant)
		s.sent, s.revoked = state.Open(bus.Conn(), role, state.Mail), state.Open(bus.Conn(), role, state.Revoked)
	}
	return s, nil
}

// Serve sends mails until ctx ends.
func (s *App) Serve(ctx context.Context, opts responder.ServeOptions) error {
	return s.Surface.Serve(ctx, presenter{s}, s.mailer.limiter, s.mailer.server.Host, opts)
}

// Connect signs in at the mail server, and returns its address.
func (s *App) Connect(ctx context.Context) (name string, err error) {
	return s.mailer.server.Host, s.mailer.connect(ctx)
}

// Ready returns why this process would not send a mail, or nil.
func (s *App) Ready() error { return s.mailer.ready() }

// checkEvery is how often the mail server is asked whether it still takes the credentials.
const checkEvery = 5 * time.Minute

// Listen receives replies, sends digests and watches the mail server, until ctx ends.
func (s *App) Listen(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() {
		for ctx.Err() == nil {
			s.Retry(ctx, func(ctx context.Context) error { _, err := s.Connect(ctx); return err })
			_ = backoff.Sleep(ctx, checkEvery) // fails only when ctx ends
		}
	})
	all.Go(func() { s.digests(ctx) })
	var err error
	if s.opts.Receive == "" {
		<-ctx.Done()
	} else {
		err = s.receive(ctx)
	}
	cancel()
	all.Wait()
	return err
}

// principal returns the principal of an address.
func principal(address string) string { return "mailto:" + address }

// by returns who acts with an address on an ask: the person whom the routes give it, else the address.
func (s *App) by(ctx context.Context, address, proof string, a *ask.Ask) ask.By {
	by := ask.By{Principal: principal(address), Name: address, Proof: proof}
	s.Identify(ctx, &by, address, a, func(list string) (bool, error) { return s.people().in(address, list), nil })
	return by
}
