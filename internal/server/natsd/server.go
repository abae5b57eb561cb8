// Package natsd is the embedded NATS server: JetStream on disk with synced
// writes, on loopback, with the exact permissions of every role.
//
// It decides where the store is and who may connect. It leaves the traffic to
// the broker. It promises that nobody connects without a credential, that two
// processes never share a store, and that a store which came back incomplete is
// an error and not a fresh start.
package natsd

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/internal/process/metrics"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/server/identity"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/server/storecheck"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
)

// Options tunes the server. Dir is required.
type Options struct {
	Dir      string       // directory of keys, lock and store; created if missing
	Addr     string       // host:port; default 127.0.0.1:4280; port 0 picks a free one
	MaxStore int64        // bytes on disk; default 10 GiB; -1: no limit; see [CheckBudget]
	Admin    bool         // allow administrators with full rights; only for tests and benchmarks
	Logger   *slog.Logger // default: discard
	Cluster  *Cluster     // one of several nodes; default: a single server
	LeafAddr string       // host:port for leaf nodes, servers of other regions; default: none
	TLS      *tls.Config  // of connections from outside; default: none
	Bounds   Bounds       // of tenants, sessions and their credentials
	Beside   []string     // directories with keys of further buses, each with accounts of its own; only for measurements

	Wait    time.Duration   // for another process to unlock the store; default: not at all
	Stopped <-chan struct{} // ends that wait
}

// Limits of a new connection, in seconds: of its TLS handshake, and until it has signed in. The server's own 2 s for
// signing in without TLS are short for a pod that is throttled; with TLS it gives a second more than the handshake.
const (
	tlsTimeout    = 5
	signInTimeout = tlsTimeout + 1
)

// closedClients is how many closed connections the server remembers for its
// monitoring, each with its JWT and a copy of its subscriptions.
const closedClients = 64

// defaultMaxStore is the default storage limit, and unlimited what no store reaches.
const (
	defaultMaxStore = 10 << 30
	unlimited       = 1 << 60
)

// Server is a running server.
type Server struct {
	srv  *server.Server
	lock *os.File
	mark *mark
	log  *logger
	addr string
	tls  bool

	accounts *accounts
	guard    *guard
	unopened atomic.Bool // the store could not be opened again
	clock    *clockWatch // nil: not in a cluster
	closes   []func()    // what works beside nats-server; the last ends first

	dir    string
	budget int64

	figuresMu sync.Mutex
	figures   metrics.Server
	figuresAt time.Time

	clustered bool
	claims    sync.Mutex // held while the claims of an account change
}

