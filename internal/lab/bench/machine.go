package bench

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Machine describes the machine of the figures.
type Machine struct {
	OS     string  `json:"os"`
	Arch   string  `json:"arch"`
	CPU    string  `json:"cpu,omitempty"`
	Cores  int     `json:"cores"`
	Memory int64   `json:"memory_mib,omitempty"`
	Load   float64 `json:"load_1m"` // when the report was made; the bench itself is in it
	Go     string  `json:"go"`
}

// ThisMachine describes this machine, as far as Linux reports it.
func ThisMachine() Machine {
	m := Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(), Go: runtime.Version(), CPU: field("/proc/cpuinfo", "model name")}
	if kib, err := strconv.ParseInt(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"), 10, 64); err == nil {
		m.Memory = kib >> 10
	}
	if data, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(data), " ")
		m.Load, _ = strconv.ParseFloat(first, 64)
	}
	return m
}

// String implements fmt.Stringer.
func (m Machine) String() string {
	return fmt.Sprintf("%s/%s, %d cores, %s, %d MiB, load %.1f, %s", m.OS, m.Arch, m.Cores, m.CPU, m.Memory, m.Load, m.Go)
}

// field returns the first value of a name in a file of "name: value" lines.
func field(path, name string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // only read
	for s := bufio.NewScanner(f); s.Scan(); {
		if k, v, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// cpuTime returns the processor time of this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
