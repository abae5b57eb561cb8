// Package webhooks sends outcomes to agents that asked to be called back, and asks to programs that
// answer them, as signed webhooks (package process/webhook). It is one responder type; any number of
// replicas share its work.
//
// It decides what is sent where, from the operator's file ([ParseFile]), and when a failed delivery is
// tried again. A first attempt is made with the work that the bus hands to one replica at a time. What
// fails, or belongs to a receiver that is slow or down, becomes an entry of the bucket deliveries,
// which a replica claims with compare-and-set for each further attempt.
//
// Safety: one replica sends one delivery at a time; every attempt has the same id. Liveness: a delivery
// is made at least once, whichever replicas die, until its receiver takes it, ends it with 410, or the
// schedule of three days is over; that is recorded. A receiver that hangs has a few places of its own
// and holds up no other.
package webhooks