// Start starts the server and waits until it serves. The caller closes it.
func Start(opts Options) (*Server, error) {
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	opts.Addr = cmp.Or(opts.Addr, "127.0.0.1:4280")
	if opts.MaxStore = cmp.Or(opts.MaxStore, defaultMaxStore); opts.MaxStore < 0 {
		opts.MaxStore = unlimited
	}
	opts.Bounds.fill()
	host, port, err := listenAddr(opts.Addr)
	if err != nil {
		return nil, err
	}
	lock, err := awaitStore(opts)
	if err != nil {
		return nil, err
	}
	s := &Server{lock: lock, dir: opts.Dir, budget: opts.MaxStore, tls: opts.TLS != nil}
	if err := s.start(opts, host, port); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Server) start(opts Options, host string, port int) error {
	addProcessor()
	accounts, err := rights.EnsureKeys(opts.Dir, opts.Admin)
	if err != nil {
		return err
	}
	alone := opts.Cluster == nil
	s.clustered = !alone
	node := ""
	if s.clustered {
		node = opts.Cluster.Node
	}
	if err := rights.CheckLedgerNote(opts.Dir, node); err != nil {
		return err
	}
	found, err := storecheck.Inspect(opts.Dir, alone) // before the server changes anything
	if err == nil {
		err = found.MendAudit(alone, opts.Logger)
	}
	if err == nil {
		err = found.Err(alone)
	}
	if err == nil {
		err = checkReserved(opts.Dir, opts.MaxStore, alone, opts.Logger)
	}
	if err != nil {
		return err
	}
	// From here on files are added and removed.
	if err = found.RemoveBegun(); err == nil {
		err = os.Remove(filepath.Join(opts.Dir, storecheck.CleanFile))
	}
	if err == nil {
		err = file.SyncDir(opts.Dir)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return storecheck.NotWritable(opts.Dir, err)
	}
	warnOfDisk(opts.Logger, opts.Dir, opts.MaxStore)
	log := newLogger(opts.Logger)
	s.log = log
	settings := &server.Options{
		ServerName: "askbus", Host: host, Port: port, NoSigs: true, DisableJetStreamBanner: true,
		JetStream: true, StoreDir: filepath.Join(opts.Dir, rights.StoreDir), SyncAlways: true,
		JetStreamMaxStore: opts.MaxStore, JetStreamMaxMemory: 256 << 20,
		MaxConn: opts.Bounds.All, MaxClosedClients: closedClients, AuthTimeout: signInTimeout,
		DontListen: alone, // until the store is known to be complete; routes wait for the listener
	}
	if opts.TLS != nil {
		settings.TLS, settings.TLSConfig, settings.TLSTimeout = true, opts.TLS, tlsTimeout
		settings.TLSVerify = opts.TLS.ClientAuth == tls.RequireAndVerifyClientCert
	}
	if opts.LeafAddr != "" {
		if err := listenToLeaves(settings, opts); err != nil {
			return err
		}
	}
	known := admit(settings, accounts)
	for _, dir := range opts.Beside {
		more, err := rights.EnsureKeys(dir, opts.Admin)
		if err != nil {
			return err
		}
		for name, token := range more.Tokens {
			_ = known.Store(more.Keys[name], token) // never fails
		}
		settings.TrustedOperators = append(settings.TrustedOperators, more.Operator)
	}
	if opts.Cluster != nil {
		key, err := rights.LoadKey(opts.Dir)
		if err != nil {
			return err
		}
		if err := opts.Cluster.apply(settings, key); err != nil {
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
	if alone { // in a cluster the other nodes have what is missing here
		if err := checkStore(s.srv, opts.Dir); err != nil {
			return err
		}
	}
	if s.mark, err = newMark(s.srv, log, opts, found, &s.claims); err != nil {
		return err
	}
	s.closes = append(s.closes, s.mark.close, startLoop(s.mark.follow))
	s.followAccounts(known, accounts, opts.Logger)
	if err := s.startGuard(opts.Bounds, accounts, opts.Logger); err != nil {
		return err
	}
	if err := s.followRevocations(opts.Logger); err != nil {
		return err
	}
	if alone {
		s.startReopener(opts.Logger)
		if err := s.listen(opts.Addr); err != nil {
			return err
		}
	} else if err := s.watchClock(opts.Cluster, accounts, opts.Logger); err != nil {
		return err
	}
	_, bound, err := net.SplitHostPort(s.srv.Addr().String())
	s.addr = net.JoinHostPort(host, bound)
	return err
}

// admit accepts connections with a credential signed by the accounts' keys.
func admit(o *server.Options, a *identity.Accounts) *server.MemAccResolver {
	known := &server.MemAccResolver{}
	for name, token := range a.Tokens {
		_ = known.Store(a.Keys[name], token) // never fails
	}
	o.TrustedOperators, o.SystemAccount, o.AccountResolver = []*jwt.OperatorClaims{a.Operator}, a.Keys[identity.System], known
	return known
}

// listen opens the address to clients.
func (s *Server) listen(addr string) error {
	ready := make(chan struct{})
	go s.srv.AcceptLoop(ready)
	<-ready
	if s.srv.Addr() == nil {
		return fmt.Errorf("nats-server does not listen on %s: %s", addr, s.log.fatal())
	}
	return nil
}

// Issuer makes credentials for this server. Those of a broker are valid only in
// this process.
func (s *Server) Issuer() *rights.Issuer { return rights.OwnIssuer(s.dir) }

// Credential makes a credential of a role, valid everywhere, with its role's
// usual assertions.
func (s *Server) Credential(r rights.Role) (rights.Credential, error) {
	return rights.IssuerIn(s.dir).Credential(s.URL(), r)
}

// Asserting is Credential with exactly these assertions.
func (s *Server) Asserting(r rights.Role, may assertion.Set) (rights.Credential, error) {
	return rights.IssuerIn(s.dir).Asserting(s.URL(), r, may)
}

// Verifier returns a verifier that always uses the current account.
func (s *Server) Verifier() *identity.Verifier { return s.Issuer().Verifier() }

// Addr returns its listen address, host:port.
func (s *Server) Addr() string { return s.addr }

// Subscriptions returns how many subscriptions the server holds, of all
// connections.
func (s *Server) Subscriptions() int { return int(s.srv.NumSubscriptions()) }

// URL returns its address for a client on this machine.
func (s *Server) URL() string {
	if s.tls {
		return "tls://" + Reachable(s.addr)
	}
	return "nats://" + Reachable(s.addr)
}

// InProcessConn opens a connection within the process: one copy through a pipe
// instead of two through the kernel. It implements nats.InProcessConnProvider,
// and works until Close.
func (s *Server) InProcessConn() (net.Conn, error) { return s.srv.InProcessConn() }

// Healthy returns an error if the server runs but cannot store everything:
// after a failed write nats-server refuses writes to that stream, or to all,
// until the store is opened again. A node whose clock is wrong is not healthy
// either: it does not lead. Healthy also measures the disk.
func (s *Server) Healthy() error {
	switch why := s.log.writeFailure(); {
	case s.unopened.Load():
		return errors.New("the store could not be opened again after its disk was full: see the log, and start askbus again")
	case outOfSpace(why):
		then := "the store is opened again"
		if s.clustered {
			then = "this process ends, so that it is started again,"
		}
		return fmt.Errorf("a write to the store found no room, and nothing more is stored there: make room on the disk; %s when %s are free (%s)", then, file.SizeText(minFree(s.budget)), why)
	case why != "":
		return fmt.Errorf("a write to the store failed, and nothing more is stored there: make room on the disk, and start askbus again (%s)", why)
	case !s.srv.JetStreamEnabled():
		return errors.New("JetStream is switched off: see the log, and start askbus again")
	}
	if s.clustered {
		if err := errors.Join(s.clock.err(), caughtUp(s.srv)); err != nil {
			return err
		}
	}
	return healthyDisk(s.dir, s.budget)
}

// Close stops the server and unlocks the store. It may be called twice.
func (s *Server) Close() {
	for _, end := range slices.Backward(s.closes) {
		end()
	}
	s.closes = nil
	if s.log != nil {
		s.log.clients.stop() // the server waits for those who are held up
	}
	if s.srv != nil {
		s.srv.Shutdown()
		s.srv.WaitForShutdown()
	}
	if s.log != nil {
		s.log.clients.report()
	}
	if s.mark != nil {
		_ = s.mark.list.Stopped(time.Now()) // otherwise the next start judges as after a crash
		s.mark = nil
	}
	if s.lock != nil {
		_ = s.lock.Close() // unlocks it
		s.lock = nil
	}
}

// startLoop runs work beside nats-server. End ends its context and waits for it.
func startLoop(work func(ctx context.Context)) (end func()) {
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { work(ctx) })
	return func() {
		stop()
		done.Wait()
	}
}

// Reachable turns a wildcard listen address into an address of this machine.
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

// listenAddr splits addr for nats-server, and checks that it can be listened on
// before the store is touched. Port 0 is left to nats-server, which takes a free
// one when it listens.
func listenAddr(addr string) (host string, port int, err error) {
	ln, err := net.Listen("tcp", addr) //nolint:noctx // checked and closed at once
	if err != nil {
		return "", 0, ListenError("NATS", addr, "--nats-addr", err)
	}
	defer ln.Close() //nolint:errcheck // nothing was sent
	host, name, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, err
	}
	if bound, ok := ln.Addr().(*net.TCPAddr); ok {
		port = bound.Port
	}
	if strings.Trim(name, "0") == "" {
		port = server.RANDOM_PORT
	}
	return host, port, err
}

// ListenError says why an address cannot be listened on and which flag changes
// it.
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
