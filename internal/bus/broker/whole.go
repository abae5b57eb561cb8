//go:build !sabotage

package broker

import (
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/wire"
)

// The functions in this file do nothing. With the build tag sabotage, broken.go
// takes its place.

type breakage struct{}

func (b *Broker) broken(s lifecycle.State) lifecycle.State { _ = b.opts.breakage; return s }

func (*Broker) breakVote(lifecycle.Event) bool { return false }

func (*Broker) breakStatus(*request, *wire.StatusReply) {}

func (*Broker) breakEnd(_ *request, s *lifecycle.State) *lifecycle.State { return s }
