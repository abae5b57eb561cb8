package sshserver

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"reflect"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/process/ratelimit"
	"github.com/askbus/askbus/pkg/ask"
	"golang.org/x/crypto/ssh"
)

// Terminal is the terminal of a signed-in person.
type Terminal struct {
	ssh.Channel
	By      ask.By
	Term    string
	Width   int
	Height  int
	Resized <-chan [2]int
	Env     map[string]string // LANG, LC_ALL, LC_MESSAGES, COLORTERM and COLORFGBG from the client; nil: none
}

const connections = 64 // at once

// Options configures a [Server].
type Options struct {
	Keys string     // key file, read at each login and while a connection is open
	Host ssh.Signer // see [HostKey]
	// Serve is the program of a terminal. It ends soon after ctx; its error is shown to the person.
	Serve func(ctx context.Context, t Terminal) error

	Recheck   time.Duration // how often the key of an open connection is looked up again; default 3 s
	Handshake time.Duration // timeout of a login; default 15 s
	Logins    int           // per address (or /64 of IPv6) and minute; default 20
	Logger    *slog.Logger  // default: discard

	// Refused is called for each refused login, without waiting; nil: not called.
	Refused func(Refusal)
}

// Refusal is a login that was refused.
type Refusal struct {
	Code    string
	Why     string
	Address string
}

// Server serves people with a key.
type Server struct {
	opts   Options
	logins *ratelimit.PerMinute
	slots  chan struct{}
}

// New makes a server. It starts nothing.
func New(opts Options) (*Server, error) {
	switch {
	case opts.Keys == "":
		return nil, errors.New("sshserver: missing key file")
	case opts.Host == nil:
		return nil, errors.New("sshserver: missing host key")
	case opts.Serve == nil:
		return nil, errors.New("sshserver: missing screen")
	}
	if opts.Recheck <= 0 {
		opts.Recheck = 3 * time.Second
	}
	if opts.Handshake <= 0 {
		opts.Handshake = 15 * time.Second
	}
	if opts.Logins <= 0 {
		opts.Logins = 20
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	return &Server{opts: opts, logins: ratelimit.NewOpen(opts.Logins), slots: make(chan struct{}, connections)}, nil
}

// Run serves ln until ctx ends, and waits for its connections to close. The programs of open terminals
// have [goodbye] to end and to say why.
func (s *Server) Run(ctx context.Context, ln net.Listener) error {
	defer context.AfterFunc(ctx, func() { _ = ln.Close() })()
	var served sync.WaitGroup
	defer served.Wait()
	for {
		conn, err := ln.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = conn.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil: // such as too many open files, which is temporary
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
			continue
		}
		host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
		if err != nil || !s.logins.Take(ratelimit.Network(host), time.Now()) {
			_ = conn.Close()
			s.refused(host, ask.CodeQuota, "too many logins of this address in a minute")
			continue
		}
		select {
		case s.slots <- struct{}{}:
			served.Go(func() {
				defer func() { <-s.slots }()
				s.connection(ctx, conn)
			})
		default:
			_ = conn.Close()
		}
	}
}

// connection serves one connection.
func (s *Server) connection(ctx context.Context, conn net.Conn) {
	defer conn.Close() //nolint:errcheck // may be closed already
	abort := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer abort()
	if err := conn.SetDeadline(time.Now().Add(s.opts.Handshake)); err != nil {
		return
	}

	offered := "" // the last key that was refused
	config := &ssh.ServerConfig{
		MaxAuthTries: 6,
		PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) { //nolint:gosec // G408: offered is reported and trusted with nothing
			who, err := lookUp(s.opts.Keys, key)
			if err != nil {
				offered = ssh.FingerprintSHA256(key)
				return nil, err
			}
			return &ssh.Permissions{ExtraData: map[any]any{byKey{}: signedIn{key, who}}}, nil
		},
	}
	config.AddHostKey(s.opts.Host)
	person, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		s.opts.Logger.DebugContext(ctx, "ssh login failed", slog.Any("error", err))
		if offered != "" {
			host, _, _ := net.SplitHostPort(conn.RemoteAddr().String()) // Run has split it
			s.refused(host, ask.CodeUnauthorized, "the key "+offered+" is not accepted")
		}
		return
	}
	who, ok := person.Permissions.ExtraData[byKey{}].(signedIn)
	if !ok || !abort() || conn.SetDeadline(time.Time{}) != nil {
		return
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now().Add(goodbye)) })()
	s.opts.Logger.InfoContext(ctx, "ssh login", slog.String("responder", "ssh"))
	go ssh.DiscardRequests(requests) // no forwarding
	open, end := context.WithCancel(ctx)
	var sessions sync.WaitGroup
	defer sessions.Wait()
	defer end()
	sessions.Go(func() {
		if s.untilRevoked(open, who) {
			_ = conn.Close()
		}
	})
	defer person.Close() //nolint:errcheck // may be closed already
	opened := false
	for ch := range channels {
		if ch.ChannelType() != "session" || opened {
			_ = ch.Reject(ssh.Prohibited, "only one terminal is allowed")
			continue
		}
		channel, requests, err := ch.Accept()
		if err != nil {
			return
		}
		opened = true
		sessions.Go(func() {
			s.session(ctx, channel, requests, who.by)
			_ = conn.SetDeadline(time.Now().Add(goodbye)) // the client disconnects, or is disconnected
		})
	}
}

// untilRevoked reports whether a key is no longer its person's before ctx ends. It takes two looks for that: a file that is
// being written may lack it for a moment.
func (s *Server) untilRevoked(ctx context.Context, who signedIn) bool {
	for missed := 0; missed < 2; {
		if backoff.Sleep(ctx, s.opts.Recheck) != nil {
			return false
		}
		if by, err := lookUp(s.opts.Keys, who.key); err == nil && reflect.DeepEqual(by, who.by) {
			missed = 0
		} else {
			missed++
		}
	}
	s.opts.Logger.InfoContext(ctx, "an ssh connection ends: its key was removed or changed", slog.String("responder", "ssh"))
	return true
}

func (s *Server) refused(address, code, why string) {
	if s.opts.Refused != nil {
		s.opts.Refused(Refusal{Code: code, Why: why, Address: address})
	}
}

// goodbye is how long a client has to disconnect by itself, and a terminal to end when the server stops.
const goodbye = 2 * time.Second

// byKey is the key of what is signed in in the permissions.
type byKey struct{}

// signedIn is a key, and whose it was at the login.
type signedIn struct {
	key ssh.PublicKey
	by  ask.By
}
