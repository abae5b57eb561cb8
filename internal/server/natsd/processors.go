package natsd

import (
	"os"
	"runtime"
	"sync"
)

// addProcessor lets the Go scheduler run goroutines on all cores while the store
// is synced: a goroutine keeps its processor in a system call until the runtime
// takes it away, which is later than most syncs end. With up to four partitions
// syncing, two cores idled while 64 asks waited (docs/performance.md has the
// figures). Four more were at most a tenth faster than one, and a backup under load
// took three times as long. It does nothing if the environment sets GOMAXPROCS.
var addProcessor = sync.OnceFunc(func() { //nolint:gochecknoglobals // the setting is of the process
	if os.Getenv("GOMAXPROCS") == "" { //nolint:forbidigo // a setting of the Go runtime, not of askbus
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
})
