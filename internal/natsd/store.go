package natsd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/askbus/askbus/internal/atomicfile"
	"github.com/askbus/askbus/internal/backoff"
	"github.com/nats-io/nats-server/v2/server"
)

const (
	storeDir    = "nats"
	lockFile    = "lock"
	versionFile = "version"

	// storeVersion is the version of the directory's layout. An askbus refuses
	// a newer one.
	storeVersion = "1"
)

// errInUse means that another process has locked the store.
var errInUse = errors.New("in use by another askbus process")

// awaitStore is openStore, and waits while another process has locked the
// store. On Kubernetes the process of a pod that was deleted by force may run
// for some time beside its successor.
func awaitStore(opts Options) (*os.File, error) {
	begun := time.Now()
	lock, err := openStore(opts.Dir)
	for try := 0; errors.Is(err, errInUse) && time.Since(begun) < opts.Wait; try++ {
		if try == 0 {
			opts.Logger.Warn("another askbus process uses the store: waiting until it has stopped", slog.String("dir", opts.Dir), slog.Duration("at_most", opts.Wait))
		}
		select {
		case <-time.After(min(backoff.Delay(50*time.Millisecond, try), opts.Wait-time.Since(begun))):
		case <-opts.Stopped:
			return nil, fmt.Errorf("stopped while another askbus process used the store in %s: %w", opts.Dir, context.Canceled)
		}
		if lock, err = openStore(opts.Dir); err == nil {
			opts.Logger.Warn("the other askbus process has stopped: starting", slog.Duration("waited", time.Since(begun)))
		}
	}
	if errors.Is(err, errInUse) && opts.Wait > 0 {
		return nil, fmt.Errorf("%w (waited %s)", err, opts.Wait)
	}
	return lock, err
}

// openStore creates the directory, locks it and checks its version.
func openStore(dir string) (*os.File, error) {
	if dir == "" {
		return nil, errors.New("no directory given; set --dir")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot create the store's directory: %w; choose another with --dir", err)
	}
	if err := checkModes(dir); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the store's directory %s is not writable: %w; fix its permissions or choose another with --dir", dir, err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("the store in %s is %w; stop it, or choose another directory with --dir", dir, errInUse)
		}
		return nil, fmt.Errorf("cannot lock the store in %s: %w", dir, err)
	}
	if err := checkVersion(dir); err != nil {
		_ = lock.Close()
		return nil, err
	}
	return lock, nil
}

func checkVersion(dir string) error {
	path := filepath.Join(dir, versionFile)
	data, err := os.ReadFile(path)
	switch got := strings.TrimSpace(string(data)); {
	case errors.Is(err, os.ErrNotExist):
		if err := writeSynced(path, []byte(storeVersion+"\n")); err != nil {
			return fmt.Errorf("the store's directory %s is not writable: %w; fix its permissions or choose another with --dir", dir, err)
		}
		return nil
	case err != nil:
		return fmt.Errorf("cannot read the store's version: %w", err)
	case got != storeVersion:
		return fmt.Errorf("the store in %s has version %.20q, this askbus supports version %s; use the newer askbus that wrote it", dir, got, storeVersion)
	}
	return nil
}

// writeSynced replaces a small file that must survive a power cut.
func writeSynced(path string, data []byte) error {
	if err := atomicfile.Write(path, data, 0o600); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(path))
}

// checkStore checks that every stream came back: the server only warns when it
// skips an unreadable stream, and the ledger would start empty.
func checkStore(srv *server.Server, dir string) error {
	js, err := srv.Jsz(&server.JSzOptions{Accounts: true, Streams: true, Limit: 1024})
	if err != nil {
		return fmt.Errorf("JetStream does not answer: %w", err)
	}
	loaded := map[string]bool{}
	for _, account := range js.AccountDetails {
		for _, s := range account.Streams {
			loaded[s.Name] = true
			if s.State.Lost != nil && len(s.State.Lost.Msgs) > 0 {
				return corrupt(dir, fmt.Sprintf("stream %s has lost %d messages", s.Name, len(s.State.Lost.Msgs)))
			}
		}
	}
	names, err := streamNames(streamsDir(dir))
	if err != nil {
		return err
	}
	for _, name := range names {
		if !loaded[name] {
			return corrupt(dir, fmt.Sprintf("stream %s cannot be read", name))
		}
	}
	return nil
}
