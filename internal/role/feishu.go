package role

import (
	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/feishu"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// feishuEntry is Feishu, which is Lark outside of China, in the table of chats.
func feishuEntry() *chatEntry {
	s := &config.Feishu{}
	c := &s.Feishu
	webhooks := func() bool { return c.EncryptKey != "" }
	return &chatEntry{
		Type: feishu.Type, Name: "Feishu", Short: "Post asks to Feishu or Lark, where people answer them on a card",
		Example: "  ASKBUS_FEISHU_APP_ID=cli_a1b2c3 ASKBUS_FEISHU_APP_SECRET_FILE=secret askbus feishu --chat oc_d4e5f6",
		Long: `Posts a card with buttons or a form for each ask to a chat or a person, edits it to the outcome
wherever the ask was answered, and accepts clicks and replies. It holds a long connection: no
public address, and up to 50 processes for an app. With an encrypt key and a verification token
it receives webhooks instead.`,
		ConnectLong: `Make the app (docs/feishu.md) and have its App ID and App Secret at hand; for Lark set
ASKBUS_FEISHU_DOMAIN. Then send the code that this command shows to the bot. No public address is needed.`,
		Unasked: []string{"ENCRYPT_KEY", "VERIFICATION_TOKEN"}, Questions: []chatQuestion{{"APP_ID", "App ID (cli_…)", &c.AppID}},
		DoctorShort: "Check app, events, chats and groups",
		Settings:    s,
		Secrets: []chatSecret{
			{Name: "APP_SECRET", What: "App Secret, on the page of the app's credentials", Text: &c.AppSecret, File: &c.AppSecretFile},
			{Name: "ENCRYPT_KEY", What: "Encrypt Key, only for webhooks", Text: &c.EncryptKey, File: &c.EncryptKeyFile},
			{Name: "VERIFICATION_TOKEN", What: "Verification Token, only for webhooks", Text: &c.VerificationToken, File: &c.VerificationTokenFile},
		},
		Place: &c.Chat, PlaceFlag: "chat", PlaceUsage: "id of the chat for all asks, without a routing file", Posting: &c.Posting,
		HTTPAddr: &c.HTTPAddr, Over: "over the long connection", Called: webhooks,
		Proof: ask.ProofFeishu, ParseRoutes: feishu.ParseRoutes,
		New: func(bus *responder.Responder, o chat.Options) (chatApp, error) {
			return feishu.New(bus, feishu.Options{
				Options: o, AppID: c.AppID, AppSecret: c.AppSecret, Domain: c.Domain, EncryptKey: c.EncryptKey, VerificationToken: c.VerificationToken,
			})
		},
	}
}
