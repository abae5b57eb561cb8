// Package cloudevent is the CloudEvents binding of askbus: its events, how they
// lie in NATS messages in both modes, and how the ledger's messages are read.
// What the events carry is package wire's.
package cloudevent
