package role

import (
	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/telegram"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// telegramEntry is Telegram in the table of chats.
func telegramEntry() *chatEntry {
	s := &config.Telegram{}
	c := &s.Telegram
	return &chatEntry{
		Type: telegram.Type, Name: "Telegram", Short: "Post asks to Telegram, where people answer them with a button",
		Example: "  ASKBUS_TELEGRAM_TOKEN_FILE=token askbus telegram --chat 123456789",
		Long: `Posts a message with buttons for each ask to a chat or a person, edits it to the outcome
wherever the ask was answered, and accepts buttons and replies. It polls Telegram: no public
address, and one process for a token.`,
		DoctorShort: "Check token, webhook, chats and groups",
		Settings:    s, Secrets: []chatSecret{{"TOKEN", "token of the bot, as @BotFather gave it", &c.Token, &c.TokenFile}},
		Place: &c.Chat, PlaceFlag: "chat", PlaceUsage: "id of the chat for all asks, without a routing file", Routes: &c.Routes, Inbox: &c.Inbox,
		Over: "by polling", Proof: ask.ProofTelegram, ParseRoutes: telegram.ParseRoutes,
		New: func(bus *responder.Responder, o chat.Options) (chatApp, error) {
			return telegram.New(bus, telegram.Options{Options: o, Token: c.Token, APIURL: c.URL})
		},
	}
}
