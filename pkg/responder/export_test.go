package responder

import "time"

// SnapshotEvery changes how often a watch reads everything again.
func (r *Responder) SnapshotEvery(d time.Duration) { r.snapshotEvery = d }

// MaxWaiting bounds the bytes that wait for a slow screen.
const MaxWaiting = maxWaiting
