// Package cloudevent is the CloudEvents binding of askbus: its events, their
// form in NATS messages in both modes, and the decoding of the ledger's
// messages. Package wire defines the data of the events.
package cloudevent
