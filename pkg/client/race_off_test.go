//go:build !race

package client_test

// raced reports whether the race detector runs.
const raced = false
