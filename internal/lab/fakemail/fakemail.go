// Package fakemail is a mail server for tests: it takes mail over SMTP on this machine and keeps it. It refuses whom it
// is told to, and anybody with wrong credentials.
package fakemail

import (
	"bytes"
	"errors"
	"io"
	"log"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/emersion/go-message/mail"
	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// Mail is a mail that was taken.
type Mail struct {
	From, To string // of the envelope
	Raw      string
	Header   mail.Header
	Text     string // the part text/plain
	HTML     string
	Files    map[string]string // what is attached, by its name
}

// ID returns its Message-ID.
func (m *Mail) ID() string {
	id, _ := m.Header.MessageID()
	return id
}

// Server is the mail server. It is safe for concurrent use.
type Server struct {
	srv *smtp.Server
	ln  net.Listener

	mu        sync.Mutex
	mails     []Mail
	password  string
	refused   map[string]*smtp.SMTPError
	intercept func(m *Mail, done bool) error
}

// User is who may sign in, if there is a password.
const User = "askbus"

// Start starts a server.
func Start() (*Server, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is at once
	if err != nil {
		return nil, err
	}
	s := &Server{ln: ln, refused: map[string]*smtp.SMTPError{}}
	s.srv = smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &session{s: s}, nil }))
	s.srv.Domain, s.srv.AllowInsecureAuth, s.srv.MaxMessageBytes, s.srv.ErrorLog = "fakemail.example", true, 4<<20, log.New(io.Discard, "", 0)
	go func() { _ = s.srv.Serve(ln) }() // ends with Close
	return s, nil
}

// Close stops it.
func (s *Server) Close() { _ = s.srv.Close() }

// URL returns its address for the surface's options.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.password != "" {
		return "smtp+plain://" + User + "@" + s.ln.Addr().String()
	}
	return "smtp+plain://" + s.ln.Addr().String()
}

// SetPassword makes it want this password; empty: none.
func (s *Server) SetPassword(to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.password = to
}

// Refuse makes it refuse mail to an address with a code, such as 550; 0 takes it again.
func (s *Server) Refuse(to string, code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.refused, to)
	if code != 0 {
		s.refused[to] = &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, 1, 1}, Message: "No such user here"}
	}
}

// Intercept makes it call f before it takes a mail, and again after.
func (s *Server) Intercept(f func(m *Mail, done bool) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.intercept = f
}

// Mails returns what it took, the oldest first.
func (s *Server) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mails)
}

func (s *Server) take(m *Mail) error {
	s.mu.Lock()
	f := s.intercept
	s.mu.Unlock()
	if f != nil {
		if err := f(m, false); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.mails = append(s.mails, *m)
	s.mu.Unlock()
	if f != nil {
		return f(m, true)
	}
	return nil
}

// Parse reads a mail.
func Parse(raw string) (m Mail, err error) {
	r, err := mail.CreateReader(strings.NewReader(raw))
	if err != nil {
		return m, err
	}
	m = Mail{Raw: raw, Header: r.Header}
	for {
		p, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return m, nil
		}
		if err != nil {
			return m, err
		}
		body, err := io.ReadAll(p.Body)
		if err != nil {
			return m, err
		}
		if h, ok := p.Header.(*mail.AttachmentHeader); ok {
			name, _ := h.Filename()
			if m.Files == nil {
				m.Files = map[string]string{}
			}
			m.Files[name] = string(body)
		}
		if h, ok := p.Header.(*mail.InlineHeader); ok {
			switch kind, _, _ := h.ContentType(); kind {
			case "text/plain":
				m.Text = string(body)
			case "text/html":
				m.HTML = string(body)
			}
		}
	}
}

// session is one conversation.
type session struct {
	s        *Server
	known    bool
	from, to string
}

func (c *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (c *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		c.s.mu.Lock()
		defer c.s.mu.Unlock()
		if user != User || password != c.s.password {
			return smtp.ErrAuthFailed
		}
		c.known = true
		return nil
	}), nil
}

func (c *session) Mail(from string, _ *smtp.MailOptions) error {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.s.password != "" && !c.known {
		return smtp.ErrAuthRequired
	}
	c.from = from
	return nil
}

func (c *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if e := c.s.refused[to]; e != nil {
		return e
	}
	c.to = to
	return nil
}

func (c *session) Data(r io.Reader) error {
	var raw bytes.Buffer
	if _, err := raw.ReadFrom(r); err != nil {
		return err
	}
	m, err := Parse(raw.String())
	if err != nil {
		return &smtp.SMTPError{Code: 554, EnhancedCode: smtp.EnhancedCode{5, 6, 0}, Message: err.Error()}
	}
	m.From, m.To = c.from, c.to
	return c.s.take(&m)
}

func (c *session) Reset() { c.from, c.to = "", "" }

func (c *session) Logout() error { return nil }
