// Package ask holds the words of askbus: what an agent asks, what a person
// answers, and how an ask ends.
//
// It decides what a valid ask is ([Ask.Validate]) and whether an answer fits
// its question ([Ask.Check]), and how they look in JSON: encoding/json writes and
// reads what the protocol says. It leaves to others where they are stored (the
// ledger) and who may do what on the bus (the server's permissions). It promises
// to be pure: plain values, no clock, no connection, only the standard library.
//
// The words and their rules are those of the askbus protocol, sections 1, 5
// and 6 of docs/protocol.md.
package ask
