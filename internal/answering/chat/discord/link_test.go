package discord_test

import (
	"testing"

	"github.com/askbus/askbus/internal/answering/chat/discord"
	"github.com/askbus/askbus/internal/testkit/chattest"
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
// proves; a bot gets none. A question that has an option of this name is answered by its button, and not by the word.
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
	stop()
	stopOther()
	if codes := w.LinkCodes(w.said); len(codes) != 1 {
		t.Errorf("%d codes", len(codes))
	}
}
