package natsd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/server/storecheck"
	"github.com/nats-io/nats-server/v2/server"
)

// awaitStore is openStore, and waits while another process has locked the
// store. On Kubernetes the process of a pod that was deleted by force may run
// beside its successor, for up to its grace period; ending at once would leave the
// successor to the kubelet's back-off. At a terminal a second server should be told
// at once, so by default there is no wait.
func awaitStore(opts Options) (*os.File, error) {
	begun := time.Now()
	lock, err := storecheck.Lock(opts.Dir)
	for try := 0; errors.Is(err, storecheck.ErrInUse) && time.Since(begun) < opts.Wait; try++ {
		if try == 0 {
			opts.Logger.Warn("another askbus process uses the store: waiting until it has stopped", slog.String("dir", opts.Dir), slog.Duration("at_most", opts.Wait))
		}
		select {
		case <-time.After(min(backoff.Delay(50*time.Millisecond, try), opts.Wait-time.Since(begun))):
		case <-opts.Stopped:
			return nil, fmt.Errorf("stopped while another askbus process used the store in %s: %w", opts.Dir, context.Canceled)
		}
		if lock, err = storecheck.Lock(opts.Dir); err == nil {
			opts.Logger.Warn("the other askbus process has stopped: starting", slog.Duration("waited", time.Since(begun)))
		}
	}
	if errors.Is(err, storecheck.ErrInUse) && opts.Wait > 0 {
		return nil, fmt.Errorf("%w (waited %s)", err, opts.Wait)
	}
	return lock, err
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
				return storecheck.Corrupt(dir, fmt.Sprintf("stream %s has lost %d messages", s.Name, len(s.State.Lost.Msgs)))
			}
		}
	}
	names, err := storecheck.StreamNames(storecheck.StreamsDir(dir))
	if err != nil {
		return err
	}
	for _, name := range names {
		if !loaded[name] {
			return storecheck.Corrupt(dir, fmt.Sprintf("stream %s cannot be read", name))
		}
	}
	return nil
}
