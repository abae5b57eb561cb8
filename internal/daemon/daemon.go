// Package daemon runs a process: its parts, its signals, its health endpoints.
//
// A process is a list of parts; the first to return stops the rest, the last
// part started first, so that whoever serves others goes last. It decides
// nothing about asks.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// Signals is a context that ends with SIGINT or SIGTERM. A second signal ends
// the process at once.
func Signals(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // gives the second signal its default effect
	return ctx, stop
}

// Part is one long-lived thing of a process.
type Part struct {
	Name string
	Run  func(ctx context.Context) error // blocks until ctx ends and it has drained
}

// Run runs parts until ctx ends or one of them returns, then stops them one by
// one, the last one first. It returns the first error.
func Run(ctx context.Context, parts ...Part) error {
	type ended struct {
		at  int
		err error
	}
	ends := make(chan ended, len(parts))
	cancels := make([]context.CancelFunc, len(parts))
	done := make([]chan struct{}, len(parts))
	for i, p := range parts {
		partCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		cancels[i], done[i] = cancel, make(chan struct{})
		go func() {
			defer close(done[i])
			err := p.Run(partCtx)
			if err != nil {
				err = fmt.Errorf("%s: %w", p.Name, err)
			}
			ends <- ended{i, err}
		}()
	}
	var errs []error
	select {
	case <-ctx.Done():
	case e := <-ends:
		if e.err == nil && ctx.Err() == nil {
			e.err = fmt.Errorf("%s ended by itself", parts[e.at].Name)
		}
		errs = append(errs, e.err)
	}
	for i := range slices.Backward(parts) {
		cancels[i]()
		<-done[i]
	}
	close(ends)
	for e := range ends {
		errs = append(errs, e.err)
	}
	return errors.Join(errs...)
}

// HTTP serves a handler on a listener until ctx ends; then requests under way
// are finished, for at most grace.
func HTTP(name string, ln net.Listener, h http.Handler, grace time.Duration) Part {
	return Part{name, func(ctx context.Context) error {
		srv := &http.Server{
			Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
			BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		}
		failed := make(chan error, 1)
		go func() { failed <- srv.Serve(ln) }()
		select {
		case err := <-failed:
			return err
		case <-ctx.Done():
		}
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		if err := srv.Shutdown(end); err != nil {
			return errors.Join(err, srv.Close())
		}
		return nil
	}}
}

// Ops is the handler of the ops address: /healthz (the process runs), /readyz
// (it serves; ready says why not) and pprof.
func Ops(ready func() error) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
