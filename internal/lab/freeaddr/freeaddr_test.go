package freeaddr_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
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

// TestAnAddressIsFreeWhileProgramsStart checks that no child holds an address: one that was forked while Pick listened would.
func TestAnAddressIsFreeWhileProgramsStart(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host := "127.0.0.1"
	if runtime.GOOS == "linux" { // an address of its own: another process picks from the same ports at the same time
		host = fmt.Sprintf("127.%d.%d.1", os.Getpid()>>8&0xff|0x80, os.Getpid()&0xff)
	}
	done := make(chan struct{})
	var starting sync.WaitGroup
	for range 4 {
		starting.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := exec.CommandContext(t.Context(), self, "-test.run=^$").Run(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 2000 {
		addrs, err := freeaddr.PickOf(host, 1)
		if err != nil {
			t.Error(err)
			break
		}
		ln, err := net.Listen("tcp", addrs[0])
		if err != nil {
			t.Error(err)
			break
		}
		ln.Close()
	}
	close(done)
	starting.Wait()
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
