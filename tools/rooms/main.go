// Command rooms checks the imports of the root module against rooms.yaml, draws them, and counts lines.
//
//	go -C tools run ./rooms -repo .. check    # every import that rooms.yaml forbids; fails if there is one
//	go -C tools run ./rooms -repo .. draw     # writes the table and the picture into docs/architecture.md
//	go -C tools run ./rooms -repo .. lines    # lines of Go per room, code and tests
//	go -C tools run ./rooms -repo .. lines internal/answering/chat    # the same per package in and below a folder
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	repo := flag.String("repo", ".", "`folder` of the repository")
	flag.Parse()
	if err := run(os.Stdout, *repo, flag.Arg(0), flag.Arg(1)); err != nil {
		fmt.Fprintln(os.Stderr, "rooms:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, repo, verb, folder string) error {
	plan, err := readPlan(filepath.Join(repo, "tools", "rooms", "rooms.yaml"))
	if err != nil {
		return err
	}
	house, err := readHouse(repo)
	if err != nil {
		return err
	}
	switch verb {
	case "check":
		faults := plan.check(house)
		for _, f := range faults {
			fmt.Fprintln(out, f)
		}
		if len(faults) > 0 {
			return fmt.Errorf("%d imports that tools/rooms/rooms.yaml does not allow", len(faults))
		}
		return nil
	case "draw":
		return drawInto(filepath.Join(repo, "docs", "architecture.md"), plan, house)
	case "lines":
		if folder != "" {
			return linesBelow(out, house, folder)
		}
		return lines(out, plan, house)
	}
	return errors.New(`use "check", "draw" or "lines"`)
}
