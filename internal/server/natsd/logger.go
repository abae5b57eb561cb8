package natsd

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/server/rights"
)

// logger passes the server's log to slog and remembers fatal errors, on which
// the server would otherwise end the process.
type logger struct {
	log     *slog.Logger
	clients *complaints
	guard   atomic.Pointer[guard] // hears of refused subscriptions; nil: not yet

	mu     sync.Mutex
	last   string
	failed string          // the first failed write
	stuck  map[string]bool // streams of which a write failed
}

func newLogger(log *slog.Logger) *logger {
	return &logger{log: log, clients: newComplaints(log), stuck: map[string]bool{}}
}

// writeFailure returns the server's message about the first failed write.
func (l *logger) writeFailure() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// forget forgets failed writes: the streams are opened again.
func (l *logger) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = ""
	clear(l.stuck)
}

func (l *logger) fatal() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

func (l *logger) remember(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = s
	if !strings.Contains(strings.ToLower(s), "write error") {
		return
	}
	l.failed = cmp.Or(l.failed, s)
	if _, rest, ok := strings.Cut(s, "Filestore ["); ok {
		stream, _, _ := strings.Cut(rest, "]")
		l.stuck[stream] = true
	}
}

// failedIn reports whether a write to this stream failed. The server says so
// before it counts the message that it could not write.
func (l *logger) failedIn(stream string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stuck[stream]
}

func (l *logger) Noticef(format string, v ...any) {
	if strings.Contains(format, "Slow Consumer") { // who was cut off: the alert AskbusSlowConsumers sends its reader here
		l.Warnf(format, v...)
		return
	}
	l.log.Debug("nats-server", slog.String("text", fmt.Sprintf(format, v...)))
}

func (l *logger) Warnf(format string, v ...any) {
	s, level := fmt.Sprintf(format, v...), slog.LevelWarn
	if _, write := l.clients.count(s, time.Now()); !write {
		return
	}
	if rebuildsState(s) {
		level = slog.LevelInfo
	}
	l.log.Log(context.Background(), level, "nats-server", slog.String("text", s))
}

// rebuildsState reports whether the server says that it rebuilds its index,
// timers or sources from the messages, as it does after it was killed. This is
// not damage.
func rebuildsState(s string) bool {
	return strings.Contains(s, "state is outdated; attempting to recover using") ||
		strings.Contains(s, "Stream state outdated, ") ||
		strings.HasSuffix(s, "Recovering stream state from index errored: prior state file")
}

func (l *logger) Errorf(format string, v ...any) {
	s, now := fmt.Sprintf(format, v...), time.Now()
	about, write := l.clients.count(s, now)
	if about && isRefusedSubscription(s) {
		defer l.clients.pause()
		if g := l.guard.Load(); g != nil {
			g.refusedSubscription(clientOf(s))
		}
	}
	if !about { // lines about clients say nothing about the disk
		l.remember(s)
	}
	switch {
	case write && isProbe(s):
		l.log.Debug("nats-server", slog.String("text", s))
	case write:
		l.log.Error("nats-server", slog.String("text", s))
	}
}

// refused matches the subject of a refused message. The name of a client is quoted before it, so it cannot pass for this.
var refused = regexp.MustCompile(`Publish Violation - Subject "([^"]*)"`)

// isProbe reports whether a message was refused that "askbus doctor" sent to be refused.
func isProbe(line string) bool {
	m := refused.FindStringSubmatch(line)
	return m != nil && slices.Contains(strings.Split(m[1], "."), rights.Probe)
}

func (l *logger) Fatalf(format string, v ...any) {
	s := fmt.Sprintf(format, v...)
	l.remember(s)
	l.log.Error("nats-server", slog.String("text", s))
}

func (l *logger) Debugf(string, ...any) {}
func (l *logger) Tracef(string, ...any) {}
