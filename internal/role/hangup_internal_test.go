package role

import (
	"bytes"
	"context"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/daemon"
	"github.com/askbus/askbus/internal/server/certificate"
)

// A SIGHUP that comes as soon as a process says that it is ready makes it read its certificate
// again. Without its handler the signal would end the process, which is this test's here.
func TestASighupIsHandledOnceAProcessSaysThatItIsReady(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := certificate.Own(dir, []string{"localhost"}, nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	files, _ := certificate.OwnFiles(dir)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	renewed := sync.OnceFunc(cancel)
	keeper, err := certificate.Open(files, certificate.Options{Renew: func() error { renewed(); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	a := &cli.App{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}
	a.Dir, a.LogLevel, a.LogFormat = dir, "error", "text"
	r := NewRunning(ctx, a)
	r.tls = keeper
	r.parts = []daemon.Part{{Name: "waits", Run: func(ctx context.Context) error { <-ctx.Done(); return nil }}}
	if err := r.Run(ctx, func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Error(err)
	}
}
