package role

import (
	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/discord"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// discordEntry is Discord in the table of chats.
func discordEntry() *chatEntry {
	s := &config.Discord{}
	c := &s.Discord
	return &chatEntry{
		Type: discord.Type, Name: "Discord", Short: "Post asks to Discord, where people answer them with a button or a form",
		Example: "  ASKBUS_DISCORD_TOKEN_FILE=token askbus discord --channel 123456789012345678",
		Long: `Posts a card with buttons for each ask to a channel or a person, edits it to the outcome
wherever the ask was answered, and opens forms for what buttons cannot answer.

It receives clicks over Discord's gateway: no public address. With the application's public
key it listens on --http-addr for signed requests to /discord/interactions instead: any number
of replicas.`,
		ConnectLong: `Make an application with a bot, add it to a server that you are in (docs/discord.md), and have the bot's
token at hand. Then send the code that this command shows to the bot, as a direct message. No public address is
needed.`,
		DoctorShort: "Check token, where clicks go, channels and roles",
		Settings:    s, Secrets: []chatSecret{{Name: "TOKEN", What: "token of the bot", Text: &c.Token, File: &c.TokenFile}},
		Place: &c.Channel, PlaceFlag: "channel", PlaceUsage: "id of the channel for all asks, without a routing file", Posting: &c.Posting, HTTPAddr: &c.HTTPAddr,
		Over: "over the gateway", Called: func() bool { return c.PublicKey != "" },
		Proof: ask.ProofDiscord, ParseRoutes: discord.ParseRoutes,
		New: func(bus *responder.Responder, o chat.Options) (chatApp, error) {
			return discord.New(bus, discord.Options{Options: o, Token: c.Token, PublicKey: c.PublicKey, APIURL: c.URL})
		},
	}
}
