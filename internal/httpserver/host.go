package httpserver

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// KnownHost reports whether a server may answer for the host that a request
// names: this machine, its own name, or one of others. It is the guard against
// DNS rebinding: a foreign name that somebody points at this machine is not
// served.
func KnownHost(hostport, own string, others []string) bool {
	host := Host(hostport)
	return LoopbackHost(hostport) || strings.HasSuffix(host, ".localhost") || host == Host(own) ||
		slices.ContainsFunc(others, func(h string) bool { return host != "" && host == Host(h) || strings.EqualFold(h, hostport) })
}

// LoopbackHost reports whether a host is this machine under its loopback names.
func LoopbackHost(hostport string) bool {
	host := Host(hostport)
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// Host is the name in a host and port, in lower case, without brackets and the
// dot at its end.
func Host(hostport string) string {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}
