package role

import (
	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/teams"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/spf13/pflag"
)

// teamsEntry is Microsoft Teams in the table of chats.
func teamsEntry() *chatEntry {
	s := &config.Teams{}
	c := &s.Teams
	address := "" // which Teams is told, and no process
	return &chatEntry{
		Type: teams.Type, Name: "Teams", Short: "Post asks to Microsoft Teams, where people answer them on a card",
		Example: "  ASKBUS_TEAMS_SECRET_FILE=secret askbus teams --app-id 1f3a… --directory 9c2b… --channel 19:…@thread.tacv2",
		Long: `Posts an Adaptive Card for each ask to a channel, a group chat or a person, edits it to the
outcome wherever the ask was answered, and accepts buttons, forms and words in threads.

Teams calls it: --http-addr must be reachable as https://…/teams/messages, the messaging
endpoint of the bot. Any number of replicas.`,
		ConnectLong: `Make the bot and its registration (docs/teams.md), add the app to Teams for yourself, and have the app's id,
the directory's id and the client secret at hand. Teams calls the bot: a proxy must lead an https address to it. Then
send the code that this command shows to the bot.`,
		PublicURL: &address, PublicWhat: "https address of askbus, before /teams/messages", PairsByCalls: teams.MayPair,
		PublicWhy:   "Teams calls an address, https://…/teams/messages, the messaging endpoint of the bot",
		Questions:   []chatQuestion{{"APP_ID", "id of the app's registration", &c.AppID}, {"DIRECTORY", "id of the directory whose members may answer", &c.Directory}},
		DoctorShort: "Check secret, signing keys, channels and groups",
		Settings:    s, Secrets: []chatSecret{{Name: "SECRET", What: "client secret of the app's registration", Text: &c.Secret, File: &c.SecretFile}},
		Place: &c.Channel, PlaceFlag: "channel", PlaceUsage: "id of the channel or group chat for all asks, without a routing file", Posting: &c.Posting, HTTPAddr: &c.HTTPAddr,
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&c.AppID, "app-id", c.AppID, "id of the app's registration")
			f.StringVar(&c.Directory, "directory", c.Directory, "id of the directory (tenant) whose members may answer")
		},
		Proof: ask.ProofTeams, ParseRoutes: teams.ParseRoutes,
		New: func(bus *responder.Responder, o chat.Options) (chatApp, error) {
			return teams.New(bus, teams.Options{
				Options: o, AppID: c.AppID, Directory: c.Directory, Secret: c.Secret, Guests: c.Guests,
				ServiceURL: c.ServiceURL, LoginURL: c.LoginURL, KeysURL: c.KeysURL,
			})
		},
	}
}
