// Package ledger is the JetStream layout of askbus: streams, headers,
// compare-and-set, first-of-subject reads. It carries out the broker's
// decisions and reports what is stored; it decides nothing about asks.
//
// Safety, kept by the streams: the first message on an outcome's subject
// counts, and outlives everything that can follow it; a question exists exactly
// while its ask is pending (a crash can leave a ghost, which [Ledger] removes
// when it finds one). Liveness: the server itself expires a question at its
// deadline, and [Ledger.Overdue] finds those that its timer missed.
//
// Only the broker's ledger connection has any rights on these subjects. The
// design is docs/protocol.md, sections 3 and 4.
package ledger
