package bench

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
)

// startBare starts the hidden "bench server": a server alone in a process of
// its own, with a full-rights user whose password only we know.
func startBare(ctx context.Context, program Program, dir string) (*process, string, error) {
	dir, err := os.MkdirTemp(dir, "askbus-bench-")
	if err != nil {
		return nil, "", fmt.Errorf("bench: %w", err)
	}
	admin := rand.Text()
	p, err := startProcess(ctx, func(ctx context.Context, args ...string) *exec.Cmd {
		cmd := program(ctx, args...)
		cmd.Env = append(cmd.Environ(), AdminVariable+"="+admin)
		return cmd
	}, dir, "server", "bench", "server")
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, "", err
	}
	return p, admin, nil
}

// AdminVariable carries the password of the full-rights user to "bench server":
// an argument would be seen by every user of the machine.
const AdminVariable = "ASKBUS_TEST_ADMIN"

// end kills the process and removes its directory.
func (p *process) end() {
	p.kill()
	_ = os.RemoveAll(p.dir)
}
