package agent

import (
	"context"
	"os"
	"os/exec"
	"syscall"
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

// whenKilled runs a command of this program if this process ends without having called ended. A shell waits for that, in a
// session of its own, because a host kills the group of its hook.
func whenKilled(args []string) (ended func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return func() {}, err
	}
	cmd := exec.Command("/bin/sh", append([]string{"-c", `read -r _ || exec "$0" "$@"`, self}, args...)...) //nolint:gosec,noctx // it outlives this process
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	tell, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return func() {}, err
	}
	return func() {
		_, _ = tell.Write([]byte("\n")) // if it is gone, there is nothing to tell
		_ = cmd.Wait()                  // likewise
	}, nil
}

// unread reports whether the reader of a pipe or socket is gone.
func unread(f *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd())}} //nolint:gosec // a descriptor
	n, err := unix.Poll(fds, 0)
	return err == nil && n == 1 && fds[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
}
