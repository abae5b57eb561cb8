//go:build sabotage

package torture

import (
	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/bus/sabotage"
)

// breakage is the promise that an embedded bus breaks on purpose.
type breakage struct {
	Sabotage sabotage.Kind
}

func (b breakage) breakLedger(opts *ledger.Options) { opts.Sabotage = b.Sabotage }

func (b breakage) breakBroker(opts *broker.Options) { opts.Sabotage = b.Sabotage }
