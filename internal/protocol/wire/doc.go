// Package wire is the JSON of everything that agents, responders and the broker
// send to each other, and of what the ledger stores: request bodies, replies,
// pages, problems, the JSON Schemas and the digest of an ask.
//
// pkg/ask encodes asks, answers and outcomes themselves. Bodies from outside go
// through [Strict], which reports every unknown field and wrong type with its
// JSON pointer; data from a broker or the ledger is read leniently, so that an
// older version can read what a newer one wrote. encoding/json alone would stop
// at the first error, name no pointer, match names without case and take the
// last of two equal fields. The JSON Schemas only describe: a validator's
// messages help nobody, and it would be a second authority beside
// [ask.Ask.Validate]. A property test holds the schemas to both.
//
// The shapes are those of docs/protocol.md, sections 2 and 5.
package wire
