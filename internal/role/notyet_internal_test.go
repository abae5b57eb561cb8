package role

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
)

// ASKBUS_NATS_WAIT covers what a role meets when it starts before its server: in a drill on
// Kubernetes the server's name was not in DNS yet, and the Slack pods ended instead of waiting.
func TestARoleWaitsForEverythingThatAServerDoesWhileItStarts(t *testing.T) {
	t.Parallel()
	accepts := func(serve func(net.Conn)) string {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ln.Close() })
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				go serve(c)
			}
		}()
		return "nats://" + ln.Addr().String()
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "nats://" + closed.Addr().String()
	_ = closed.Close()
	const info = `INFO {"server_id":"x","version":"2.15.2","max_payload":1048576,"proto":1,"headers":true}` + "\r\n"
	says := func(line string) func(net.Conn) {
		return func(c net.Conn) {
			_, _ = c.Write([]byte(info))
			_, _ = c.Read(make([]byte, 4096)) // CONNECT
			_, _ = c.Write([]byte(line))
			_ = c.Close()
		}
	}
	const silent = "a proxy before it says nothing" // the only one whose time runs out
	for name, c := range map[string]struct {
		url   string
		waits bool
	}{
		"nothing listens":                    {nobody, true},
		"its name is not in DNS":             {"nats://bus.invalid:4222", true},
		"a proxy before it closes":           {accepts(func(c net.Conn) { _ = c.Close() }), true},
		silent:                               {accepts(func(net.Conn) {}), true},
		"it stops during the greeting":       {accepts(says("")), true},
		"it refuses the credential":          {accepts(says("-ERR 'Authorization Violation'\r\n")), false},
		"the address is not one of NATS":     {accepts(func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) }), false},
		"the URL's port is not a number":     {"nats://127.0.0.1:port", false},
		"it speaks no TLS, and the URL does": {"tls" + accepts(says(""))[len("nats"):], false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit := waittest.Limit
			if name == silent {
				limit = 200 * time.Millisecond
			}
			nc, err := nats.Connect(c.url, nats.Timeout(limit))
			if err == nil {
				nc.Close()
				t.Fatal("connected")
			}
			if got := notYet(err); got != c.waits {
				t.Errorf("waits: %v, want %v; %T %v", got, c.waits, err, err)
			}
		})
	}
}

// A role that waits for its server ends when it is told to, and not when the wait is over.
func TestARoleThatWaitsForItsServerStops(t *testing.T) {
	t.Parallel()
	srv, err := natsd.Start(natsd.Options{Dir: t.TempDir(), Addr: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	cred, err := srv.Credential(rights.Role{Name: rights.RoleBroker})
	srv.Close()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	a := &cli.App{}
	a.NATS.Wait = time.Hour
	r := &Process{a: a, stopped: ctx.Done(), Log: slog.New(slog.DiscardHandler)}
	stop()
	if _, err := r.connect(client.Credential(cred)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context canceled", err)
	}
}
