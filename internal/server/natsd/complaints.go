package natsd

import (
	"log/slog"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/process/ratelimit"
)

// The server logs a line for each message that it denies, so denied clients
// control how many there are.
const (
	ofConnection = 10  // lines of one kind about one connection in a minute
	ofKind       = 200 // and about all connections
)

// complaints limits the lines about clients, and counts those that it drops.
type complaints struct {
	log                *slog.Logger
	connections, kinds *ratelimit.PerMinute
	stop               func() // ends pauses
	stopped            chan struct{}

	mu      sync.Mutex
	leftOut map[string]int // dropped lines by kind
	said    *time.Timer    // logs how many were dropped; nil if none were
}

func newComplaints(log *slog.Logger) *complaints {
	stopped := make(chan struct{})
	return &complaints{
		log: log, connections: ratelimit.New(ofConnection), kinds: ratelimit.New(ofKind), leftOut: map[string]int{},
		stopped: stopped, stop: sync.OnceFunc(func() { close(stopped) }),
	}
}

// pause holds up a client of which a subscription was refused: the server logs
// on the goroutine that reads what the client sends.
func (c *complaints) pause() {
	t := time.NewTimer(refusalPause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.stopped:
	}
}

// connection matches the server's name of one: of a client (also over WebSocket
// or MQTT), a route, a gateway or a leaf.
var connection = regexp.MustCompile(`\b[cwmrgl]id(?:_ws)?:\d+`)

// clientOf returns the id of the client that a line is about, or 0.
func clientOf(line string) uint64 {
	id, err := strconv.ParseUint(strings.TrimPrefix(connection.FindString(line), "cid:"), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// count reports whether a line is about a client, and whether to write it.
func (c *complaints) count(line string, now time.Time) (about, write bool) {
	at := connection.FindString(line)
	if at == "" {
		return false, true
	}
	kind := kindOf(line)
	if c.connections.Take(at+" "+kind, now) && c.kinds.Take(kind, now) {
		return true, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leftOut[kind]++
	if c.said == nil {
		c.said = time.AfterFunc(time.Minute, c.report)
	}
	return true, false
}

// kindOf returns the kind of a line, one of a few, because a client controls
// the rest of its text.
func kindOf(line string) string {
	for _, kind := range []string{"Publish Violation", "Subscription Violation", "authentication error", "handshake error", "maximum"} {
		if strings.Contains(line, kind) {
			return strings.ToLower(kind)
		}
	}
	return "other"
}

// report logs what was dropped since its last call.
func (c *complaints) report() {
	c.mu.Lock()
	left := maps.Clone(c.leftOut)
	clear(c.leftOut)
	if c.said != nil {
		c.said.Stop()
		c.said = nil
	}
	c.mu.Unlock()
	for kind, n := range left {
		c.log.Warn("dropped lines of nats-server about its clients", slog.String("kind", kind), slog.Int("lines", n))
	}
}
