// Command askbus is the ask-a-human bus for AI agents: one binary, each role a
// subcommand.
package main

import (
	"context"
	"os"
	_ "time/tzdata" // the image has no other time zones

	"github.com/askbus/askbus/internal/cli/agent"
	"github.com/askbus/askbus/internal/process/daemon"
	_ "github.com/askbus/askbus/internal/process/gcstart" // before all that allocates
)

func main() { os.Exit(Main()) }

// Main runs the command line and returns its exit code.
func Main() int {
	ctx, stop := daemon.Signals(context.Background())
	defer stop()
	bringRoots()
	return agent.HostSafe(os.Args[1:], program().Execute(ctx, os.Args[1:]))
}
