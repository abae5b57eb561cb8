//go:build !sabotage

package command

import (
	"github.com/askbus/askbus/internal/cli"
	"github.com/spf13/pflag"
)

// torturebroken.go replaces this file in builds with the tag sabotage.

func (*tortureFlags) breakFlag(*pflag.FlagSet) {}

func checkBreakFlag(*cli.App, *tortureFlags) error { return nil }
