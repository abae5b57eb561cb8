// Package state reads and writes shared state: what the replicas of surfaces,
// of the gateway and of agents must agree on, such as who is signed in, and may
// not keep in JetStream themselves. The broker owns it (docs/protocol.md,
// section 10).
//
// [Bucket] resembles a NATS KV bucket: keys, revisions, compare-and-set, a TTL
// for each entry. [Cache] is a replica of a bucket that follows its changes.
// The package does not interpret the values.
//
// Safety: a [Cache] that has not reached the broker for a minute returns an
// error instead of its entries, so that nobody gets in with a revoked entry.
// Liveness: a change reaches every connected cache within a second, and every
// other one within [CacheOptions.Poll] after it reconnects.
package state
