package token

import (
	"slices"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// Endpoint is where a token is accepted.
type Endpoint string

// The endpoints.
const (
	HTTP Endpoint = "http" // the HTTP API
	WS   Endpoint = "ws"   // the WebSocket, and the panel that uses it
	MCP  Endpoint = "mcp"  // tools of agents
	Hook Endpoint = "hook" // hooks of agents' hosts
	NATS Endpoint = "nats" // a NATS credential in exchange for the token
	A2A  Endpoint = "a2a"  // tasks of the Agent2Agent protocol
)

func allEndpoints() []Endpoint { return []Endpoint{HTTP, WS, MCP, Hook, NATS, A2A} }

// EndpointAt returns the endpoint of a path.
func EndpointAt(path string) Endpoint {
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

// CheckEndpoint returns an [*ask.Error] if the token is not valid for an endpoint.
func (t *Token) CheckEndpoint(e Endpoint) error {
	if len(t.Endpoints) == 0 || slices.Contains(t.Endpoints, e) {
		return nil
	}
	names := make([]string, len(t.Endpoints))
	for i, at := range t.Endpoints {
		names[i] = string(at)
	}
	return ask.Refusal(ask.CodeForbidden, ask.FaultTokenEndpoint, names, e)
}
