package daemon

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
)

// memoryShare is the part of a control group's memory that Go may use, in
// percent: the rest is for the program itself, and for what is freed late, such
// as the blocks of 8 MiB in which the server reads and writes streams.
const memoryShare = 60

// LimitMemory makes the garbage collector keep the process within the memory of
// its control group (a container's limit), if it has one: collections become
// more frequent instead of the kernel killing the process. It does nothing if
// the environment sets GOMEMLIMIT.
func LimitMemory() {
	if os.Getenv("GOMEMLIMIT") != "" { //nolint:forbidigo // a setting of the Go runtime, not of askbus
		return
	}
	if limit, ok := groupMemory("/"); ok {
		debug.SetMemoryLimit(limit / 100 * memoryShare)
	}
}

// groupMemory returns the lowest memory limit of the process's control group and
// those above it, in bytes. The files are below root.
func groupMemory(root string) (lowest int64, ok bool) {
	data, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return 0, false // not Linux
	}
	lowest = math.MaxInt64
	for line := range strings.Lines(string(data)) { // 0::/a/b, or 4:memory:/a/b of version 1
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		at, file := filepath.Join(root, "sys/fs/cgroup"), "memory.max"
		switch parts[1] {
		case "":
		case "memory":
			at, file = filepath.Join(at, "memory"), "memory.limit_in_bytes"
		default:
			continue
		}
		for path := filepath.Clean("/" + parts[2]); ; path = filepath.Dir(path) {
			text, err := os.ReadFile(filepath.Join(at, path, file)) // in a container the path may not exist, but the root does
			if n, bad := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && bad == nil && n > 0 {
				lowest = min(lowest, n)
			}
			if path == "/" {
				break
			}
		}
	}
	return lowest, lowest < 1<<50 // version 1 says "none" with nearly 1<<63
}
