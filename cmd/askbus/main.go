// Command askbus is the ask-a-human bus for AI agents: one binary, each role a
// subcommand.
package main

import (
	"context"
	"os"

	"github.com/askbus/askbus/internal/daemon"
)

// version is set by the linker.
var version = "dev"

func main() { os.Exit(Main()) }

// Main runs the command line and returns its exit code.
func Main() int {
	ctx, stop := daemon.Signals(context.Background())
	defer stop()
	return execute(ctx, os.Args[1:])
}
