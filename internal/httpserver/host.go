package httpserver

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// KnownHost reports whether a server may answer for the host of a request: this machine, its own
// name, or one of others. It guards against DNS rebinding: a foreign name that points at this
// machine is refused.
func KnownHost(hostport, own string, others []string) bool {
	host := Host(hostport)
	return LoopbackHost(hostport) || strings.HasSuffix(host, ".localhost") || host == Host(own) ||
		slices.ContainsFunc(others, func(h string) bool { return host != "" && host == Host(h) || strings.EqualFold(h, hostport) })
}

// LoopbackHost reports whether a host is a loopback name or address.
func LoopbackHost(hostport string) bool {
	host := Host(hostport)
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// Host returns the host of a host and port, in lower case, without brackets and the trailing dot.
func Host(hostport string) string {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}
