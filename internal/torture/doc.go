// Package torture proves the promises of docs/guarantees.md under fire.
//
// From a seed it drives agents, people at several surfaces, withdrawers,
// operators, live screens and a posting surface against a bus; it records
// everything that every party was told; it kills, stops and cuts; and
// afterwards it checks the history against the promises, each a [Rule].
//
// What is asked and aimed at what (script.go) follows from the seed alone;
// [Check] and [Shrink] are pure. It decides nothing about asks, and it trusts
// nobody: what the ledger holds is read on a connection of its own.
package torture
