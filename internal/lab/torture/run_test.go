package torture_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/lab/torture"
)

// run tortures a bus and fails the test with the report if a promise is broken.
func run(t *testing.T, bus torture.Bus, opts torture.Options) torture.Figures {
	t.Helper()
	var out bytes.Buffer
	opts.Out = &out
	res, err := torture.Run(t.Context(), bus, opts)
	t.Log(out.String())
	if err != nil {
		t.Fatal(err)
	}
	if res.Figures.Ended == 0 {
		t.Fatal("no ask ended")
	}
	return res.Figures
}

func embedded(t *testing.T, opts torture.EmbeddedOptions) torture.Bus {
	t.Helper()
	bus, err := torture.StartEmbedded(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bus.Close(); err != nil {
			t.Error(err)
		}
	})
	return bus
}

// These runs are short; make torture runs long ones.

func TestPromisesHoldWhileBrokersAndServerRestart(t *testing.T) { //nolint:tparallel // the next run is longer, if it must be
	t.Parallel()
	// An id is free again about 18 s after its first ask. A busy machine may be too slow to use one again in the first run.
	reused := false
	for length := 26 * time.Second; !reused && length < 2*time.Minute; length *= 2 {
		t.Run(length.String(), func(t *testing.T) {
			f := run(t, embedded(t, torture.EmbeddedOptions{}), torture.Options{
				Asks: 1500, For: length, Seed: 11, Open: 60, KillEvery: 4 * time.Second,
			})
			if f.Kills == 0 || !f.LedgerRead {
				t.Fatalf("nothing was killed, or the ledger not read: %s", &f)
			}
			reused = f.Reused > 0
		})
		if t.Failed() {
			return
		}
	}
	if !reused {
		t.Fatal("no id was used again")
	}
}

func TestVotesHoldWhileBrokersAndServerRestart(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprint(nodes, " nodes"), func(t *testing.T) {
			t.Parallel()
			run(t, embedded(t, torture.EmbeddedOptions{Nodes: nodes}), torture.Options{
				Asks: 400, For: 20 * time.Second, Seed: 14, Open: 40, Votes: 100, KillEvery: 4 * time.Second,
			})
		})
	}
}

func TestPromisesHoldOnThreeNodes(t *testing.T) {
	t.Parallel()
	f := run(t, embedded(t, torture.EmbeddedOptions{Nodes: 3}), torture.Options{
		Asks: 300, For: 16 * time.Second, Seed: 12, Open: 30, KillEvery: 4 * time.Second, Victims: "server",
	})
	if f.Kills == 0 {
		t.Fatal("no node was restarted")
	}
}

func TestPromisesHoldThroughSIGKILLAndSIGSTOP(t *testing.T) {
	t.Parallel()
	bus, err := torture.StartProcesses(t.Context(), binary(t), torture.EmbeddedOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bus.Close(); err != nil {
			t.Error(err)
		}
	})
	f := run(t, bus, torture.Options{Asks: 1500, For: 24 * time.Second, Seed: 13, Open: 40, KillEvery: 3 * time.Second, StopEvery: 5 * time.Second})
	if f.Kills == 0 || f.Stops == 0 {
		t.Fatalf("%d kills, %d stops", f.Kills, f.Stops)
	}
}

// The disk of the only server is repeatedly full for three seconds.
func TestPromisesHoldOnADiskThatFills(t *testing.T) {
	t.Parallel()
	bus, err := torture.StartProcesses(t.Context(), binary(t), torture.EmbeddedOptions{SmallDisk: mount(t, "100m"), MaxStore: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bus.Close(); err != nil {
			t.Error(err)
		}
	})
	f := run(t, bus, torture.Options{Asks: 300, For: 24 * time.Second, Seed: 17, Open: 10, KillEvery: 6 * time.Second, Victims: "disk"})
	if f.Kills == 0 {
		t.Fatal("the disk was never full")
	}
}

// builds has the program, from its first test to the end of the last one.
var builds string

// built builds the program once.
var built = sync.OnceValues(func() (path string, err error) {
	if builds, err = os.MkdirTemp("", "askbus-torture-"); err != nil {
		return "", err
	}
	path = filepath.Join(builds, "askbus")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, "github.com/askbus/askbus/cmd/askbus-lab").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	_ = os.Getenv("TEST_TREE") // tests build programs: see hack/test
	code := m.Run()
	_ = os.RemoveAll(builds)
	os.Exit(code)
}

func binary(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDeadlinesInABurst(t *testing.T) {
	t.Parallel()
	run(t, embedded(t, torture.EmbeddedOptions{}), torture.Options{Asks: 1000, For: 25 * time.Second, Seed: 14, Burst: 1000})
}

func TestARunThatIsCutShortReportsItAndPasses(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if _, err := torture.Run(t.Context(), embedded(t, torture.EmbeddedOptions{}), torture.Options{Asks: 1 << 30, For: 6 * time.Second, Seed: 15, Open: 10, Out: &out}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "asks were not reached") || strings.Count(out.String(), "\n") != 1 {
		t.Fatalf("output %q", out.String())
	}
}

func TestAGivenBusIsTorturedWithItsKeys(t *testing.T) {
	t.Parallel()
	own := embedded(t, torture.EmbeddedOptions{})
	keys, url, err := own.(*torture.Embedded).Issuer()
	if err != nil {
		t.Fatal(err)
	}
	admin, ok := own.Ledger()
	if !ok {
		t.Fatal("no credential for the ledger")
	}
	for want, bus := range map[string]*torture.Given{
		"the ledger was not read": {URL: url, Issuer: keys},
		"read from the ledger":    {URL: url, Issuer: keys, Admin: &admin},
	} {
		var out bytes.Buffer
		if _, err := torture.Run(t.Context(), bus, torture.Options{Asks: 20, For: 12 * time.Second, Seed: 16, Open: 20, Out: &out}); err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in %s", want, &out)
		}
	}
}
