//go:build !sabotage

package main

import "github.com/spf13/pflag"

// torturebroken.go replaces this file in builds with the tag sabotage.

func (*tortureFlags) breakFlag(*pflag.FlagSet) {}

func (*app) checkBreakFlag(*tortureFlags) error { return nil }
