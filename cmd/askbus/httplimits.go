package main

import (
	"github.com/askbus/askbus/internal/httpserver"
)

// limits returns the HTTP listener's limits from the settings.
func (s *upSettings) limits() httpserver.Limits {
	return limits(s.HTTPConnections, s.HTTPConnectionsPerAddress, s.HTTPConnectionsPerMinute)
}

func (s *gatewaySettings) limits() httpserver.Limits {
	return limits(s.HTTPConnections, s.HTTPConnectionsPerAddress, s.HTTPConnectionsPerMinute)
}

func limits(connections, perAddress, perMinute int) httpserver.Limits {
	return httpserver.Limits{Connections: connections, PerAddress: perAddress, PerMinute: perMinute}
}
