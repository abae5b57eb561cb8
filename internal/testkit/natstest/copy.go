package natstest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// CopyDir copies a bus's directory to an empty or missing one, for its owner
// only: [os.CopyFS] makes directories accessible to everybody, and a server
// refuses such keys.
func CopyDir(to, from string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	return filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || strings.Contains(path, "jetstream") {
			return err
		}
		return os.Chmod(path, 0o700)
	})
}
