// Package wire is the JSON of everything that agents, responders and the broker
// send to each other, and of what the ledger stores: request bodies, replies,
// pages, problems, the JSON Schemas and the digest of an ask.
//
// pkg/ask encodes asks, answers and outcomes themselves. Bodies from outside go
// through [Strict], which reports every unknown field and wrong type with its
// JSON pointer; data from a broker or the ledger is read leniently, so that an
// older version can read what a newer one wrote.
//
// The shapes are those of docs/protocol.md, sections 2 and 5.
package wire
