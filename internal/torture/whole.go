//go:build !sabotage

package torture

import (
	"github.com/askbus/askbus/internal/broker"
	"github.com/askbus/askbus/internal/ledger"
)

// With the build tag sabotage broken.go takes the place of this.

type breakage struct{}

func (breakage) breakLedger(*ledger.Options) {}

func (breakage) breakBroker(*broker.Options) {}
