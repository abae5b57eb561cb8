package torture_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/lab/torture"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
)

// mount mounts a small file system.
func mount(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	mountAt(t, dir, size)
	return dir
}

func mountAt(t *testing.T, dir, size string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=700,size="+size); err != nil {
		t.Skipf("mounting needs root: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
}

// filled fills the disk of a directory, and returns the file that does.
func filled(t *testing.T, dir string) (ballast string) {
	t.Helper()
	ballast = filepath.Join(dir, "ballast")
	full, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = full.Write(make([]byte, 4096))
	}
	_ = full.Close()
	return ballast
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
	c := agent(t, connect(t, bus, rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s1"}))
	var kept []string
	for {
		id := fmt.Sprintf("a%d", len(kept))
		// The refusal comes within one attempt.
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		_, err := c.Ask(ctx, big(id))
		cancel()
		if err != nil {
			if e, ok := errors.AsType[*ask.Error](err); !ok || wire.HTTPStatus(e.Code) != 503 || !strings.Contains(e.Detail, "disk") && !strings.Contains(e.Detail, "/readyz") {
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

// When a full disk has room again, a single server stores again by itself: no
// acknowledged ask is lost, what fell due meanwhile ends, and everything is still
// there after a restart.
func TestAFullDiskIsLeftWithoutARestart(t *testing.T) {
	t.Parallel()
	dir := emptyDisk(t).dir
	bus := embedded(t, torture.EmbeddedOptions{Dir: dir, Brokers: 1, MaxStore: 64 << 20, Retention: time.Hour, Margin: torture.DefaultMargin})
	c := agent(t, connect(t, bus, rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s1"}))
	kept := []string{"due"}
	due := big("due")
	due.Timeout, due.Deadline = 0, time.Now().Add(8*time.Second)
	if _, err := c.Ask(t.Context(), due); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		id := fmt.Sprintf("a%d", len(kept))
		if _, err := c.Ask(t.Context(), big(id)); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, id)
	}
	ballast := filled(t, dir)
	for {
		id := fmt.Sprintf("a%d", len(kept))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		_, err := c.Ask(ctx, big(id))
		cancel()
		if err != nil {
			break
		}
		kept = append(kept, id)
	}
	healthy := bus.(*torture.Embedded).Healthy
	if err := healthy(); err == nil || !strings.Contains(err.Error(), "the store is opened again when 6.4 MiB are free") {
		t.Fatalf("the server's health: %v", err)
	}
	<-time.After(time.Until(due.Deadline.Add(time.Second)))
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "the server is healthy", func() bool { return healthy() == nil })
	natstest.Eventually(t, "an ask is stored", func() bool {
		_, err := c.Ask(t.Context(), big("after"))
		return err == nil
	})
	natstest.Eventually(t, "what was due has ended", func() bool {
		rec, err := c.Get(t.Context(), "due")
		return err == nil && rec.Outcome != nil && rec.Outcome.Status == ask.StatusExpired
	})
	for _, id := range kept[1:] {
		if _, err := c.Withdraw(t.Context(), id, ""); err != nil {
			t.Fatalf("%s of %d: %v", id, len(kept), err)
		}
	}
	if err := bus.Victims()[0].Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, id := range kept {
		if rec, err := c.Get(t.Context(), id); err != nil || rec.Outcome == nil {
			t.Errorf("%s of %d after a restart: state %q, %v", id, len(kept), rec.State, err)
		}
	}
}

// A node of a cluster whose disk was full ends when there is room again, and catches up when it is started again.
func TestANodeEndsWhenItsFullDiskHasRoomAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	small := filepath.Join(dir, "n3")
	if err := os.Mkdir(small, 0o700); err != nil {
		t.Fatal(err)
	}
	mountAt(t, small, "60m")
	bus := embedded(t, torture.EmbeddedOptions{Dir: dir, Nodes: 3, Brokers: 1, MaxStore: 64 << 20})
	node := bus.(*torture.Embedded).Nodes()[2]
	ended := make(chan error, 1)
	go func() { ended <- node.AwaitRoom(t.Context()) }()
	c := agent(t, connect(t, bus, rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s1"}))
	ballast := filled(t, small)
	var kept []string
	natstest.Eventually(t, "a write of the node fails", func() bool {
		id := fmt.Sprintf("a%d", len(kept))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if _, err := c.Ask(ctx, big(id)); err == nil {
			kept = append(kept, id)
		}
		err := node.Healthy()
		return err != nil && strings.Contains(err.Error(), "this process ends")
	})
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "has room again") {
		t.Fatalf("the node: %v", err)
	}
	if err := bus.Victims()[2].Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "all nodes are healthy", func() bool { return bus.(*torture.Embedded).Healthy() == nil })
	for _, id := range kept {
		if rec, err := c.Get(t.Context(), id); err != nil || rec.State != ask.StatePending {
			t.Errorf("%s of %d: state %q, %v", id, len(kept), rec.State, err)
		}
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
