//go:build !race

package main

import "testing"

// plain returns the program of that name for what ends soon: this test binary behaves as each.
func plain(t *testing.T, name string) string {
	t.Helper()
	return self(t)
}

func removePlain() {}
