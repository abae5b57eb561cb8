package broker

import "context"

// LookForLapsedLeases is one look, as Run takes them.
func (b *Broker) LookForLapsedLeases(ctx context.Context) { b.leases.look(ctx) }

// BeganAgain reports whether a reconnect made the grace of every lease begin
// again, or will with the next look.
func (b *Broker) BeganAgain() bool { return b.leases.interrupted.Load() }
