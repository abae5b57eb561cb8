//go:build race

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// plain returns the program of that name for what ends soon, built without the race detector: a thousand
// short-lived commands would take most of the detector's time to initialise, and have few goroutines. What serves
// runs as this test binary, with the detector.
func plain(t *testing.T, name string) string {
	t.Helper()
	dir, err := buildPlain()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

var buildPlain = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "plain")
	if err != nil {
		return "", err
	}
	plainDir = dir
	out, err := exec.Command("go", "build", "-buildvcs=false", "-o", dir, ".", "../askbus-lab").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return dir, nil
})

var plainDir string

func removePlain() {
	if plainDir != "" {
		_ = os.RemoveAll(plainDir)
	}
}
