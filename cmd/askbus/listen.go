package main

import (
	"context"
	"fmt"
	"net"
	"net/url"

	"github.com/askbus/askbus/internal/daemon"
	"github.com/askbus/askbus/internal/natsd"
)

// sticky is the address to listen on: for port 0 the port of last time while it
// is free, otherwise any free one; moved says that it had to change.
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
func (a *app) listen(ctx context.Context, what, addr, flag, lastURL string) (net.Listener, error) {
	use, moved := sticky(addr, lastURL)
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", use)
	if err != nil {
		return nil, natsd.ListenError(what, use, flag, err)
	}
	if moved {
		a.say("askbus: the %s port of last time is taken; now at %s", what, ln.Addr())
	}
	return ln, nil
}

// httpURL is how this machine reaches a listener.
func httpURL(ln net.Listener) string { return "http://" + natsd.Reachable(ln.Addr().String()) }

// ops opens the ops address of a role and notes it.
func (r *running) ops(ctx context.Context, role, addr string, ready func() error) error {
	ln, err := r.a.listen(ctx, "ops", addr, "--ops-addr", r.before.Ops[role])
	if err != nil {
		return err
	}
	r.after.SetOps(role, httpURL(ln))
	r.parts = append([]daemon.Part{daemon.HTTP("ops", ln, daemon.Ops(ready), 0)}, r.parts...)
	return nil
}

func notReady(what string, ready bool) error {
	if ready {
		return nil
	}
	return fmt.Errorf("%s is not ready", what)
}
