// Package ledger is the JetStream layout of askbus: streams, headers,
// compare-and-set, first-of-subject reads. It carries out what the broker
// decided and answers what is held; it decides nothing about asks.
//
// Safety, kept by the streams: the first message on an outcome's subject is
// the truth and outlives everything that can follow it; a question exists
// exactly while its ask is pending (a crash can leave a ghost, which [Ledger]
// removes when it meets one). Liveness: the server itself expires a question at
// its deadline, and [Ledger.Overdue] finds those that its timer forgot.
//
// Only the broker's ledger connection has any right on these subjects. The
// design of record is docs/protocol.md, sections 3 and 4.
package ledger
