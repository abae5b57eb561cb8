package agent

import (
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// hostFlags are the flags of commands that stand between an agent and its host.
type hostFlags struct {
	minProof string
	timeout  time.Duration
	outlive  bool
}

// add adds the flags that all of them have; agent is who asks by default.
func (f *hostFlags) add(cmd *cobra.Command, a *cli.App, agent string) {
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "when each ask ends by itself: 1s to 720h (default 720h)")
	agentFlag(cmd, a, " (default: "+agent+")")
	outliveFlag(cmd, &f.outlive)
}

func (f *hostFlags) addMinProof(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVar(&f.minProof, "min-proof", "", usage)
	cli.Fixed(cmd, "min-proof", ask.MinProofs()...)
}

// home checks the flags, and returns the tenant and session of the agent; the session may be empty.
func (f *hostFlags) home(a *cli.App) (tenant, session string, err error) {
	if f.timeout != 0 && (f.timeout < ask.MinTimeout || f.timeout > ask.MaxTimeout) {
		return "", "", cli.Usage("invalid --timeout %s: use %s to %s", f.timeout, ask.MinTimeout, ask.MaxTimeout)
	}
	if f.minProof != "" && !slices.Contains(ask.MinProofs(), f.minProof) {
		return "", "", cli.Usage("invalid --min-proof %q: use %s", f.minProof, strings.Join(ask.MinProofs(), ", "))
	}
	return hostHome(a, "")
}

func agentFlag(cmd *cobra.Command, a *cli.App, byDefault string) {
	cmd.Flags().StringVar(&a.Host.Agent, "agent", a.Host.Agent, "the asking agent, below the agents that started it, such as planner/a-1/builder"+byDefault)
}

// outliveFlag is the flag of commands that wait on behalf of an agent.
func outliveFlag(cmd *cobra.Command, outlive *bool) {
	cmd.Flags().BoolVar(outlive, "outlive", false, "keep questions open when the agent exits (default: they are withdrawn about 8 minutes after its last sign of life)")
}
