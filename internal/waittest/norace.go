//go:build !race

package waittest

const slower = 1
