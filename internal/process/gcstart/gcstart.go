// Package gcstart keeps the garbage collector from running while a program starts. The packages of askbus allocate some
// megabytes when they initialise, which is more than the first collection waits for: a quarter of the processor time of
// a short command was for marking what stays anyway.
//
// It works by being initialised first: Go initialises packages in the order of their import paths, as far as imports
// allow it (since Go 1.21), and this one imports only the standard library.
package gcstart

import (
	"os"
	"runtime/debug"
	"sync"
	"time"
)

// The first collection waits for 4 MB times this percentage.
const percent = 400

// short is how long a command may take that is over before a collection is worth its time.
const short = time.Second

//nolint:gochecknoinits // it has to run before the packages that allocate
func init() {
	if os.Getenv("GOGC") != "" { //nolint:forbidigo // a setting of the Go runtime, not of askbus
		return
	}
	debug.SetGCPercent(percent)
	time.AfterFunc(short, Over)
}

// Over ends it, if it has not ended: from now on the heap is collected when it has doubled. It happens by itself after a
// second.
var Over = sync.OnceFunc(func() { //nolint:gochecknoglobals // the process has one collector
	if os.Getenv("GOGC") == "" { //nolint:forbidigo // the same
		debug.SetGCPercent(100)
	}
})
