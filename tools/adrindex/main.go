// Command adrindex checks the format of the architecture decision records in a folder and writes
// their index, README.md. `make generate` runs it, and CI fails if the index in the repository
// differs.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	dir := flag.String("dir", "docs/adr", "`folder` of the records")
	flag.Parse()
	if err := run(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "adrindex:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	records, err := read(os.DirFS(dir))
	if err != nil {
		return err
	}
	// Documentation is readable by everybody.
	return os.WriteFile(filepath.Join(dir, "README.md"), index(records), 0o644) //nolint:gosec // see above
}
