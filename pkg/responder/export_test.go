package responder

import "time"

// SnapshotEvery changes how often a watch reads everything again by itself.
func (r *Responder) SnapshotEvery(d time.Duration) { r.snapshotEvery = d }

// InboxSize is how many messages wait for a slow screen.
const InboxSize = inboxSize
