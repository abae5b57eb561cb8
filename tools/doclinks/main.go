// Command doclinks checks that every link in a doc comment has a target:
//
//	[Name] [Name.Method] [pkg.Name] [pkg.Name.Method]
//
// must exist in the package or in one that it imports. go doc silently prints a broken link as
// plain text, so that nobody notices when the target is renamed.
//
// It reads the comments of packages, declarations, fields and methods of interfaces, including
// those of tests. Other comments have no links.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	dir := flag.String("dir", ".", "`folder` of the module")
	tags := flag.String("tags", "", "build `tags`, with commas between them")
	flag.Parse()
	faults, err := check(*dir, *tags, flag.Args()...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "doclinks:", err)
		os.Exit(1)
	}
	for _, f := range faults {
		fmt.Println(f)
	}
	if len(faults) > 0 {
		os.Exit(1)
	}
}
