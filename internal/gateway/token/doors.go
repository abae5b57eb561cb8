package token

import (
	"fmt"
	"slices"
	"strings"
)

// Door is where a token counts.
type Door string

// The doors.
const (
	HTTP Door = "http" // the HTTP API
	WS   Door = "ws"   // the WebSocket, and the panel that uses it
	MCP  Door = "mcp"  // tools of agents
	Hook Door = "hook" // hooks of agents' hosts
	NATS Door = "nats" // a NATS credential in exchange for the token
	A2A  Door = "a2a"  // tasks of the Agent2Agent protocol
)

// AllDoors lists them.
func AllDoors() []Door { return []Door{HTTP, WS, MCP, Hook, NATS, A2A} }

// DoorAt is the door at a path.
func DoorAt(path string) Door {
	switch {
	case path == "/mcp":
		return MCP
	case path == "/a2a":
		return A2A
	case path == "/v1/hook":
		return Hook
	case path == "/v1/credentials":
		return NATS
	case path == "/ws", path == "/embed", strings.HasPrefix(path, "/embed/"):
		return WS
	}
	return HTTP
}

// Opens is nil when the token counts at a door, else why it does not.
func (t *Token) Opens(d Door) error {
	if len(t.Doors) == 0 || slices.Contains(t.Doors, d) {
		return nil
	}
	names := make([]string, len(t.Doors))
	for i, d := range t.Doors {
		names[i] = string(d)
	}
	return fmt.Errorf("this token counts at the doors %s, and this is %s", strings.Join(names, ", "), d)
}
