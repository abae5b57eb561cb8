//go:build !sabotage

package torture

import (
	"github.com/askbus/askbus/internal/broker"
	"github.com/askbus/askbus/internal/ledger"
)

// broken.go replaces this file in builds with the tag sabotage.

type breakage struct{}

func (breakage) breakLedger(*ledger.Options) {}

func (breakage) breakBroker(*broker.Options) {}
