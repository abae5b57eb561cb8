package operator

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/spf13/cobra"
)

// HealthCmd checks readiness, for containers without a shell.
func HealthCmd(a *cli.App) *cobra.Command {
	var addr string
	cmd := &cobra.Command{
		Use: "health", Short: "Check whether a role is ready: exit code 0 or 1", Args: cobra.NoArgs,
		Example: "  askbus health --addr http://127.0.0.1:9090",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if addr == "" {
				ctx, err := cli.ReadContext(a.Dir)
				if err != nil {
					return err
				}
				if addr = ctx.Ops["up"]; addr == "" {
					return cli.Usage("no ops address known; give --addr")
				}
			}
			req, err := http.NewRequestWithContext(cmd.Context(), http.MethodGet, strings.TrimRight(addr, "/")+"/readyz", nil)
			if err != nil {
				return err
			}
			resp, err := (&http.Client{Timeout: 3 * time.Second}).Do(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close() //nolint:errcheck // read-only
			body, _ := io.ReadAll(io.LimitReader(resp.Body, 1024))
			if resp.StatusCode != http.StatusOK {
				return fmt.Errorf("not ready: %s", strings.TrimSpace(string(body)))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "", "ops URL (default: the one of \"askbus up\" in context.json)")
	return cmd
}
