package torture_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/lab/torture"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// disk is a file system in a file. Unsynced writes are in the kernel's memory and not in the file:
// a copy of the file is the state after a power cut.
type disk struct{ image, dir string }

func newDisk(t *testing.T, image string) disk {
	t.Helper()
	d := disk{image, t.TempDir()}
	if out, err := exec.CommandContext(t.Context(), "mount", "-o", "loop", d.image, d.dir).CombinedOutput(); err != nil {
		t.Skipf("mounting needs root and a loop device: %v %s", err, out)
	}
	t.Cleanup(func() { _ = syscall.Unmount(d.dir, syscall.MNT_DETACH) })
	return d
}

func emptyDisk(t *testing.T) disk {
	t.Helper()
	image := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	truncate(t, image, 96<<20)
	if out, err := exec.CommandContext(t.Context(), "mkfs.ext4", "-q", "-F", image).CombinedOutput(); err != nil {
		t.Skipf("no ext4: %v %s", err, out)
	}
	return newDisk(t, image)
}

func truncate(t *testing.T, path string, to int64) {
	t.Helper()
	if err := os.Truncate(path, to); err != nil {
		t.Fatal(err)
	}
}

// cut returns the disk after a power cut at this moment.
func (d disk) cut(t *testing.T) disk {
	t.Helper()
	from, err := os.Open(d.image)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.Create(filepath.Join(t.TempDir(), "disk"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return newDisk(t, to.Name())
}

func TestAPowerCutLosesNothingThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	before := emptyDisk(t)
	bin := binary(t)
	bus, err := torture.StartProcesses(t.Context(), bin, torture.EmbeddedOptions{Dir: before.dir, MaxStore: 64 << 20, Retention: time.Hour, Margin: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	kept, answered := load(t, bus)
	// Control: an unsynced file must be lost.
	if err := os.WriteFile(filepath.Join(before.dir, "unsynced"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := bus.Close(); err != nil {
		t.Fatal(err)
	}
	after := before.cut(t)
	if data, err := os.ReadFile(filepath.Join(after.dir, "unsynced")); err == nil && len(data) > 0 {
		t.Fatal("this disk does not lose what is not synced: the test shows nothing")
	}
	bus, err = torture.StartProcesses(t.Context(), bin, torture.EmbeddedOptions{Dir: after.dir, MaxStore: 64 << 20, Retention: time.Hour, Margin: time.Hour})
	if err != nil {
		for _, name := range []string{"server", "broker-1", "broker-2"} {
			log, _ := os.ReadFile(filepath.Join(after.dir, name+".log"))
			t.Logf("%s says:\n%s", name, log)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bus.Close() })
	c := agent(t, connect(t, bus, rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s1"}))
	for _, id := range kept {
		rec, err := c.Get(t.Context(), id)
		switch {
		case err != nil:
			t.Errorf("ask %s was acknowledged: %v", id, err)
		case answered[id] != "" && (rec.Outcome == nil || rec.Outcome.AnswerID != answered[id]):
			t.Errorf("answer %s was acknowledged, and the ask is %s", answered[id], rec.State)
		}
	}
	t.Logf("%d asks and %d answers outlived the cut", len(kept), len(answered))
}

// load asks and answers, and returns what was acknowledged.
func load(t *testing.T, bus torture.Bus) (kept []string, answered map[string]string) {
	t.Helper()
	c := agent(t, connect(t, bus, rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s1"}))
	r, err := responder.New(connect(t, bus, rights.Role{Name: rights.RoleResponder, Type: "web"}), "web", responder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	answered = map[string]string{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for lane := range 4 {
		all.Go(func() {
			for i := range 12 {
				id := fmt.Sprintf("a%d-%d", lane, i)
				if _, err := c.Ask(t.Context(), ask.Ask{ID: id, Timeout: time.Hour, Questions: []ask.Question{{ID: "q", Text: "Shall we?"}}}); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				kept = append(kept, id)
				mu.Unlock()
				if i%2 == 0 {
					continue
				}
				if _, err := r.Answer(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: id}, ask.Reply{
					AnswerID: "m" + id, By: ask.By{Principal: "os:mei"}, Answers: []ask.Answer{{QuestionID: "q", Text: "yes"}},
				}); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				answered[id] = "m" + id
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return kept, answered
}
