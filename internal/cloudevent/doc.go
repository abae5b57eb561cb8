// Package cloudevent turns the words of pkg/ask into JSON and CloudEvents, and
// those into NATS messages, and back.
//
// It decides how everything looks on the wire: field names, event types, the
// JSON Schemas, both CloudEvents modes and the digest of an ask. It leaves to
// pkg/ask what is valid. Bodies from outside go through [Strict], which refuses
// unknown fields and wrong types with a JSON pointer each; what the ledger
// holds is read leniently, so that an older build reads what a newer one wrote.
//
// The shapes are those of docs/protocol.md, sections 2 and 5.
package cloudevent
