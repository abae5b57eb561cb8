package bench

import (
	"context"
	"fmt"
	"os"
)

// startBare starts the hidden "bench server": only a server, in its own process, with
// administrators.
func startBare(ctx context.Context, program Program, dir string) (*process, error) {
	dir, err := os.MkdirTemp(dir, "askbus-bench-")
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	p, err := startProcess(ctx, program, dir, "server", "bench", "server")
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return p, nil
}

// end kills the process and removes its directory.
func (p *process) end() {
	p.kill()
	_ = os.RemoveAll(p.dir)
}
