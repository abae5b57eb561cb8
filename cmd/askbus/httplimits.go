package main

import (
	"github.com/askbus/askbus/internal/httpserver"
)

// limits are those of the HTTP listener, as far as settings name them.
func (s *upSettings) limits() httpserver.Limits {
	return limits(s.HTTPConnections, s.HTTPConnectionsPerAddress)
}

func (s *gatewaySettings) limits() httpserver.Limits {
	return limits(s.HTTPConnections, s.HTTPConnectionsPerAddress)
}

func limits(connections, perAddress int) httpserver.Limits {
	return httpserver.Limits{Connections: connections, PerAddress: perAddress}
}
