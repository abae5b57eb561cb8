//go:build race

package client_test

// raced reports whether the race detector runs: it needs ten times the memory.
const raced = true
