// Package ask defines the vocabulary of askbus: what an agent asks, what a
// person answers, and how an ask ends.
//
// It decides what a valid ask is ([Ask.Validate]), whether an answer fits its
// question ([Ask.Check]), and what they look like in JSON: encoding/json reads
// and writes the protocol's form. It leaves storage to the ledger and
// permissions on the bus to the NATS server. It is pure: plain values, no
// clock, no connection, and besides the standard library only the decoder that
// will be its encoding/json.
//
// The vocabulary and its rules are sections 1, 5 and 6 of docs/protocol.md.
package ask
