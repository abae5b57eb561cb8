//go:build sabotage

package command

import (
	"fmt"
	"slices"

	"github.com/askbus/askbus/internal/bus/sabotage"
	"github.com/askbus/askbus/internal/cli"
	"github.com/spf13/pflag"
)

// breakFlag adds the flag that breaks a promise on purpose, only in builds with the tag sabotage.
func (t *tortureFlags) breakFlag(f *pflag.FlagSet) {
	f.StringVar((*string)(&t.bus.Sabotage), "sabotage", "", "break a promise on purpose, in the embedded bus: "+fmt.Sprint(sabotage.Kinds()))
}

func checkBreakFlag(a *cli.App, t *tortureFlags) error {
	kind := t.bus.Sabotage
	if kind != sabotage.None && (!slices.Contains(sabotage.Kinds(), kind) || t.processes || a.NATS.URL != "") {
		return cli.Usage("--sabotage takes one of %v, and only for the embedded bus", sabotage.Kinds())
	}
	return nil
}
