// Command apicheck enforces arrow 6 of the tree: an exported signature in pkg refers only to the
// standard library and our public packages. Outsiders could not use an internal type, and a
// third-party type would tie our major version to its own. The exception is *nats.Conn in a
// constructor: a function New… that takes one, or Connect… that makes one, with nats.Option; and a
// method Conn, which returns what the constructor took.
//
// Import rules cannot check this, because pkg may use such types internally.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	dir := flag.String("dir", ".", "`folder` of the module")
	flag.Parse()
	faults, err := check(*dir, flag.Args()...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "apicheck:", err)
		os.Exit(1)
	}
	for _, f := range faults {
		fmt.Println(f)
	}
	if len(faults) > 0 {
		os.Exit(1)
	}
}
