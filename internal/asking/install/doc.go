// Package install adds askbus to the configuration of other programs: MCP clients and the hooks of
// coding agents.
//
// It decides what an entry looks like and edits the text of a file in place, so that comments,
// order and everything else stay as they are. It leaves the paths of files and the output to its
// caller.
//
// It promises that a second write changes nothing, that removing undoes writing, that a file which
// it cannot parse is unchanged and reported, and that the previous content is kept as a backup.
package install
