//go:build !sabotage

package torture

import (
	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/ledger"
)

// broken.go replaces this file in builds with the tag sabotage.

type breakage struct{}

func (breakage) breakLedger(*ledger.Options) {}

func (breakage) breakBroker(*broker.Options) {}
