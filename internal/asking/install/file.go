package install

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/askbus/askbus/internal/process/file"
)

// BackupSuffix is appended to the name of the backup.
const BackupSuffix = ".askbus-backup"

// Edit changes the text of a file and keeps a backup next to it, unless the new text is that of the
// backup, or empty: then what was installed is removed, also from there. It makes missing directories
// and follows symbolic links. It reports whether anything changed.
func Edit(path string, change func(text string) (string, error)) (changed bool, err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	mode := os.FileMode(0o600)
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("read configuration: %w", err)
	}
	there := err == nil
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	after, err := change(string(before))
	if err != nil {
		return false, fmt.Errorf("%s is unchanged: %w", path, err)
	}
	if after == string(before) {
		return false, nil
	}
	if there && mode&0o200 == 0 { // replacing it would not need the right to write it
		return false, fmt.Errorf("%s is read-only, and unchanged; make it writable first", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return false, fmt.Errorf("write configuration: %w", err)
	}
	backup := path + BackupSuffix
	kept, err := os.ReadFile(backup)
	restored := err == nil && string(kept) == after || errors.Is(err, os.ErrNotExist) && blank(after)
	if there && !restored {
		if err := os.WriteFile(backup, before, mode); err != nil { //nolint:gosec // the user names the file
			return false, fmt.Errorf("write backup: %w", err)
		}
	}
	if err := file.Replace(path, []byte(after), mode); err != nil {
		return false, fmt.Errorf("write configuration: %w", err)
	}
	if restored { // nothing of the user's is in the text of before
		if err := os.Remove(backup); err != nil && !errors.Is(err, os.ErrNotExist) {
			return true, fmt.Errorf("remove backup: %w", err)
		}
	}
	return true, nil
}

// blank reports whether a configuration says nothing.
func blank(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || text == "{}"
}
