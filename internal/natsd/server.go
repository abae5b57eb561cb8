// Package natsd is the embedded NATS server: JetStream on disk, syncing every
// write, on loopback, with every role's exact rights from the first day.
//
// It decides where the store lies and who may connect. It leaves what happens
// on the subjects to the broker. It promises that nobody connects without a
// credential, that two processes never share a store, and that a store which
// came back incomplete is an error and not a fresh start.
package natsd

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Options tunes the server. Dir is required.
type Options struct {
	Dir      string       // where key, lock and store lie; made if it is not there
	Addr     string       // host:port; default 127.0.0.1:4280; port 0 picks a free one
	MaxStore int64        // bytes on disk; default 10 GiB
	Admin    string       // password of a user "admin" with full rights; only for tests and measurements
	Logger   *slog.Logger // default: discard
	Cluster  *Cluster     // one of several nodes; default: a server alone
}

// DefaultMaxStore is the storage limit when none is given.
const DefaultMaxStore = 10 << 30

// Server is a running server.
type Server struct {
	srv  *server.Server
	key  Key
	lock *os.File
	mark *mark // nil in a cluster
	log  *logger
	addr string
}

// Start starts the server and waits until it serves. Close it.
func Start(opts Options) (*Server, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Addr == "" {
		opts.Addr = "127.0.0.1:4280"
	}
	if opts.MaxStore == 0 {
		opts.MaxStore = DefaultMaxStore
	}
	host, port, err := freePort(opts.Addr)
	if err != nil {
		return nil, err
	}
	lock, err := openStore(opts.Dir)
	if err != nil {
		return nil, err
	}
	s := &Server{lock: lock, addr: net.JoinHostPort(host, strconv.Itoa(port))}
	if err := s.start(opts, host, port); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Server) start(opts Options, host string, port int) error {
	var err error
	if s.key, err = LoadKey(opts.Dir); err != nil {
		return err
	}
	var reached map[string]uint64
	if opts.Cluster == nil { // before the server touches anything
		if reached, err = checkMark(opts.Dir); err != nil {
			return err
		}
	}
	log := &logger{log: opts.Logger}
	s.log = log
	settings := &server.Options{
		ServerName: "askbus", Host: host, Port: port, NoSigs: true, DisableJetStreamBanner: true,
		JetStream: true, StoreDir: filepath.Join(opts.Dir, storeDir), SyncAlways: true,
		JetStreamMaxStore: opts.MaxStore, JetStreamMaxMemory: 256 << 20,
		CustomClientAuthentication: &authenticator{key: s.key, admin: opts.Admin},
	}
	if opts.Cluster != nil {
		if err := opts.Cluster.apply(settings, s.key); err != nil {
			return err
		}
	}
	s.srv, err = server.NewServer(settings)
	if err != nil {
		return fmt.Errorf("nats-server: %w", err)
	}
	s.srv.SetLoggerV2(log, false, false, false)
	s.srv.Start()
	if !s.srv.ReadyForConnections(30 * time.Second) {
		if why := log.fatal(); why != "" {
			return fmt.Errorf("nats-server did not start: %s", why)
		}
		return errors.New("nats-server did not start within 30 s")
	}
	if !s.srv.JetStreamEnabled() {
		return fmt.Errorf("JetStream did not start: %s", log.fatal())
	}
	if opts.Cluster != nil {
		return nil // the other nodes have what is missing here
	}
	if err := checkStore(s.srv, opts.Dir); err != nil {
		return err
	}
	s.mark, err = startMark(s.srv, opts.Dir, reached)
	return err
}

// Key is the directory's key.
func (s *Server) Key() Key { return s.key }

// Addr is where it listens, host:port.
func (s *Server) Addr() string { return s.addr }

// URL is how a client on this machine reaches it.
func (s *Server) URL() string { return "nats://" + Reachable(s.addr) }

// Healthy says what is wrong when the server runs and cannot store everything:
// after a failed write nats-server takes no more for that stream, or for any,
// until it is restarted.
func (s *Server) Healthy() error {
	switch why := s.log.writeFailure(); {
	case why != "":
		return fmt.Errorf("a write to the store failed, and nothing more is stored there: make room on the disk, and start askbus again (%s)", why)
	case !s.srv.JetStreamEnabled():
		return errors.New("JetStream is switched off: see the log, and start askbus again")
	}
	return nil
}

// Close stops the server and gives the store free. It may be called twice.
func (s *Server) Close() {
	s.mark.close()
	s.mark = nil
	if s.srv != nil {
		s.srv.Shutdown()
		s.srv.WaitForShutdown()
	}
	if s.lock != nil {
		_ = s.lock.Close() // which unlocks it
		s.lock = nil
	}
}

// Reachable turns an address that listens everywhere into one of this machine.
func Reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// freePort checks that addr can be listened on, and picks a port for port 0.
func freePort(addr string) (host string, port int, err error) {
	ln, err := net.Listen("tcp", addr) //nolint:noctx // checked and closed at once
	if err != nil {
		return "", 0, ListenError("NATS", addr, "--nats-addr", err)
	}
	defer ln.Close() //nolint:errcheck // nothing was sent
	host, _, err = net.SplitHostPort(addr)
	if tcp, ok := ln.Addr().(*net.TCPAddr); ok {
		port = tcp.Port
	}
	return host, port, err
}

// ListenError says why an address cannot be listened on and which flag changes it.
func ListenError(what, addr, flag string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s address %s is taken by another process; stop it, or choose another with %s (port 0 picks a free one)", what, addr, flag)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("not allowed to listen on %s address %s; choose a port above 1023 with %s", what, addr, flag)
	default:
		return fmt.Errorf("cannot listen on %s address %s: %w; choose another with %s", what, addr, err, flag)
	}
}

// authenticator lets in whoever has a credential derived from the key, with the
// rights of its role.
type authenticator struct {
	key   Key
	admin string
}

// Check implements server.Authentication.
func (a *authenticator) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	if a.admin != "" && o.Username == "admin" {
		if subtle.ConstantTimeCompare([]byte(o.Password), []byte(a.admin)) != 1 {
			return false
		}
		c.RegisterUser(&server.User{Username: o.Username})
		return true
	}
	role, err := ParseUser(o.Username)
	if err != nil || subtle.ConstantTimeCompare([]byte(o.Password), []byte(a.key.Password(o.Username))) != 1 {
		return false
	}
	c.RegisterUser(&server.User{Username: o.Username, Permissions: role.Rights().permissions()})
	return true
}
