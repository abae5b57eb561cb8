package natsd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	store "github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/testkit/natstest"
	question "github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
)

// asker is an agent of a bus with one partition.
func asker(t *testing.T, opts natstest.Options) (*natstest.Bus, client.Session) {
	t.Helper()
	opts.Ledger.Partitions = 1
	b := natstest.Start(t, opts)
	c, err := client.New(b.Agent("acme", "s1"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return b, c.Session("acme", "s1")
}

func simple(id string) question.Ask {
	return question.Ask{ID: id, Timeout: time.Hour, Questions: []question.Question{{Text: "Shall we?"}}}
}

// crashed returns a copy of a bus's directory as a SIGKILL would leave it, and
// the last block file of its only stream.
func crashed(t *testing.T, b *natstest.Bus) (dir, block string) {
	t.Helper()
	dir = copied(t, b.Dir)
	blocks := blockFiles(t, dir)
	if len(blocks) == 0 {
		t.Fatal("no block files")
	}
	return dir, blocks[len(blocks)-1]
}

func flip(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0x40
	if _, err := f.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
}

func truncate(t *testing.T, path string, to int64) {
	t.Helper()
	if err := os.Truncate(path, to); err != nil {
		t.Fatal(err)
	}
}

// A store that came back with less than was acknowledged is an error, and is
// left unchanged. The server alone would truncate it silently.
func TestADamagedStoreIsAnError(t *testing.T) {
	t.Parallel()
	b, c := asker(t, natstest.Options{})
	for i := range 30 {
		if _, err := c.Ask(t.Context(), simple(fmt.Sprintf("a%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	waitForMark(t, b.Dir, `"ASKS_00":31`)
	for name, damage := range map[string]func(t *testing.T, block string, size int64){
		"its end is cut off":        func(t *testing.T, block string, size int64) { t.Helper(); truncate(t, block, size-10) },
		"half of it is cut off":     func(t *testing.T, block string, size int64) { t.Helper(); truncate(t, block, size/2) },
		"it is empty":               func(t *testing.T, block string, _ int64) { t.Helper(); truncate(t, block, 0) },
		"a bit flips at its start":  func(t *testing.T, block string, _ int64) { t.Helper(); flip(t, block, 60) },
		"a bit flips in its middle": func(t *testing.T, block string, size int64) { t.Helper(); flip(t, block, size/2) },
		"a bit flips near its end":  func(t *testing.T, block string, size int64) { t.Helper(); flip(t, block, size-50) },
		"its sequences are rewound": func(t *testing.T, block string, _ int64) { t.Helper(); flip(t, block, 4) },
		"it is not there":           func(t *testing.T, block string, _ int64) { t.Helper(); _ = os.Remove(block) },
		"its stream is not there": func(t *testing.T, block string, _ int64) {
			t.Helper()
			_ = os.RemoveAll(filepath.Dir(filepath.Dir(block)))
		},
		"the whole store is missing": func(t *testing.T, block string, _ int64) {
			t.Helper()
			_ = os.RemoveAll(strings.Split(block, "jetstream")[0])
		},
	} {
		t.Run("when "+name, func(t *testing.T) {
			t.Parallel()
			dir, block := crashed(t, b)
			info, err := os.Stat(block)
			if err != nil {
				t.Fatal(err)
			}
			damage(t, block, info.Size())
			before, _ := os.ReadFile(block)
			srv, err := natsd.Start(natsd.Options{Dir: dir, Addr: "127.0.0.1:0"})
			if err == nil {
				srv.Close()
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), "corrupt") || !strings.Contains(err.Error(), "backup") {
				t.Fatalf("it says %q", err)
			}
			if after, _ := os.ReadFile(block); string(after) != string(before) {
				t.Fatal("the damaged file was changed")
			}
		})
	}
}

// A partial record of an unacknowledged write is not damage.
func TestAHalfWrittenRecordIsDropped(t *testing.T) {
	t.Parallel()
	b, c := asker(t, natstest.Options{})
	if _, err := c.Ask(t.Context(), simple("a1")); err != nil {
		t.Fatal(err)
	}
	dir, block := crashed(t, b)
	whole, err := os.ReadFile(block)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(block, append(whole, whole[:len(whole)/2]...), 0o600); err != nil {
		t.Fatal(err)
	}
	srv, err := natsd.Start(natsd.Options{Dir: dir, Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	srv.Close()
}

// Expired outcomes and purged questions leave a shorter store, which is not
// damage either.
func TestAStoreThatExpiredStartsAgain(t *testing.T) {
	t.Parallel()
	b, c := asker(t, natstest.Options{Ledger: store.Options{Retention: time.Second, Margin: store.MinMargin}})
	a := simple("a1")
	a.Timeout = time.Second
	if _, err := c.Ask(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Withdraw(t.Context(), "a1", ""); err != nil {
		t.Fatal(err)
	}
	for { // until its outcome has expired
		if rec, err := c.Get(t.Context(), "a1"); err != nil {
			t.Log(err)
			break
		} else if rec.State != question.StateResolved {
			t.Fatalf("state %s", rec.State)
		}
	}
	for range 2 {
		dir, _ := crashed(t, b)
		srv, err := natsd.Start(natsd.Options{Dir: dir, Addr: "127.0.0.1:0"})
		if err != nil {
			t.Fatal(err)
		}
		srv.Close()
		if srv, err = natsd.Start(natsd.Options{Dir: dir, Addr: "127.0.0.1:0"}); err != nil {
			t.Fatalf("after a clean stop: %v", err)
		}
		srv.Close()
	}
}

// waitForMark waits until the mark has this value: it is written after the
// reply.
func waitForMark(t *testing.T, dir, want string) {
	t.Helper()
	for t.Context().Err() == nil {
		if data, err := os.ReadFile(filepath.Join(dir, "high-water")); err == nil && strings.Contains(string(data), want) {
			return
		}
	}
	t.Fatal("no mark")
}
