package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/call"
	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// removeNodeCmd makes a cluster forget a node.
func (a *app) removeNodeCmd() *cobra.Command {
	return &cobra.Command{
		Use: "remove-node NAME", Short: "Make a cluster forget a node that will not come back", Args: cobra.ExactArgs(1),
		Example: "  askbus server remove-node n3 --dir ./n1",
		Long: `Makes the cluster forget a node for good. A node whose disk is lost need not be removed:
start it again under its name. To move a node to another machine, or to another name:

  1. stop the node
  2. start the new one under a name of its own, with all nodes in its list
  3. remove the old one here, with the directory of a node that runs
  4. wait until the new one is ready (/readyz): it has every copy of the old one
  5. put the new list into the other nodes' settings; a restart one by one makes it hold

The name of a removed node is refused for five minutes. More than half of the nodes must
run. Without a new one, asks are stored as long as two run, and have a copy less.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), 20*time.Second)
			defer cancel()
			cred, err := a.local(natsd.Role{Name: natsd.RoleCluster})
			if err != nil {
				return err
			}
			nc, err := call.Connect(call.Credential(a.trust(cred)), a.log())
			if err != nil {
				return fmt.Errorf("connect to %s: %w", cred.URL, err)
			}
			defer nc.Close()
			left, err := natsd.RemoveNode(ctx, nc, args[0])
			if err != nil {
				return err
			}
			return a.tellNodes(args[0], left)
		},
	}
}

func (a *app) tellNodes(removed string, left []natsd.Member) error {
	names, away := []string{}, 0
	for _, m := range left {
		names = append(names, m.Name)
		if m.Offline {
			away++
		}
	}
	if a.json() {
		return json.NewEncoder(a.out).Encode(map[string]any{"removed": removed, "nodes": names, "offline": away})
	}
	fmt.Fprintf(a.out, "removed %s; the cluster is %s", removed, ask.CleanLine(strings.Join(names, ", ")))
	if away > 0 {
		fmt.Fprintf(a.out, ", of which %d are away", away)
	}
	fmt.Fprintln(a.out)
	return nil
}
