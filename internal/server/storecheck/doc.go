// Package storecheck reads and mends the files of a store: nats-server's block
// files, whose format is private to it, and what askbus keeps beside them (a
// lock, a version, the last sequence of each stream, the list of block files).
// It says which asks a damaged disk took. Nothing else of askbus knows these
// formats, and the store's server must be stopped, except for a [Follower],
// which only looks at file names and sizes.
package storecheck
