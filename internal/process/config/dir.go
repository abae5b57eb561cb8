package config

import (
	"fmt"
	"os"
	"path/filepath"
)

// DefaultDir returns the user's state directory for askbus.
func DefaultDir() string {
	if d := os.Getenv("XDG_STATE_HOME"); d != "" {
		return filepath.Join(d, "askbus")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(os.TempDir(), fmt.Sprintf("askbus-%d", os.Getuid()))
	}
	return filepath.Join(home, ".local", "state", "askbus")
}
