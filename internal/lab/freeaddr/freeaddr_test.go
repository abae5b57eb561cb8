package freeaddr_test

import (
	"net"
	"testing"

	"github.com/askbus/askbus/internal/lab/freeaddr"
)

// Tests of one process pick addresses before the servers of others listen.
func TestNoAddressIsPickedTwice(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 40 { // 4,000 of 22,000 ports: without a memory about 360 are picked again
		addrs, err := freeaddr.Pick(100)
		if err != nil {
			t.Fatal(err)
		}
		for _, addr := range addrs {
			if seen[addr] {
				t.Fatalf("%s is picked twice", addr)
			}
			seen[addr] = true
		}
	}
}

func TestAddressesAreFreeAndDifferent(t *testing.T) {
	t.Parallel()
	addrs, err := freeaddr.Pick(50)
	if err != nil || len(addrs) != 50 {
		t.Fatal(addrs, err)
	}
	for _, addr := range addrs {
		ln, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close() // a second listener on the same address would fail
	}
}
