// Package install writes us into the configuration of other programs: MCP
// clients and the hooks of coding agents.
//
// It decides what an entry looks like and edits the text of a file in place, so
// that comments, order and everything that is not ours stay as they are. It
// leaves to its caller where files lie and what is printed.
//
// It promises that writing twice changes nothing the second time, that removing
// takes out what writing put in, that a file which it does not understand is
// left alone with an error that says so, and that what a file said before lies
// beside it as a backup.
package install
