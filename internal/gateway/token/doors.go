package token

import (
	"fmt"
	"slices"
	"strings"
)

// Door is a protocol for which a token is valid.
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

// AllDoors returns all doors.
func AllDoors() []Door { return []Door{HTTP, WS, MCP, Hook, NATS, A2A} }

// DoorAt returns the door of a path.
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

// Opens returns an error if the token is not valid for a door.
func (t *Token) Opens(d Door) error {
	if len(t.Doors) == 0 || slices.Contains(t.Doors, d) {
		return nil
	}
	names := make([]string, len(t.Doors))
	for i, d := range t.Doors {
		names[i] = string(d)
	}
	return fmt.Errorf("this token is valid for %s, not for %s", strings.Join(names, ", "), d)
}
