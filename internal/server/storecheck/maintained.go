package storecheck

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Maintenance is a change to a stopped store. A list in the store's directory
// keeps it for the audit, which nobody can write to then.
type Maintenance struct {
	At     time.Time `json:"at"`
	Repair bool      `json:"repair,omitempty"` // damaged files were moved aside
	Saved  bool      `json:"saved,omitempty"`  // a backup was made
	Note   string    `json:"note"`             // what was done
}

func maintainedFile(dir string) string { return filepath.Join(dir, "auth", "maintained.jsonl") }

// NoteMaintenance appends to the list in a directory.
func NoteMaintenance(dir string, m Maintenance) error {
	if m.At.IsZero() {
		m.At = time.Now().UTC()
	}
	line, err := json.Marshal(m)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(maintainedFile(dir)), 0o700)
	}
	if err != nil {
		return fmt.Errorf("note maintenance: %w", err)
	}
	f, err := os.OpenFile(maintainedFile(dir), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("note maintenance: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("note maintenance: %w", err)
	}
	return nil
}

// Maintained returns the list in a directory from the line at offset on, and the
// offset after its last line. It skips lines that it cannot read.
func Maintained(dir string, offset int64) (list []Maintenance, next int64, err error) {
	f, err := os.Open(maintainedFile(dir))
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, offset, fmt.Errorf("read the list of maintenance: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	if info, err := f.Stat(); err == nil && info.Size() < offset {
		offset = 0 // it is another list
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, offset, fmt.Errorf("read the list of maintenance: %w", err)
	}
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil { // also for a partial line, which is being written
			return list, offset, nil
		}
		offset += int64(len(line))
		var m Maintenance
		if json.Unmarshal(line, &m) == nil {
			list = append(list, m)
		}
	}
}
