// Command askbus-lab measures askbus (bench) and breaks its parts on purpose
// (torture). Nobody who runs askbus needs it.
package main

import (
	"context"
	"os"

	"github.com/askbus/askbus/internal/lab/command"
	"github.com/askbus/askbus/internal/process/daemon"
)

func main() {
	ctx, stop := daemon.Signals(context.Background())
	defer stop()
	os.Exit(command.Program().Execute(ctx, os.Args[1:])) //nolint:gocritic // stop only ends the handling of signals
}
