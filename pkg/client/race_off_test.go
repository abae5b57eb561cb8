//go:build !race

package client_test

// raced says that the race detector runs.
const raced = false
