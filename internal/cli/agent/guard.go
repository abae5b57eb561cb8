package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/askbus/askbus/internal/asking/checkout"
	"github.com/askbus/askbus/internal/asking/guard"
	"github.com/askbus/askbus/internal/asking/mcpserver"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// mcpGuardCmd is "askbus mcp guard".
func mcpGuardCmd(a *cli.App) *cobra.Command {
	var rules, address, tokenFile, name string
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "guard (-- COMMAND [ARGUMENT...] | --url URL)",
		Short: "Guard an MCP server: ask a person before its tools run",
		Long: `Serves an MCP server to one client on standard input and output: one that it starts,
or one at a URL (streamable HTTP). Everything passes unchanged, except tool calls that
need a person. Without --rules that is every call; the file says which calls are allowed,
asked for or refused, by the tool's name and its arguments.

A call that nobody decides within --wait is answered "pending" with an id, and carried out
once it is allowed, at most once. The tool askbus_result gives its state or its result for
a day. When the client is gone, its calls are withdrawn, unless their rule says otherwise.
Without a bus nothing that needs a person is carried out.`,
		Example: `  askbus mcp guard --rules rules.yaml -- npx -y @modelcontextprotocol/server-filesystem .
  askbus mcp guard --url https://mcp.example.com/mcp --token-file token`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if (address == "") == (len(args) == 0) {
				return cli.Usage("give either the server's command after --, or --url")
			}
			if wait < time.Second || wait > ask.MaxHold {
				return cli.Usage("invalid --wait %s: use 1s to %s", wait, ask.MaxHold)
			}
			otherwise := processSession("guard")
			if dir, err := os.Getwd(); err == nil {
				otherwise = clientSession("guard", dir)
			}
			tenant, session, err := hostHome(a, otherwise)
			if err != nil {
				return err
			}
			opts := guard.Options{Dir: filepath.Join(a.Dir, "guard", tenant, session, serverKey(address, args)), Name: name, Wait: wait, Logger: a.Logger(), Waiting: a.NeededFor()}
			if rules != "" {
				data, err := cli.ReadFile(rules, strings.NewReader(""), bigFile)
				if err != nil {
					return err
				}
				if opts.Rules, err = guard.ReadRules(data); err != nil {
					return cli.Usage("--rules %s: %w", rules, err)
				}
			}
			who := guard.Caller{Tenant: tenant, Session: session, Agent: mcpserver.AgentPath(a.Host.Agent), Language: a.Language()}
			work := checkout.Of(".") // the client's directory
			work.Branch = ""         // it changes while we run
			work.Fill(&who.Agent)
			lazy := &lazyBus{a: a}
			defer lazy.close()
			if address == "" {
				return guardCommand(cmd.Context(), a, lazy, who, args, opts)
			}
			header, err := bearer(address, tokenFile)
			if err != nil {
				return err
			}
			client := guard.Side{In: os.Stdin, Out: os.Stdout}
			return guard.Run(cmd.Context(), lazy, who, client, guard.Connect(context.WithoutCancel(cmd.Context()), address, header), opts)
		},
	}
	cmd.Flags().StringVar(&rules, "rules", "", "the file with the rules, in YAML (default: ask before every call)")
	cmd.Flags().StringVar(&address, "url", "", "the server's address, instead of a command")
	cmd.Flags().StringVar(&tokenFile, "token-file", "", "a file with the bearer token for --url")
	cmd.Flags().StringVar(&name, "name", "", "the server's name on the card (default: what it calls itself)")
	cmd.Flags().DurationVar(&wait, "wait", mcpserver.DefaultWait, "how long a call waits before it is answered pending; less than the client's own limit")
	agentFlag(cmd, a, " (default: what the client calls itself)")
	return cmd
}

// serverKey names a server among those of a session: its address, or its command and where it runs.
func serverKey(address string, command []string) string {
	dir, _ := os.Getwd() // without one there is none to tell apart
	if address != "" {
		dir = ""
	}
	sum := sha256.Sum256([]byte(strings.Join(append([]string{address, dir}, command...), "\x00")))
	return hex.EncodeToString(sum[:8])
}

// guardCommand starts the server and waits until it has exited.
func guardCommand(ctx context.Context, a *cli.App, lazy *lazyBus, who guard.Caller, args []string, opts guard.Options) error {
	broken := make(chan os.Signal, 1) // as in runACP
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)
	child, err := startAgent("server", "askbus mcp guard -- npx -y @modelcontextprotocol/server-filesystem .", args, a.Stderr)
	if err != nil {
		return err
	}
	done, failed := make(chan struct{}), error(nil)
	go func() {
		defer close(done)
		failed = guard.Run(ctx, lazy, who, guard.Side{In: os.Stdin, Out: os.Stdout}, guard.Side{In: child.out, Out: child.in}, opts)
	}()
	err = child.wait(ctx, done)
	if err == nil && !errors.Is(failed, os.ErrDeadlineExceeded) && !errors.Is(failed, syscall.EPIPE) { // the server's end
		err = failed
	}
	return err
}

// bearer returns the header of requests to a server with an address.
func bearer(address, file string) (http.Header, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, cli.Usage("invalid --url %q: use http://… or https://…", address)
	}
	if file == "" {
		return http.Header{}, nil
	}
	if u.Scheme == "http" && !httpserver.LoopbackHost(u.Host) {
		return nil, cli.Usage("--url %s would carry the token in plain text; use https, or leave out --token-file", address)
	}
	data, err := cli.ReadFile(file, strings.NewReader(""), 64<<10)
	if err != nil {
		return nil, err
	}
	token := strings.TrimSpace(string(data))
	if token == "" || strings.ContainsAny(token, "\r\n") {
		return nil, cli.Usage("--token-file %s does not hold one token", file)
	}
	return http.Header{"Authorization": {"Bearer " + token}}, nil
}
