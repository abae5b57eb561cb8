package role

import (
	"context"
	"errors"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/telegram"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/process/daemon"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/spf13/cobra"
)

// telegramSettings are the settings of "askbus telegram".
type telegramSettings struct {
	config.Listen
	config.Telegram
}

// TelegramCmd is "askbus telegram".
func TelegramCmd(a *cli.App) *cobra.Command {
	var s telegramSettings
	cmd := &cobra.Command{
		Use: "telegram", Short: "Post asks to Telegram, where people answer them with a button", Args: cobra.NoArgs,
		Example: "  ASKBUS_TELEGRAM_TOKEN_FILE=token askbus telegram --chat 123456789",
		Long: `Posts a message with buttons for each ask to a chat or a person, edits it to the outcome
wherever the ask was answered, and accepts buttons and replies. It polls Telegram: no public
address, and one process for a token.

The token comes from the environment or from a file that it names, never from a flag; see
"askbus settings" and docs/telegram.md.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runTelegram(cmd.Context(), a, s) },
	}
	cli.Load(&s, cmd)
	f := cmd.PersistentFlags()
	f.StringVar(&s.Telegram.Telegram.Routes, "routes", s.Telegram.Telegram.Routes, "routing file")
	f.StringVar(&s.Telegram.Telegram.Chat, "chat", s.Telegram.Telegram.Chat, "id of the chat for all asks, without a routing file")
	opsFlag(cmd, &s.OpsAddr)
	doctor := &cobra.Command{
		Use: "doctor", Short: "Check token, webhook, chats and groups", Args: cobra.NoArgs,
		Example: "  askbus telegram doctor --routes routes.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts, err := telegramOptions(a, &s)
			if err != nil {
				return err
			}
			app, err := telegram.New(nil, opts)
			if err != nil {
				return &cli.ExitError{Code: cli.ExitUsage, Err: err}
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), time.Minute)
			defer cancel()
			return printFindings(a, app.Doctor(ctx))
		},
	}
	cmd.AddCommand(doctor)
	return cmd
}

func telegramOptions(a *cli.App, s *telegramSettings) (telegram.Options, error) {
	c := &s.Telegram.Telegram
	token, err := cli.SecretOf("ASKBUS_TELEGRAM_TOKEN", c.Token, c.TokenFile)
	if err != nil {
		return telegram.Options{}, &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	opts := telegram.Options{Token: token, APIURL: c.URL, Options: chat.Options{RouteFile: c.Routes, Link: slackLink(a, c.Inbox), Logger: a.Logger()}}
	opts.Routes.Default.Channel = c.Chat
	if err := opts.Check(); err != nil {
		return opts, &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	return opts, nil
}

func telegramCred(a *cli.App, routed bool) (client.Credential, error) {
	if a.Creds != "" {
		return a.GivenCred()
	}
	role := rights.Role{Name: rights.RoleResponder, Type: telegram.Type}
	may := role.Assertions()
	if routed { // the file may map users to any principal, and may change
		may.Proven = append(may.Proven, ask.ProofTelegram+"=*")
	}
	return a.LocalAsserting(role, may)
}

func runTelegram(ctx context.Context, a *cli.App, s telegramSettings) error {
	opts, err := telegramOptions(a, &s)
	if err != nil {
		return err
	}
	r := NewRunning(ctx, a)
	defer r.Close()
	cred, err := telegramCred(a, opts.RouteFile != "")
	if err != nil {
		return err
	}
	nc, err := r.connect(cred)
	if err != nil {
		return err
	}
	of, _ := rights.ParseUser(cred.Name) // unknown roles stay empty
	bus, err := responder.New(nc, telegram.Type, responder.Options{Tenant: of.Tenant, Logger: r.Log, TracerProvider: r.tracing})
	if err != nil {
		return err
	}
	app, err := telegram.New(bus, opts)
	if err != nil {
		return &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	r.parts = append(r.parts, daemon.Part{Name: "telegram", Run: func(ctx context.Context) error {
		return app.Serve(ctx, responder.ServeOptions{WorkOptions: responder.WorkOptions{Concurrency: 32, Grace: 10 * time.Second}})
	}}, daemon.Part{Name: "polling", Run: app.Listen})
	if err := r.Ops(ctx, "telegram", s.OpsAddr, func() error { return errors.Join(natsReady(nc), app.Ready()) }); err != nil {
		return err
	}
	return r.Run(ctx, func() { a.Note("askbus: polling Telegram, ops at %s", r.After.Ops["telegram"]) })
}
