package storecheck

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// checkModes refuses an existing directory that everybody may write to, or
// whose keys everybody may access. Group access is allowed: volumes of a
// cluster are mounted with a group.
func checkModes(dir string) error {
	for _, d := range []struct {
		path      string
		forbidden fs.FileMode
		can, mend string
	}{
		{dir, 0o002, "write to", "o-w"},
		{filepath.Join(dir, "auth"), 0o007, "reach the keys in", "o-rwx"},
	} {
		info, err := os.Stat(d.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("cannot stat %s: %w", d.path, err)
		}
		if mode := info.Mode().Perm(); mode&d.forbidden != 0 {
			return fmt.Errorf("everybody on this machine can %s %s (mode %#o); run: chmod %s %s", d.can, d.path, mode, d.mend, d.path)
		}
	}
	return nil
}
