package torture

import (
	"fmt"
	"net"
)

// freeAddrs picks free loopback addresses.
func freeAddrs(n int) ([]string, error) {
	addrs := make([]string, n)
	for i := range addrs {
		ln, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed below
		if err != nil {
			return nil, fmt.Errorf("torture: %w", err)
		}
		defer ln.Close() //nolint:errcheck // nothing was sent
		addrs[i] = ln.Addr().String()
	}
	return addrs, nil
}
