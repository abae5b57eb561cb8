package natsd

import (
	"os"
	"runtime"
	"sync"
)

// addProcessor lets the Go scheduler run goroutines on all cores while the store
// is synced (ADR 0086): a goroutine keeps its processor in a system call until the
// runtime takes it away. It does nothing if the environment sets GOMAXPROCS.
var addProcessor = sync.OnceFunc(func() { //nolint:gochecknoglobals // the setting is of the process
	if os.Getenv("GOMAXPROCS") == "" { //nolint:forbidigo // a setting of the Go runtime, not of askbus
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
})
