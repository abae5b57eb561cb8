package operator

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// RemoveNodeCmd removes a node from a cluster.
func RemoveNodeCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "remove-node NAME", Short: "Remove a node from a cluster for good", Args: cobra.ExactArgs(1),
		Example: "  askbus server remove-node n3 --dir ./n1",
		Long: `Removes a node from the cluster for good. A node whose disk is lost need not be removed:
start it again under its name. To move a node to another machine, or to another name:

  1. stop the node
  2. start the new one under a new name, with all nodes in its list
  3. remove the old one with this command, with the directory of a running node
  4. wait until the new one is ready (/readyz): it then has every copy of the old one
  5. put the new list into the other nodes' settings and restart them one by one

The name of a removed node is rejected for five minutes. More than half of the nodes must
run. Without a new node, asks are stored while two nodes run, with one copy less.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), 20*time.Second)
			defer cancel()
			cred, err := a.Local(rights.Role{Name: rights.RoleCluster})
			if err != nil {
				return err
			}
			nc, err := a.Connect(cred)
			if err != nil {
				return err
			}
			defer nc.Close()
			left, err := natsd.RemoveNode(ctx, nc, args[0])
			if err != nil {
				return err
			}
			return printNodes(a, args[0], left)
		},
	}
}

func printNodes(a *cli.App, removed string, left []natsd.Member) error {
	names, away := []string{}, 0
	for _, m := range left {
		names = append(names, m.Name)
		if m.Offline {
			away++
		}
	}
	if a.JSON() {
		return a.TellJSON(map[string]any{"removed": removed, "nodes": names, "offline": away})
	}
	fmt.Fprintf(a.Stdout, "removed %s; the cluster is %s", removed, ask.CleanLine(strings.Join(names, ", ")))
	if away > 0 {
		fmt.Fprintf(a.Stdout, "; %d of them are unreachable", away)
	}
	fmt.Fprintln(a.Stdout)
	return nil
}
