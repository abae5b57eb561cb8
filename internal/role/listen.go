package role

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/process/daemon"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
)

// sticky returns the address to listen on: for port 0 the previous port while it is free, otherwise
// any free one; moved says that the port had to change.
func sticky(addr, lastURL string) (use string, moved bool) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port != "0" || lastURL == "" {
		return addr, false
	}
	u, err := url.Parse(lastURL)
	if err != nil || u.Port() == "" {
		return addr, false
	}
	last := net.JoinHostPort(host, u.Port())
	ln, err := net.Listen("tcp", last) //nolint:noctx // checked and closed at once
	if err != nil {
		return addr, true
	}
	_ = ln.Close()
	return last, false
}

// listen opens a listener whose port is sticky.
func listen(ctx context.Context, a *cli.App, what, addr, flag, lastURL string) (net.Listener, error) {
	use, moved := sticky(addr, lastURL)
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", use)
	if use != addr && errors.Is(err, syscall.EADDRINUSE) { // by another process that starts now
		use, moved = addr, true
		ln, err = (&net.ListenConfig{}).Listen(ctx, "tcp", use)
	}
	if err != nil {
		return nil, natsd.ListenError(what, use, flag, err)
	}
	if moved {
		a.Moved = append(a.Moved, fmt.Sprintf("the previous %s port is taken; now at %s", what, ln.Addr()))
	}
	return ln, nil
}

// httpURL returns the URL at which this machine reaches a listener.
func httpURL(ln net.Listener) string {
	if httpserver.IsSecure(ln) {
		return "https://" + natsd.Reachable(ln.Addr().String())
	}
	return "http://" + natsd.Reachable(ln.Addr().String())
}

// served reports whether a server listens at the address of a URL.
func served(ctx context.Context, at string) bool {
	u, err := url.Parse(at)
	if err != nil || u.Host == "" {
		return false
	}
	host := u.Host
	if u.Port() == "" {
		host = net.JoinHostPort(u.Hostname(), u.Scheme) // http and https are services with a port
	}
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// opsFlag adds the flag --ops-addr, whose value and default are in addr.
func opsFlag(cmd *cobra.Command, addr *string) {
	cmd.Flags().StringVar(addr, "ops-addr", *addr, "address of /healthz, /readyz and /metrics")
}

// Ops opens the ops address of a role and records it.
func (r *Process) Ops(ctx context.Context, role, addr string, ready func() error) error {
	serving := func() error {
		select {
		case <-r.stopped:
			return errors.New("this process is stopping")
		default:
			return ready()
		}
	}
	return r.opsWith(ctx, role, addr, daemon.Ops(serving, r.metrics.Handler(), r.a.Pprof))
}

// serve opens the ops address of a role and runs its parts until a signal. It says what it does when they run.
func (r *Process) serve(ctx context.Context, role, addr string, ready func() error, does string) error {
	if err := r.Ops(ctx, role, addr, ready); err != nil {
		return err
	}
	return r.Run(ctx, func() { r.a.Note("askbus: %s, ops at %s", does, r.After.Ops[role]) })
}

// opsWith is ops with the caller's handler.
func (r *Process) opsWith(ctx context.Context, role, addr string, h http.Handler) error {
	ln, err := listen(ctx, r.a, "ops", addr, "--ops-addr", r.before.Ops[role])
	if err != nil {
		return err
	}
	r.After.SetOps(role, httpURL(ln))
	r.metrics.Build(role, cli.BuildVersion())
	r.parts = append([]daemon.Part{daemon.HTTP("ops", ln, daemon.Guarded(h), httpserver.Limits{Connections: opsConnections}, 0)}, r.parts...)
	return nil
}

// opsConnections is enough for probes, and too few to starve other listeners.
const opsConnections = 64

func natsReady(nc *nats.Conn) error {
	if nc.IsConnected() {
		return nil
	}
	return errors.New("NATS is not ready")
}

// connected returns whether the process can serve: it needs no more than its connection.
func connected(nc *nats.Conn) func() error { return func() error { return natsReady(nc) } }

// grace is how long a listener that stops waits for requests under way. A replica that lingers has sent its
// clients elsewhere, so only calls on the bus are left: they may take as long as they do otherwise.
func grace(l *config.Listen) time.Duration {
	if l.HTTPLinger > 0 {
		return 30 * time.Second
	}
	return 5 * time.Second
}

// limits returns the limits of an HTTP listener.
func limits(s *config.Listen) httpserver.Limits {
	return httpserver.Limits{Connections: s.HTTPConnections, PerAddress: s.HTTPConnectionsPerAddress, PerMinute: s.HTTPConnectionsPerMinute}
}

// mostConnections returns how many connections an HTTP listener has at once.
func mostConnections(s *config.Listen) int { return httpserver.MostConnections(limits(s)) }
