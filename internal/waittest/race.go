//go:build race

package waittest

const slower = 3 // the race detector takes most of a core's time
