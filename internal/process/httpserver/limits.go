package httpserver

import (
	"syscall"
	"time"
)

// Limits bounds a [Server]. The zero value is ready to use.
type Limits struct {
	Connections   int // at once; default: half of the descriptors that the process may open, at most 32,768
	PerAddress    int // of one remote address (of one /64 of IPv6); default: half of Connections
	PerCredential int // of one credential; default: a quarter of Connections, at least 16
	PerMinute     int // new ones of one remote address in a minute; default 30,000
	NewPerMinute  int // new ones of one credential in a minute; default 6,000
	Unidentified  int // that no request has identified yet; the oldest is closed for the next; default: a quarter of Connections, at most 1,024

	HeaderTimeout time.Duration // for a request's header; default 10 s
	BodyTimeout   time.Duration // for a request's whole body; default 15 s
}

const (
	idleTimeout = 2 * time.Minute // between two requests
	maxHeader   = 64 << 10        // bytes of a header
	maxBody     = 12 << 20        // bytes of a body, the most that a handler takes: files in base64; each sets its own
)

// share is the fraction of the process's descriptors for one listener.
const share = 2

// MostConnections returns how many connections there may be at once, by default as well.
func MostConnections(l Limits) int {
	l.fill()
	return l.Connections
}

func (l *Limits) fill() {
	number := func(n *int, otherwise int) {
		if *n <= 0 {
			*n = otherwise
		}
	}
	duration := func(d *time.Duration, otherwise time.Duration) {
		if *d <= 0 {
			*d = otherwise
		}
	}
	number(&l.Connections, min(descriptors()/share, 32_768))
	number(&l.PerAddress, max(1, l.Connections/2))
	number(&l.PerCredential, max(16, l.Connections/4))
	number(&l.PerMinute, 30_000)
	number(&l.NewPerMinute, 6_000)
	number(&l.Unidentified, min(max(1, l.Connections/4), 1024))
	duration(&l.HeaderTimeout, 10*time.Second)
	duration(&l.BodyTimeout, 15*time.Second)
}

// descriptors returns how many files and sockets the process may open.
func descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	return int(min(limit.Cur, 1<<20))
}
