package main

import (
	"os"

	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/internal/torture"
	"github.com/spf13/cobra"
)

// torturePartyCmd plays scripts in its own process, which torture kills.
func (a *app) torturePartyCmd() *cobra.Command {
	return &cobra.Command{
		Use: "party", Short: "Play scripts that standard input names", Args: cobra.NoArgs, Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return torture.Party(cmd.Context(), os.Stdin, os.Stdout, a.tortureLog())
		},
	}
}

// existingKeys reads the keys of a directory; it makes none.
func existingKeys(dir string) (*natsd.Issuer, error) {
	if !natsd.HasKeys(dir) {
		return nil, usage("there are no keys in %s; set --dir to the server's, or give --creds", dir)
	}
	return natsd.LoadIssuer(dir)
}
