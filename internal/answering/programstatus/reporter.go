package programstatus

import (
	"cmp"
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// Options describes the terminal. The zero value reports to none.
type Options struct {
	Term   string // its TERM; none, and those that would show escape sequences, get no reports
	Tmux   bool   // it is a pane of tmux
	Screen bool   // it is a window of GNU screen, which forwards nothing
	Path   string // default: /dev/tty, the controlling terminal
}

// Reporter reports to one terminal. It is safe for concurrent use; a nil
// Reporter does nothing.
type Reporter struct {
	opts Options

	mu    sync.Mutex
	waits int
}

// New makes a reporter, nil if the terminal cannot take reports.
func New(opts Options) *Reporter {
	switch opts.Term {
	case "", "dumb", "linux":
		return nil
	}
	if opts.Screen && !opts.Tmux {
		return nil
	}
	opts.Path = cmp.Or(opts.Path, "/dev/tty")
	return &Reporter{opts: opts}
}

// Waiting reports that a person is needed until done is called, which may be
// called more than once. Of several concurrent waits the first is reported, and
// the last clears the report.
func (r *Reporter) Waiting(message string) (done func()) {
	if r == nil {
		return func() {}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waits++
	if r.waits == 1 {
		r.write(Blocked(message))
	}
	return sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.waits--
		if r.waits == 0 {
			r.write(Clear())
		}
	})
}

// write writes one report in one call. If the terminal would block, or the
// process has none, the report is dropped.
func (r *Reporter) write(sequence string) {
	if r.opts.Tmux {
		sequence = InTmux(sequence)
	}
	fd, err := unix.Open(r.opts.Path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd) //nolint:errcheck // nothing to do about an error
	for {
		if _, err := unix.Write(fd, []byte(sequence)); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
