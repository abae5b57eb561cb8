package quota

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// File is a policy file. It is read again when it has changed; a file that
// becomes invalid is logged, and the previous policy stays in effect.
type File struct {
	name string
	log  *slog.Logger

	mu      sync.Mutex
	policy  *Policy
	checked time.Time
	stamp   string
}

// Open reads a policy file.
func Open(name string, log *slog.Logger) (*File, error) {
	f := &File{name: name, log: log, stamp: stamp(name), checked: time.Now()}
	var err error
	f.policy, err = read(name)
	return f, err
}

func read(name string) (*Policy, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("policy file: %w", err)
	}
	p, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("policy file %s: %w", name, err)
	}
	return p, nil
}

func stamp(name string) string {
	info, err := os.Stat(name)
	if err != nil {
		return ""
	}
	return info.ModTime().String() + fmt.Sprint(info.Size())
}

// Policy returns the current policy. The file is checked at most once a second.
func (f *File) Policy() *Policy {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.checked) < time.Second {
		return f.policy
	}
	f.checked = time.Now()
	is := stamp(f.name)
	if is == f.stamp || is == "" {
		return f.policy
	}
	f.stamp = is
	p, err := read(f.name)
	if err != nil {
		f.log.Error("the policy file is invalid; the previous policy stays in effect", slog.Any("error", err))
		return f.policy
	}
	f.policy = p
	f.log.Info("read the policy file again", slog.String("file", f.name))
	return p
}
