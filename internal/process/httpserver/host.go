package httpserver

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
)

// KnownHost reports whether a server may answer for the host of a request: this machine, its own
// name, or one of others. It guards against DNS rebinding: a foreign name that points at this
// machine is refused.
func KnownHost(hostport, own string, others []string) bool {
	host := Host(hostport)
	if _, port, err := net.SplitHostPort(hostport); host == "" || err == nil && strings.Trim(port, "0123456789") != "" {
		return false
	}
	return LoopbackHost(hostport) || LocalName(hostport) || host == Host(own) ||
		slices.ContainsFunc(others, func(h string) bool { return host == Host(h) || strings.EqualFold(h, hostport) })
}

// LocalName reports whether a host is a name below localhost, which is this machine by RFC 6761,
// section 6.3. Browsers know such names; other programs often do not.
func LocalName(hostport string) bool {
	host := Host(hostport)
	return strings.HasSuffix(host, ".localhost") && strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789.-") == ""
}

// LocalTransport is the transport of a program that may be given a [LocalName]: it dials 127.0.0.1
// for it, and asks no resolver and no proxy.
func LocalTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 30 * time.Second}
	return &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if _, port, err := net.SplitHostPort(addr); err == nil && LocalName(addr) {
				addr = net.JoinHostPort("127.0.0.1", port)
			}
			return dialer.DialContext(ctx, network, addr)
		},
		Proxy: func(r *http.Request) (*url.URL, error) {
			if LocalName(r.URL.Host) {
				return nil, nil //nolint:nilnil // no proxy
			}
			return http.ProxyFromEnvironment(r)
		},
		ForceAttemptHTTP2: true, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
	}
}

// SecureURL reports whether nobody can change on the way what an address serves: https, or http to this
// machine.
func SecureURL(u *url.URL) bool {
	return u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && LoopbackHost(u.Host))
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
// It is empty if what follows the colon is no port, but part of a name, as in
// 127.0.0.1:8420.evil.example.
func Host(hostport string) string {
	host := hostport
	if h, port, err := net.SplitHostPort(hostport); err == nil {
		if strings.ContainsFunc(port, func(c rune) bool { return c != '-' && !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
			return ""
		}
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}
