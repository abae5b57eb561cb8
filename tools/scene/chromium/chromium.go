// Package chromium finds the browser of the pictures.
package chromium

import (
	"errors"
	"os"
	"os/exec"
)

// Path returns the path of Chromium, or ASKBUS_CHROME if it is set.
func Path() (string, error) {
	for _, name := range []string{os.Getenv("ASKBUS_CHROME"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && name != "" {
			return path, nil
		}
	}
	return "", errors.New("no Chromium: install it, or set ASKBUS_CHROME")
}
