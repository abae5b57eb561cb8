package operator

import (
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// AbortCmd is "askbus abort".
func AbortCmd(a *cli.App) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "abort (ID | SESSION/ID)", Short: "End an ask as the operator", Args: cobra.ExactArgs(1),
		Example: `  askbus abort build-42/deploy --reason "the cluster is closed tonight"`, ValidArgsFunction: a.CompleteAsks(ask.StatePending),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithAsk(cmd.Context(), args[0], func(_ *cli.Bus, k ask.Key) error {
				op, err := a.DialOperator()
				if err != nil {
					return err
				}
				defer op.Close()
				o, err := op.Asks.Session(k.Tenant, k.Session).Abort(cmd.Context(), k.ID, reason)
				if err != nil {
					return err
				}
				return a.Accepted(&o, ask.By{})
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why")
	return cmd
}
