package natsd_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/nats-io/nats.go/jetstream"
)

// A budget that does not fit on the disk is logged at start, and a disk that
// fills up makes the server not ready until there is room.
func TestTheDiskIsComparedWithTheBudget(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=60m,mode=700"); err != nil {
		t.Skipf("mounting needs root: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	said := func(budget int64) string {
		var log bytes.Buffer
		s, err := natsd.Start(natsd.Options{Dir: dir, Addr: "127.0.0.1:0", MaxStore: budget, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Healthy(); err != nil {
			t.Errorf("with %d bytes: %v", budget, err)
		}
		ballast := filepath.Join(dir, "ballast")
		write(t, ballast, strings.Repeat("x", 58<<20))
		if err := s.Healthy(); err == nil {
			t.Error("a disk that is nearly full")
		} else {
			wants(t, err.Error(), dir, "make room")
		}
		remove(t, ballast)
		if err := s.Healthy(); err != nil {
			t.Errorf("after room was made: %v", err)
		}
		s.Close()
		return log.String()
	}
	wants(t, said(10<<30), "budget does not fit", `budget="10 GiB"`, "free=", "lacks=", "--max-store")
	if log := said(40 << 20); strings.Contains(log, "budget") {
		t.Errorf("of a budget that fits: %s", log)
	}
}

// A stream's first message that did not fit on the disk was never acknowledged, so it is not
// missed when the server starts again. The server counts it once its write has failed.
func TestAMessageThatCouldNotBeWrittenIsNotMissed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=24m,mode=700"); err != nil {
		t.Skipf("mounting needs root: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	s := natstest.Serve(t, dir, "127.0.0.1:0", 0)
	_, js := admin(t, s)
	var streams []jetstream.Stream
	for _, name := range []string{"ASKS_00", "ASKS_01"} {
		stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{name}})
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, stream)
	}
	ballast := filepath.Join(dir, "ballast")
	full, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = full.Write(make([]byte, 4096))
	}
	_ = full.Close()
	if _, err := js.Publish(t.Context(), "ASKS_00", []byte("x")); err == nil {
		t.Fatal("a message was stored on a full disk")
	}
	natstest.Eventually(t, "the server counts the message", func() bool {
		info, err := streams[0].Info(t.Context())
		return err == nil && info.State.LastSeq == 1
	})
	remove(t, ballast)
	if _, err := js.Publish(t.Context(), "ASKS_01", []byte("x")); err != nil {
		t.Fatal(err)
	}
	waitForMark(t, dir, `"ASKS_01":1`)
	starts(t, copied(t, dir))
}

func TestABudgetThatIsTooSmallIsExplained(t *testing.T) {
	t.Parallel()
	err := natsd.CheckBudget(1 << 20)
	if err == nil {
		t.Fatal("1 MiB")
	}
	wants(t, err.Error(), "1 MiB is too little", "64 MiB", "8 MiB")
	if err := natsd.CheckBudget(64 << 20); err != nil {
		t.Error(err)
	}
	// A single server starts with less than what its streams may use, because they must be readable.
	var logged bytes.Buffer
	opts := natsd.Options{Dir: t.TempDir(), Addr: "127.0.0.1:0", Admin: true, Logger: slog.New(slog.NewTextHandler(&logged, nil))}
	for _, opts.MaxStore = range []int64{300 << 20, 100 << 20} {
		s, err := natsd.Start(opts)
		if err != nil {
			t.Fatal(err)
		}
		js, err := jetstream.New(natstest.Plain(t, s, rights.Role{Name: rights.RoleLedgerAdmin}))
		if err == nil && opts.MaxStore > 200<<20 {
			_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "AUDIT", Subjects: []string{"x"}, MaxBytes: 200 << 20})
		}
		s.Close()
		if said := strings.Contains(logged.String(), "is too little for this store"); err != nil || said != (opts.MaxStore < 200<<20) {
			t.Errorf("%d bytes: %v: %s", opts.MaxStore, err, &logged)
		}
	}
	wants(t, logged.String(), "--max-store 100 MiB", "may use 200 MiB of it, and when they do, asks and answers are refused")
}
