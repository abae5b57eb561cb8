package broker

import "context"

// LookForLapsedLeases takes one look, as Run does.
func (b *Broker) LookForLapsedLeases(ctx context.Context) { b.leases.refresh(ctx) }

// BeganAgain reports whether a reconnect restarted the grace of every lease, or
// the next look will.
func (b *Broker) BeganAgain() bool { return b.leases.interrupted.Load() }

// Held returns how many requests are held.
func (b *Broker) Held() int { return b.waits.len() }
