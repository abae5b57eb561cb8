// Package daemon runs a process: its parts, its signals, its health endpoints.
//
// A process is a list of parts. The first to return stops the others in reverse
// order, so that a part on which others depend stops last. The package decides
// nothing about asks.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/askbus/askbus/internal/process/httpserver"
)

// Signals returns a context that ends with SIGINT or SIGTERM. A second signal
// ends the process at once.
func Signals(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // restores the default effect for a second signal
	return ctx, stop
}

// Hangups signals each SIGHUP, a request to read files again, until ctx ends.
// If the terminal in which the process was started is gone, a SIGHUP ends the
// process as usual.
func Hangups(ctx context.Context) <-chan os.Signal {
	had := hasTerminal()
	got, again := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(got, syscall.SIGHUP)
	go func() {
		defer signal.Stop(got)
		for {
			select {
			case <-ctx.Done():
				return
			case s := <-got:
				if had && !hasTerminal() {
					_ = syscall.Kill(os.Getpid(), syscall.SIGTERM) // drains
					continue
				}
				select {
				case again <- s:
				default: // a signal is queued, and its reader sees the latest files
				}
			}
		}
	}()
	return again
}

func hasTerminal() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	return tty.Close() == nil
}

// Part is one long-running part of a process.
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
	easing, stop := context.WithCancel(ctx)
	defer stop()
	LimitMemory()
	go EaseHeap(easing)
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

// Leaving is [HTTP] with a part that sends clients elsewhere before anything else of the process stops: for linger,
// requests are served, and each ends its connection. Start it last.
func Leaving(name string, ln net.Listener, h http.Handler, limits httpserver.Limits, grace, linger time.Duration) (serve, leave Part) {
	srv := httpserver.New(ln, h, limits)
	return Part{name, func(ctx context.Context) error { return srv.Run(ctx, grace) }}, Part{name + " is left", func(ctx context.Context) error {
		<-ctx.Done()
		srv.Leave(linger)
		return nil
	}}
}

// HTTP serves a handler on a listener, within limits, until ctx ends; then it
// finishes running requests for at most grace.
func HTTP(name string, ln net.Listener, h http.Handler, limits httpserver.Limits, grace time.Duration) Part {
	srv := httpserver.New(ln, h, limits)
	return Part{name, func(ctx context.Context) error { return srv.Run(ctx, grace) }}
}
