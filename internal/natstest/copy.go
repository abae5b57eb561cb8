package natstest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// CopyDir copies a bus's directory to one that is empty or missing, for its
// owner alone: [os.CopyFS] opens directories to everybody, and a server refuses
// keys that everybody can reach.
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
