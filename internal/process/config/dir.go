package config

import (
	"os"
	"os/user"
	"path/filepath"
)

// DefaultDir returns the user's state directory for askbus, or "" if the user has no home directory. There is no other
// place: in a folder where everybody writes, somebody else could make the directory first.
func DefaultDir() string {
	if d := os.Getenv("XDG_STATE_HOME"); d != "" {
		return filepath.Join(d, "askbus")
	}
	home, err := os.UserHomeDir()
	if err != nil { // as in a service of systemd
		u, err := user.Current()
		if err != nil || u.HomeDir == "" {
			return ""
		}
		home = u.HomeDir
	}
	return filepath.Join(home, ".local", "state", "askbus")
}
