package role

import (
	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/mattermost"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/spf13/pflag"
)

// mattermostEntry is Mattermost in the table of chats.
func mattermostEntry() *chatEntry {
	s := &config.Mattermost{}
	c := &s.Mattermost
	return &chatEntry{
		Type: mattermost.Type, Name: "Mattermost", Short: "Post asks to Mattermost, where people answer them with a button",
		Example: "  ASKBUS_MATTERMOST_TOKEN_FILE=token askbus mattermost --url https://chat.example.com --channel qmd5oqtwoibz8cuzxzg5ekshgr --callback http://askbus:8432",
		Long: `Posts a message with buttons for each ask to a channel or a person, edits it to the outcome
wherever the ask was answered, and accepts buttons and dialogs.

The Mattermost server calls it: --http-addr must be reachable for the server as --callback.
Any number of replicas.`,
		ConnectLong: `Make the bot (docs/mattermost.md), and have the server's address and the bot's token at hand. The server
calls askbus, so it must reach this machine. Then send the code that this command shows to the bot.`,
		PublicURL: &c.Callback, PublicName: "CALLBACK", PublicPlain: true, PublicWhat: "address at which the Mattermost server reaches askbus",
		PublicWhy:   "the Mattermost server calls an address, /mattermost/…, when somebody presses a button",
		Questions:   []chatQuestion{{"URL", "address of the Mattermost server, as its people open it", &c.URL}},
		DoctorShort: "Check token, channels, groups and the WebSocket",
		Settings:    s, Secrets: []chatSecret{{Name: "TOKEN", What: "token of the bot", Text: &c.Token, File: &c.TokenFile}},
		Place: &c.Channel, PlaceFlag: "channel", PlaceUsage: "id of the channel for all asks, without a routing file", Posting: &c.Posting, HTTPAddr: &c.HTTPAddr,
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&c.URL, "url", c.URL, "address of the server, as its people open it")
			f.StringVar(&c.Callback, "callback", c.Callback, "address at which the server reaches this process")
		},
		Proof: ask.ProofMattermost, ParseRoutes: mattermost.ParseRoutes,
		New: func(bus *responder.Responder, o chat.Options) (chatApp, error) {
			return mattermost.New(bus, mattermost.Options{Options: o, URL: c.URL, Token: c.Token, Callback: c.Callback, Guests: c.Guests})
		},
	}
}
