// Package state reads and writes shared state: what the replicas of surfaces,
// doors and agents must agree on, such as who is signed in, and have no
// JetStream rights to keep. The broker owns it (docs/protocol.md, section 10).
//
// [Bucket] is a bucket as users of NATS KV know it: keys, revisions,
// compare-and-set, a TTL for each entry. [Cache] is a replica of one that
// follows its changes. It decides nothing about what the values mean.
//
// Safety: a [Cache] that has not reached the broker for a minute says so
// instead of what it holds, so that nobody is let in by what was revoked
// meanwhile. Liveness: a change reaches every cache that is connected within a
// second, and every other one within [CacheOptions.Poll] of its return.
package state
