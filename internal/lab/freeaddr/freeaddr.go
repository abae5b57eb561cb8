// Package freeaddr picks loopback addresses for servers that must be told
// theirs before they start, such as the nodes of a cluster.
package freeaddr

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"syscall"
)

// The ports from which Pick chooses: below the range of ephemeral ports (Linux:
// 32768–60999), which an outgoing connection could take between Pick and the
// server's start.
const (
	firstPort = 10_000
	lastPort  = 32_000
)

// picked has the ports that Pick has returned in this process: their servers may
// not have started yet.
//
//nolint:gochecknoglobals // ports belong to the machine, not to a value
var picked = struct {
	sync.Mutex
	ports map[int]bool
}{ports: map[int]bool{}}

// Pick returns n free addresses of 127.0.0.1. It never returns an address twice.
func Pick(n int) ([]string, error) { return pick("127.0.0.1", n) }

func pick(host string, n int) ([]string, error) {
	picked.Lock()
	defer picked.Unlock()
	syscall.ForkLock.RLock() // a child that is forked meanwhile would keep the listeners below until it runs its program
	defer syscall.ForkLock.RUnlock()
	addrs := make([]string, 0, n)
	var failed error
	for range 100 * n {
		if len(addrs) == n {
			return addrs, nil
		}
		port := firstPort + rand.IntN(lastPort-firstPort) //nolint:gosec // a port is not a secret
		if picked.ports[port] {
			continue
		}
		ln, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port))) //nolint:noctx // closed below
		if err != nil {
			failed = err
			continue
		}
		defer ln.Close() //nolint:errcheck // nothing was sent
		picked.ports[port] = true
		addrs = append(addrs, ln.Addr().String())
	}
	if len(addrs) == n {
		return addrs, nil
	}
	return nil, fmt.Errorf("freeaddr: found %d of %d free ports: %w", len(addrs), n, failed)
}
