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
wherever the ask was answered, and accepts buttons and replies. It polls Telegram, which needs no
public address; of several replicas one polls, and another one follows when it dies. With
ASKBUS_TELEGRAM_WEBHOOK_URL Telegram calls any number of replicas at --http-addr instead.`,
		ConnectLong: `Ask @BotFather in Telegram for a bot (/newbot) and have its token at hand. Then send the code that
this command shows to the bot. No public address is needed.`,
		DoctorShort: "Check token, webhook, chats and groups",
		Settings:    s, Secrets: []chatSecret{{Name: "TOKEN", What: "token of the bot, as @BotFather gave it", Text: &c.Token, File: &c.TokenFile}},
		Place: &c.Chat, PlaceFlag: "chat", PlaceUsage: "id of the chat for all asks, without a routing file", Posting: &c.Posting,
		HTTPAddr: &c.HTTPAddr, Listens: func() bool { return c.WebhookURL == "" }, Called: func() bool { return c.WebhookURL != "" },
		Over: "by polling", Proof: ask.ProofTelegram, ParseRoutes: telegram.ParseRoutes,
		New: func(bus *responder.Responder, o chat.Options) (chatApp, error) {
			return telegram.New(bus, telegram.Options{Options: o, Token: c.Token, APIURL: c.URL, WebhookURL: c.WebhookURL})
		},
	}
}
