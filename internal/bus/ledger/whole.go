//go:build !sabotage

package ledger

import (
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The functions in this file do nothing. With the build tag sabotage, broken.go
// takes its place.

type (
	breakage struct{}
	broken   struct{}
)

func (l *Ledger) breakStream(*jetstream.StreamConfig) { _, _ = l.opts.breakage, l.broken } // both empty

func (*Ledger) breakQuestion(*nats.Msg) bool { return false }

func (*Ledger) breakOutcome(*nats.Msg) bool { return false }

func (*Ledger) breakRead(string, uint64) (any, bool) { return nil, false }

func (*Ledger) breakWork(string) bool { return false }
