package role

import (
	"context"
	"fmt"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/slack"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/process/finding"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/spf13/pflag"
)

// slackEntry is Slack in the table of chats.
func slackEntry() *chatEntry {
	s, manifest := &config.Slack{}, ""
	c := &s.Slack
	return &chatEntry{
		Type: slack.Type, Name: "Slack", Short: "Post asks to Slack, where people answer them with a click",
		Example: "  ASKBUS_SLACK_BOT_TOKEN_FILE=bot ASKBUS_SLACK_APP_TOKEN_FILE=app askbus slack --channel C0123456789",
		Long: `Posts a card for each ask to a channel or a person, edits it to the outcome wherever
the ask was answered, and accepts clicks, forms and replies in threads.

With an app-level token it receives clicks over Socket Mode: no public address, at most
three replicas. With a signing secret it listens on --http-addr for Slack's requests to
/slack/interactions, /slack/events and /slack/commands: any number of replicas.`,
		ConnectLong: `Make the app from deploy/slack-manifest.yaml (docs/slack.md), install it, and have its bot token and its
app-level token at hand. Then send the code that this command shows to the app in a direct message; with
--channel asks go to that channel instead. No public address is needed.`,
		DoctorShort: "Check token, scopes, channels, groups, manifest and connections",
		DoctorFlags: func(f *pflag.FlagSet) {
			f.StringVar(&manifest, "manifest", "", "file with the app's manifest, as Slack's app page shows it (YAML or JSON)")
		},
		Settings: s,
		Secrets: []chatSecret{
			{Name: "BOT_TOKEN", What: "bot token (xoxb-…)", Text: &c.BotToken, File: &c.BotTokenFile},
			{Name: "APP_TOKEN", What: "app-level token (xapp-…)", Text: &c.AppToken, File: &c.AppTokenFile},
			{Name: "SIGNING_SECRET", What: "signing secret", Text: &c.SigningSecret, File: &c.SigningSecretFile},
		},
		Unasked: []string{"SIGNING_SECRET"},
		Place:   &c.Channel, PlaceFlag: "channel", PlaceUsage: "id of the channel for all asks, without a routing file", Posting: &c.Posting, HTTPAddr: &c.HTTPAddr,
		Flags: func(f *pflag.FlagSet) {
			f.IntVar(&c.Replicas, "replicas", c.Replicas, "number of processes that may share the bot token")
		},
		Over: "over Socket Mode", Listens: func() bool { return c.AppToken != "" }, Called: func() bool { return c.SigningSecret != "" },
		Proof: ask.ProofSlack + "-*", ParseRoutes: slack.ParseRoutes,
		Proven: func() []string {
			if c.EmailPrefix == "" {
				return nil
			}
			return []string{ask.ProofSlack + "-*=" + c.EmailPrefix + "*"}
		},
		New: func(bus *responder.Responder, o chat.Options) (chatApp, error) {
			if c.AppToken != "" && c.Replicas > slack.MaxReplicas {
				return nil, fmt.Errorf("invalid ASKBUS_SLACK_REPLICAS %d: Socket Mode allows at most %d; use HTTP (a signing secret instead of the app-level token) for more", c.Replicas, slack.MaxReplicas)
			}
			app, err := slack.New(bus, slack.Options{
				Options: o, BotToken: c.BotToken, AppToken: c.AppToken, SigningSecret: c.SigningSecret,
				Replicas: c.Replicas, Connections: c.Connections, EmailPrefix: c.EmailPrefix, Strangers: c.Strangers, APIURL: c.URL,
			})
			if err != nil {
				return nil, err
			}
			return slackApp{app, &manifest}, nil
		},
	}
}

// slackApp is the app whose doctor also reads the manifest that a flag names.
type slackApp struct {
	*slack.App
	manifest *string
}

// Connect returns the bot and its workspace.
func (s slackApp) Connect(ctx context.Context) (string, error) {
	id, err := s.App.Connect(ctx)
	return "bot " + id.BotUser + " of workspace " + id.Team, err
}

func (s slackApp) Doctor(ctx context.Context) finding.List { return s.App.Doctor(ctx, *s.manifest) }
