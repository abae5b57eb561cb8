package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/askbus/askbus/internal/asking/acp"
	"github.com/askbus/askbus/internal/asking/mcpserver"
	"github.com/askbus/askbus/internal/asking/relay"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// agentGrace is how long an agent may run after its editor has exited, and again after SIGTERM.
const agentGrace = 5 * time.Second

// ACPCmd is "askbus acp".
func ACPCmd(a *cli.App) *cobra.Command {
	var flags hostFlags
	cmd := &cobra.Command{
		Use:   "acp -- COMMAND [ARGUMENT...]",
		Short: "Proxy ACP between an editor and an agent, so that its questions can be answered from any screen",
		Long: `Starts an agent that speaks the Agent Client Protocol on standard input and output
and forwards everything between it and the editor that started askbus. What the
agent asks (elicitation/create, session/request_permission) appears on every screen:
in the editor, if it can show it, and in every inbox. The first answer counts,
and the other dialogs close.

Put it in front of the agent's command in the editor's settings, such as
"askbus acp -- claude-agent-acp"; "askbus acp install" prints or writes them.

When the bus is unreachable, the editor's own dialogs still work. The exit code is the
agent's.`,
		Example: `  askbus acp -- claude-agent-acp
  askbus acp install zed --write -- claude-agent-acp`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			tenant, session, err := flags.home(a)
			if err != nil {
				return err
			}
			who := relay.Caller{
				Tenant: tenant, Session: session, Fallback: processSession("acp"), Timeout: flags.timeout, Outlive: flags.outlive,
				Agent: mcpserver.AgentPath(a.Host.Agent), Human: cli.Sitting(),
			}
			return runRelay(cmd.Context(), a, &acp.Protocol{}, who, args, "askbus acp -- claude-agent-acp")
		},
	}
	flags.add(cmd, a, "what the agent calls itself")
	cmd.Flags().SetInterspersed(false)
	cmd.AddCommand(acpInstallCmd(a))
	return cmd
}

// runRelay starts the agent and waits until it has exited.
func runRelay(ctx context.Context, a *cli.App, speaks relay.Protocol, who relay.Caller, args []string, example string) error {
	// If the editor exits, SIGPIPE must not end this process before the asks are withdrawn. (The
	// agent would inherit an ignored signal.)
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)

	child, err := startAgent("agent", example, args, a.Stderr)
	if err != nil {
		return err
	}
	lazy := &lazyBus{a: a}
	defer lazy.close()
	native := &hostDialog{lazy: lazy, typ: ask.ResponderNative}
	defer native.close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		relay.Run(ctx, speaks, lazy, who, relay.Side{In: os.Stdin, Out: os.Stdout}, relay.Side{In: child.out, Out: child.in}, relay.Options{Logger: a.Logger(), Decider: native})
	}()
	return child.wait(ctx, done)
}

// agentProcess is the agent that we started.
type agentProcess struct {
	cmd   *exec.Cmd
	in    *agentInput
	out   *os.File
	ended chan error
}

// agentInput is the agent's standard input; closed is closed when no more input follows.
type agentInput struct {
	*os.File
	closed chan struct{}
}

func (i *agentInput) Close() error {
	err := i.File.Close()
	close(i.closed) // the proxy closes it once
	return err
}

func startAgent(what, example string, args []string, stderr any) (*agentProcess, error) {
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the %s: %w", what, err)
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the %s: %w", what, err), inRead.Close(), inWrite.Close())
	}
	cmd := exec.Command(args[0], args[1:]...) //nolint:gosec,noctx // the user's own command; it ends with wait
	cmd.Stdin, cmd.Stdout, cmd.Env = inRead, outWrite, agentEnviron()
	if f, ok := stderr.(*os.File); ok {
		cmd.Stderr = f
	}
	err = cmd.Start()
	_, _ = inRead.Close(), outWrite.Close()
	if err != nil {
		_, _ = inWrite.Close(), outRead.Close()
		return nil, cli.Usage("the %s does not start: %w; give its command after --, such as: %s", what, err, example)
	}
	p := &agentProcess{cmd: cmd, in: &agentInput{inWrite, make(chan struct{})}, out: outRead, ended: make(chan error, 1)}
	go func() { p.ended <- cmd.Wait() }()
	return p, nil
}

// wait waits until the agent has exited and its output has been forwarded. An agent that outlives
// its editor gets SIGTERM, then SIGKILL.
func (p *agentProcess) wait(ctx context.Context, done <-chan struct{}) error {
	defer func() { _ = p.out.Close() }() // unblocks the agent's writes
	var err error
	select {
	case err = <-p.ended:
	case <-p.in.closed: // the editor exited, or we were told to stop
		grace := agentGrace
		if ctx.Err() != nil {
			grace = 0
		}
		err = p.end(grace)
	}
	// Do not wait for children of the agent that still hold the pipe.
	_ = p.out.SetReadDeadline(time.Now().Add(time.Second))
	<-done
	if exited, ok := errors.AsType[*exec.ExitError](err); ok {
		return cli.Exit(max(exited.ExitCode(), cli.ExitFailure))
	}
	return err
}

func (p *agentProcess) end(grace time.Duration) error {
	for _, sig := range []os.Signal{syscall.SIGTERM, os.Kill} {
		select {
		case err := <-p.ended:
			return err
		case <-time.After(grace):
			_ = p.cmd.Process.Signal(sig) // ended meanwhile
			grace = agentGrace
		}
	}
	return <-p.ended
}

// agentEnviron returns our environment without the credential that answers for the editor: the
// agent asks, it does not answer.
func agentEnviron() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, config.Prefix+"_HOST_CREDS=")
	})
}
