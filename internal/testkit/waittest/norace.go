//go:build !race

package waittest

// Fewer divides how often tests repeat what finds leaks or rare inputs: without the race detector they run in full.
const Fewer = 1

const slower = 1
