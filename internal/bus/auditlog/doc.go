// Package auditlog keeps a Merkle tree over the records of the audit, in a directory, and signs its
// size and root as a checkpoint (C2SP tlog-checkpoint and the tiles of tlog-tiles).
//
// It decides which leaf belongs to which record, and what a proof must hold. It leaves to its callers
// where records come from and where checkpoints go.
//
// Safety: a leaf that a checkpoint covers is never changed or removed, however often the process dies
// (a tree grows only at its end, and [Open] locks the directory). Two logs of one audit that began at
// the same record have the same leaves. Liveness: [Log.Follow] continues where it was.
package auditlog
