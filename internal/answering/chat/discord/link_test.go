package discord_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/chat/discord"
	"github.com/askbus/askbus/internal/lab/fakediscord"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
)

// said returns what the bot wrote where.
func (w *world) said() (all []string) {
	for _, m := range w.fake.Messages() {
		all = append(all, m.Channel+" "+m.Content)
	}
	return all
}

// Who writes "link" to the bot in private gets one code from two replicas, which links them under the id that Discord
// proves; a bot gets none. So does who uses the command, anywhere. A question that has an option of this name is answered by its button, and not by the word.
func TestAMemberAsksToBeLinked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	inbox := func(o *discord.Options) { o.Inbox = chattest.LinkInbox }
	_, stop := w.start(inbox)
	_, stopOther := w.start(inbox)
	w.Ask(chattest.OptionLink("a1"))
	m := w.open("What to do")
	w.fake.Write(robot, "link")
	w.fake.Write(mei, "hello")
	w.fake.Write(mei, "/link")
	code := w.LinkCodes(w.said)[0]
	w.Linked(code, "discord:"+mei)
	if rec := w.Get("a1"); rec.State != ask.StatePending {
		t.Errorf("it is %s", rec.State)
	}
	w.click(mei, m, "Link")
	w.AnsweredLink("a1")

	told := w.command(tom, asks)
	w.Linked(chattest.LinkCode(told), "discord:"+tom)
	if told := w.command(guest, asks); !strings.Contains(told, "Guests of this server") {
		t.Errorf("a guest is told %q", told)
	}
	stop()
	stopOther()
	if codes := w.LinkCodes(w.said); len(codes) != 1 {
		t.Errorf("%d codes that others see, or that were made twice", len(codes))
	}
	if n := w.fake.Calls("POST /applications/{app}/commands"); n != 1 {
		t.Errorf("the command is made %d times", n)
	}
}

// command lets somebody use the command, in private without a channel, and returns what only they are told.
func (w *world) command(user, channel string) string {
	w.T.Helper()
	in, err := w.fake.Command(w.T.Context(), user, channel, "link")
	if err == nil && in.Told == nil {
		in, err = w.fake.Replied(w.T.Context(), in.ID, waittest.Limit, func(in *fakediscord.Interaction) bool { return in.Told != nil })
	}
	if err != nil {
		w.T.Fatal(err)
	}
	return in.Words()
}
