//go:build unix

package agent

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/askbus/askbus/internal/process/backoff"
)

// hostLook is how often a waiting hook looks for its host.
const hostLook = time.Second

// withHost returns a context that ends with a cause when the process that reads out is
// gone: nobody reads standard output any more, or the parent has died. A killed host leaves the shell that
// it started the hook with, so the parent alone does not tell.
func withHost(ctx context.Context, out *os.File, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	parent := os.Getppid()
	go func() {
		for backoff.Sleep(ctx, hostLook) == nil {
			if os.Getppid() != parent || unread(out) {
				cancel(cause)
				return
			}
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// unread reports whether the reader of a pipe or socket is gone.
func unread(f *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd())}} //nolint:gosec // a descriptor
	n, err := unix.Poll(fds, 0)
	return err == nil && n == 1 && fds[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
}
