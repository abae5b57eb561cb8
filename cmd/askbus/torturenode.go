package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/askbus/askbus/internal/config"
	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/internal/torture"
	"github.com/spf13/cobra"
)

// tortureNodeCmd is one server of a cluster, for "torture --processes --nodes 3"
// and for the scripts in hack that put each into a network namespace.
func (a *app) tortureNodeCmd() *cobra.Command {
	var addr, maxStore, keyOf string
	var c natsd.Cluster
	cmd := &cobra.Command{
		Use: "node", Short: "Start one NATS server of a cluster", Args: cobra.NoArgs, Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bytes, err := config.Bytes(maxStore)
			if err != nil {
				return usage("--max-store: %w", err)
			}
			if keyOf != "" {
				if err := natsd.ShareKey(keyOf, a.Dir); err != nil {
					return err
				}
			}
			srv, err := natsd.Start(natsd.Options{Dir: a.Dir, Addr: addr, MaxStore: bytes, Cluster: &c, Logger: a.log()})
			if err != nil {
				return err
			}
			defer srv.Close()
			a.say("askbus: node %s at %s", c.Node, srv.URL())
			<-cmd.Context().Done()
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&addr, "nats-addr", "127.0.0.1:0", "NATS address")
	f.StringVar(&maxStore, "max-store", "10GiB", "bytes on disk")
	f.StringVar(&keyOf, "key-of", "", "directory whose key all nodes share")
	f.StringVar(&c.Node, "node", "n1", "name of this node")
	f.StringVar(&c.Addr, "cluster-addr", "", "address for the other nodes")
	f.StringSliceVar(&c.Routes, "routes", nil, "cluster addresses of all nodes")
	return cmd
}

// torturePartyCmd plays scripts in a process of their own, to be killed.
func (a *app) torturePartyCmd() *cobra.Command {
	return &cobra.Command{
		Use: "party", Short: "Play scripts; what to do comes on standard input", Args: cobra.NoArgs, Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return torture.Party(cmd.Context(), os.Stdin, os.Stdout, a.tortureLog())
		},
	}
}

// existingKey reads the key of a directory that has one.
func existingKey(dir string) (natsd.Key, error) {
	if _, err := os.Stat(filepath.Join(dir, "key")); errors.Is(err, os.ErrNotExist) {
		return nil, usage("there is no key in %s; set --dir to that of the server, or give --creds", dir)
	}
	return natsd.LoadKey(dir)
}
