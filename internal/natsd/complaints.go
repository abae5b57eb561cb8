package natsd

import (
	"log/slog"
	"maps"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/ratelimit"
)

// The server writes a line for each message that it denies, and whoever is
// denied decides how many there are.
const (
	ofConnection = 10  // lines of one kind about one connection in a minute
	ofKind       = 200 // and about all
)

// The server calls its log on the goroutine that reads what the client sends. So
// a pause there holds up that client alone, and TCP makes it wait: denied
// messages cost the server little more than those that it has read already.
const (
	freeDenials = 2000 // of one connection in a minute, without a pause
	denialPause = 10 * time.Millisecond
)

// complaints bounds the lines about clients, and counts what it leaves out.
type complaints struct {
	log                *slog.Logger
	connections, kinds *ratelimit.PerMinute
	denials            *ratelimit.PerMinute
	pause              func(time.Duration)

	mu      sync.Mutex
	leftOut map[string]int // by kind
	said    *time.Timer    // says how many were left out; nil when none were
}

func newComplaints(log *slog.Logger) *complaints {
	return &complaints{log: log, connections: ratelimit.New(ofConnection), kinds: ratelimit.New(ofKind), denials: ratelimit.New(freeDenials), pause: time.Sleep, leftOut: map[string]int{}}
}

// slow holds up the client that a line is about when the server has denied it
// much already.
func (c *complaints) slow(line string, now time.Time) {
	if !strings.Contains(line, "Publish Violation") && !strings.Contains(line, "Subscription Violation") {
		return
	}
	at := connection.FindString(line)
	if at == "" {
		return
	}
	if !c.denials.Take(at, now) {
		c.pause(denialPause)
	}
}

// connection is how the server names one: of a client (also over WebSocket or
// MQTT), a route, a gateway or a leaf.
var connection = regexp.MustCompile(`\b[cwmrgl]id(?:_ws)?:\d+`)

// take reports whether a line is about a client, and whether to write it.
func (c *complaints) take(line string, now time.Time) (about, write bool) {
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
		c.said = time.AfterFunc(time.Minute, c.tell)
	}
	return true, false
}

// kindOf is what a line is about. There are few: a client decides what else
// stands in it.
func kindOf(line string) string {
	for _, kind := range []string{"Publish Violation", "Subscription Violation", "authentication error", "handshake error", "maximum"} {
		if strings.Contains(line, kind) {
			return strings.ToLower(kind)
		}
	}
	return "other"
}

// tell says what was left out since it last did.
func (c *complaints) tell() {
	c.mu.Lock()
	left := maps.Clone(c.leftOut)
	clear(c.leftOut)
	if c.said != nil {
		c.said.Stop()
		c.said = nil
	}
	c.mu.Unlock()
	for kind, n := range left {
		c.log.Warn("lines of nats-server about its clients were left out", slog.String("kind", kind), slog.Int("lines", n))
	}
}
