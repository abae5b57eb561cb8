package torture_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/internal/torture"
	"github.com/askbus/askbus/internal/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
)

// mount mounts a small file system.
func mount(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=700,size="+size); err != nil {
		t.Skipf("mounting needs root: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

func big(id string) ask.Ask {
	return ask.Ask{ID: id, Context: strings.Repeat("x", 60_000), Timeout: time.Hour, Questions: []ask.Question{{Text: "Shall we?"}}}
}

// On a full disk an ask is refused with a message, no acknowledged ask is lost, and after space is
// freed and the server restarted everything works.
func TestAFullDiskLosesNothingAndIsReported(t *testing.T) {
	t.Parallel()
	dir := mount(t, "6m")
	bus := embedded(t, torture.EmbeddedOptions{Dir: dir, Brokers: 1})
	c := agent(t, connect(t, bus, natsd.Role{Name: natsd.RoleAgent, Tenant: "acme", Session: "s1"}))
	var kept []string
	for {
		id := fmt.Sprintf("a%d", len(kept))
		// The refusal comes within one attempt.
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		_, err := c.Ask(ctx, big(id))
		cancel()
		if err != nil {
			if e, ok := errors.AsType[*ask.Error](err); !ok || wire.HTTPStatus(e.Code) != 503 || !strings.Contains(e.Detail, "disk") {
				t.Fatalf("the refusal says %v", err)
			}
			break
		}
		kept = append(kept, id)
	}
	server := bus.Victims()[0]
	if err := bus.(*torture.Embedded).Healthy(); err == nil || !strings.Contains(err.Error(), "make room") {
		t.Fatalf("the server's health: %v", err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=60m"); err != nil {
		t.Fatal(err)
	}
	if err := server.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, id := range kept {
		if rec, err := c.Get(t.Context(), id); err != nil || rec.State != ask.StatePending {
			t.Fatalf("%s of %d: state %q, %v", id, len(kept), rec.State, err)
		}
	}
	if _, err := c.Ask(t.Context(), big("after")); err != nil {
		t.Fatal(err)
	}
}

func TestAReadOnlyStoreIsReported(t *testing.T) {
	t.Parallel()
	dir := mount(t, "20m")
	srv, err := natsd.Start(natsd.Options{Dir: dir, Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	srv.Close()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	srv, err = natsd.Start(natsd.Options{Dir: dir, Addr: "127.0.0.1:0"})
	if err == nil {
		srv.Close()
		t.Fatal("it started")
	}
	if !strings.Contains(err.Error(), "not writable") || !strings.Contains(err.Error(), "--dir") {
		t.Fatalf("it says %q", err)
	}
}

// agent returns the asks of acme/s1.
func agent(t *testing.T, nc *nats.Conn) client.Session {
	t.Helper()
	c, err := client.New(nc, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c.Session("acme", "s1")
}
