//go:build !sabotage

package main

import "github.com/spf13/pflag"

// With the build tag sabotage torturebroken.go takes the place of this.

func (*tortureFlags) breakFlag(*pflag.FlagSet) {}

func (*app) checkBreakFlag(*tortureFlags) error { return nil }
