// Command doclinks checks that every link in a doc comment leads somewhere:
//
//	[Name] [Name.Method] [pkg.Name] [pkg.Name.Method]
//
// name something that exists in the package or in one that it imports. go doc prints a link that leads nowhere as plain text and says
// nothing, so that nobody notices when what a comment names is renamed.
//
// It reads the comments of packages, declarations, fields and methods of
// interfaces, in tests, too. Other comments have no links.
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
