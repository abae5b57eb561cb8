// Command apicheck enforces arrow 6 of the tree: an exported signature in pkg
// names the standard library and our public packages, nothing else. A type of
// internal could not be used by outsiders, and one of a third party would make
// its major version ours. The exception is *nats.Conn in a constructor: a function
// New… that is handed one, or Connect… that makes one, with nats.Option.
//
// An import rule cannot see this, because pkg may well use such types inside.
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
