package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	askbus := flag.String("askbus", "", "`binary` to show")
	ask := flag.String("ask", "", "`file` with the ask, as JSON")
	out := flag.String("out", "docs/scene.gif", "`file` to write")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := record(ctx, *askbus, *ask, *out); err != nil {
		fmt.Fprintln(os.Stderr, "scene:", err)
		os.Exit(1)
	}
}

// record plays the scene and writes the film.
func record(ctx context.Context, askbus, ask, out string) error {
	home, err := os.MkdirTemp("", "scene")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(home) }()
	set, err := build(ctx, home, askbus, ask)
	if err != nil {
		return err
	}
	defer set.close()
	var f film
	if err := play(set, &f); err != nil {
		return err
	}
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	if err := f.encode(file); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}
