package ratelimit

import "net/netip"

// Network returns what counts as one caller of an address, with or without a
// port: the address, or the /64 of an IPv6 address, which one subscriber has as
// a whole. An invalid address is returned as it is.
func Network(remote string) string {
	ip, err := netip.ParseAddr(remote)
	if err != nil {
		at, err := netip.ParseAddrPort(remote)
		if err != nil {
			return remote
		}
		ip = at.Addr()
	}
	if ip = ip.Unmap().WithZone(""); ip.Is4() {
		return ip.String()
	}
	prefix, err := ip.Prefix(64)
	if err != nil {
		return remote
	}
	return prefix.String()
}
