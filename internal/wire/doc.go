// Package wire is the JSON of everything that agents, responders and the broker
// send each other, and of what the ledger holds: request bodies, replies, pages,
// problems, the JSON Schemas and the digest of an ask.
//
// The JSON of asks, answers and outcomes themselves is written by pkg/ask.
// Bodies from outside go through [Strict], which reports every unknown field
// and wrong type with its JSON pointer; what a broker or the ledger vouches for
// is read leniently, so that an older build reads what a newer one wrote.
//
// The shapes are those of docs/protocol.md, sections 2 and 5.
package wire
