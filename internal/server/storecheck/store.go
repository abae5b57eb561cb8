package storecheck

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/askbus/askbus/internal/process/file"
)

const (
	lockFile    = "lock"
	versionFile = "version"

	// storeVersion is the version of the directory's layout. An askbus refuses
	// a newer one.
	storeVersion = "1"
)

// ErrInUse means that another process has locked the store.
var ErrInUse = errors.New("in use by another askbus process")

// Lock creates the directory, locks it and checks its version.
func Lock(dir string) (*os.File, error) {
	if dir == "" {
		return nil, errors.New("no directory given; set --dir")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot create the store's directory: %w; choose another with --dir", err)
	}
	if err := checkModes(dir); err != nil {
		return nil, err
	}
	lock, err := file.Lock(filepath.Join(dir, lockFile), false)
	switch {
	case errors.Is(err, file.ErrLocked):
		return nil, fmt.Errorf("the store in %s is %w; stop it, or choose another directory with --dir", dir, ErrInUse)
	case err != nil:
		return nil, NotWritable(dir, err)
	}
	if err := checkVersion(dir); err != nil {
		_ = lock.Close()
		return nil, err
	}
	return lock, nil
}

// InUse reports whether another process has locked the store of a directory. It makes nothing there.
func InUse(dir string) bool {
	path := filepath.Join(dir, lockFile)
	if _, err := os.Stat(path); err != nil {
		return false
	}
	lock, err := file.Lock(path, false)
	if err == nil {
		_ = lock.Close()
	}
	return errors.Is(err, file.ErrLocked)
}

func checkVersion(dir string) error {
	path := filepath.Join(dir, versionFile)
	data, err := os.ReadFile(path)
	switch got := strings.TrimSpace(string(data)); {
	case errors.Is(err, os.ErrNotExist):
		if err := writeSynced(path, []byte(storeVersion+"\n")); err != nil {
			return NotWritable(dir, err)
		}
		return nil
	case err != nil:
		return fmt.Errorf("cannot read the store's version: %w", err)
	case got != storeVersion:
		return fmt.Errorf("the store in %s has version %.20q, this askbus supports version %s; use the newer askbus that wrote it", dir, got, storeVersion)
	}
	return nil
}

// NotWritable returns the error for a directory in which a file cannot be
// written, removed or locked.
func NotWritable(dir string, err error) error {
	help := "fix its permissions"
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		help = "make room on its disk"
	}
	return fmt.Errorf("the store's directory %s is not writable: %w; %s, or choose another with --dir", dir, err, help)
}

// writeSynced replaces a small file that must survive a power cut.
func writeSynced(path string, data []byte) error {
	if err := file.Replace(path, data, 0o600); err != nil {
		return err
	}
	return file.SyncDir(filepath.Dir(path))
}
