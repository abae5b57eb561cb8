package file

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Live is a file and its content. It is read again when it has changed and nobody
// has written it for a while: a file of which only a part is written can be valid,
// such as an empty one. Once its last line is "...", with which a YAML document ends,
// it is invalid without that line. While it is invalid, the previous content stays in
// effect. It is safe for concurrent use.
type Live[T any] struct {
	name  string
	parse func(data []byte) (T, error)
	log   *slog.Logger

	mu      sync.Mutex
	content T
	marked  bool // its last line is "..."
	checked time.Time
	stamp   string
	err     error
}

// OpenLive reads a file.
func OpenLive[T any](name string, parse func(data []byte) (T, error), log *slog.Logger) (*Live[T], error) {
	is, _ := stamp(name)
	f := &Live[T]{name: name, parse: parse, log: log, checked: time.Now(), stamp: is}
	return f, f.read()
}

// Content returns the current content. It checks the file at most once a second.
func (f *Live[T]) Content() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.checked) < time.Second {
		return f.content
	}
	f.checked = time.Now()
	is, written := stamp(f.name)
	if age := time.Since(written); is == f.stamp || age >= 0 && age < settled {
		return f.content
	}
	f.stamp = is
	if f.err = f.read(); f.err != nil {
		f.log.Error("a changed file is invalid; its previous content stays in effect", slog.Any("error", f.err))
	} else {
		f.log.Info("read a changed file again", slog.String("file", f.name))
	}
	return f.content
}

// Err returns why the file cannot be read as it is now; nil: its content is in effect.
func (f *Live[T]) Err() error {
	f.Content()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *Live[T]) read() error {
	data, err := os.ReadFile(f.name)
	if err != nil {
		return err
	}
	marked := bytes.HasSuffix(bytes.TrimSpace(data), []byte("\n..."))
	if f.marked && !marked {
		return fmt.Errorf(`%s: its last line was "...", and is gone, so a part of the file may be missing: if it is all there, add that line`, f.name)
	}
	content, err := f.parse(data)
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	f.content, f.marked = content, marked
	return nil
}

// settled is how long a file is left alone after it was written.
const settled = time.Second

// stamp changes with the file; it is empty if there is none.
func stamp(name string) (is string, written time.Time) {
	info, err := os.Stat(name)
	if err != nil {
		return "", time.Time{}
	}
	return info.ModTime().String() + fmt.Sprint(info.Size()), info.ModTime()
}
