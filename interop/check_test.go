package interop_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/lab/torture"
	"github.com/askbus/askbus/internal/server/rights"
)

// TestAnIndependentCheckerFindsNoBrokenPromise checks the promises with a
// program that uses only a foreign client and the protocol's text.
func TestAnIndependentCheckerFindsNoBrokenPromise(t *testing.T) {
	t.Parallel()
	b := up(t)
	go func() { // the person at the screen looks away
		for {
			select {
			case <-b.asked:
			case <-b.ended:
			case <-t.Context().Done():
				return
			}
		}
	}()
	surface, err := exec.Command(b.binary, "auth", "responder", "--type", "check", "--asserts", "os=os:*", "--dir", b.dir, "--output", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	check(t, b.agent("checked"), string(surface), "60", nil)
}

// TestAnIndependentCheckerWhileThreeNodesAreKilled does the same while the
// three nodes of a cluster are killed and restarted on their stores: all at
// once, then one after the other.
func TestAnIndependentCheckerWhileThreeNodesAreKilled(t *testing.T) {
	t.Parallel()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	bus, err := torture.StartProcesses(t.Context(), path, torture.EmbeddedOptions{Nodes: 3, Retention: time.Hour, Margin: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bus.Close(); err != nil {
			t.Error(err)
		}
	})
	creds := func(r rights.Role) string {
		c, err := bus.Credential(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(encode(t, c))
	}
	kill := func(victims ...torture.Victim) {
		var killed sync.WaitGroup
		for _, v := range victims {
			killed.Go(func() {
				if err := v.Kill(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
			})
		}
		killed.Wait()
	}
	var nodes []torture.Victim
	for _, v := range bus.Victims() {
		if strings.HasPrefix(v.Name(), "server") {
			nodes = append(nodes, v)
		}
	}
	kills := map[int]func(){
		10: func() { kill(nodes...) }, 30: func() { kill(nodes...) },
		60: func() { kill(nodes[0]) }, 80: func() { kill(nodes[1]) }, 100: func() { kill(nodes[2]) },
	}
	check(t, creds(rights.Role{Name: rights.RoleAgent, Tenant: "default", Session: "checked"}), creds(rights.Role{Name: rights.RoleResponder, Type: "check"}), "130", kills)
	for after := range kills {
		t.Errorf("the checker did not come to %d asks", after)
	}
}

// check runs the checker. It calls each of kills concurrently, once that many
// asks have ended.
func check(t *testing.T, agent, surface, asks string, kills map[int]func()) {
	t.Helper()
	if n := os.Getenv("CHECK_ASKS"); n != "" {
		asks = n
	}
	cmd := exec.Command("node", "nats/check.mjs")
	cmd.Env = append(os.Environ(), "AGENT="+agent, "SURFACE="+surface, "ASKS="+asks)
	var failure bytes.Buffer
	cmd.Stderr = &failure
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var killing sync.WaitGroup
	defer killing.Wait()
	var said struct {
		Over     int            `json:"over"`
		Figures  map[string]int `json:"figures"`
		Violated int            `json:"violated"`
	}
	last := ""
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		last = lines.Text()
		if err := json.Unmarshal(lines.Bytes(), &said); err != nil {
			t.Errorf("%v: %s", err, lines.Bytes())
		}
		if kill := kills[said.Over]; kill != nil {
			delete(kills, said.Over)
			killing.Wait() // one at a time
			killing.Go(kill)
		}
	}
	err = cmd.Wait()
	t.Log(last, failure.String())
	if err != nil || said.Violated > 0 || said.Figures["asks"] == 0 || said.Figures["answered"] == 0 || said.Figures["expired"] == 0 {
		t.Fatalf("%v: %+v", err, said)
	}
}
