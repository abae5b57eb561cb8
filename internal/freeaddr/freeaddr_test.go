package freeaddr_test

import (
	"net"
	"testing"

	"github.com/askbus/askbus/internal/freeaddr"
)

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
