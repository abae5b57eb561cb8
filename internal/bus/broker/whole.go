//go:build !sabotage

package broker

import (
	"context"
	"time"

	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// The functions in this file do nothing. With the build tag sabotage, broken.go
// takes its place.

type breakage struct{}

func (b *Broker) broken(s lifecycle.State) lifecycle.State { _ = b.opts.breakage; return s }

func (*Broker) breakVote(lifecycle.Event) bool { return false }

func (*Broker) breakEvent(_ *lifecycle.State, e lifecycle.Event) lifecycle.Event { return e }

func (*Broker) breakStep(context.Context, ask.Key, lifecycle.Event) {}

func (*Broker) breakEnded(context.Context, *lifecycle.State, *ask.Outcome) {}

func (*Broker) breakStandIns(_ context.Context, _ *ask.By, _ *lifecycle.State, _ time.Time, all []ask.StandIn) []ask.StandIn {
	return all
}

func (*Broker) breakStatus(*request, *wire.StatusReply) {}

func (*Broker) breakEnd(_ *request, s *lifecycle.State) *lifecycle.State { return s }
