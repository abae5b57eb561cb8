package teams_test

import (
	"testing"

	"github.com/askbus/askbus/internal/answering/chat/teams"
	"github.com/askbus/askbus/internal/lab/faketeams"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// said returns what the bot wrote where.
func (w *world) said() (all []string) {
	for _, m := range w.fake.Messages() {
		all = append(all, m.Conversation+" "+m.Text)
	}
	return all
}

// Who writes "link" to the bot in private gets a code, with which the inbox links them under the id that Teams proves; in a
// conversation of several nobody does. A question there that has an option of this name is answered by "answer: link",
// and not by the word alone.
func TestAMemberAsksToBeLinked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tune = func(o *teams.Options) { o.Inbox = chattest.LinkInbox }
	stop := w.start(responder.WallClock())
	if err := w.fake.Install(t.Context(), tom); err != nil {
		t.Fatal(err)
	}
	stop() // waits for the work behind the delivery
	stop = w.start(responder.WallClock())
	a := chattest.OptionLink("a1")
	a.Audience = []string{"chat:tom"}
	w.Ask(a)
	private := w.opened("What to do").Conversation
	write := func(p faketeams.Person, in, words string) {
		t.Helper()
		if err := w.fake.Write(t.Context(), p, in, words, in == room); err != nil {
			t.Fatal(err)
		}
	}
	write(mei, room, "link")
	write(tom, private, "Link")
	codes := w.LinkCodes(w.said)
	w.Linked(codes[0], "teams:"+faketeams.Tenant+"/"+tom.Object)
	if rec := w.Get("a1"); rec.State != ask.StatePending {
		t.Errorf("it is %s", rec.State)
	}
	write(tom, private, "answer: link")
	w.AnsweredLink("a1")
	stop()
	if codes = w.LinkCodes(w.said); len(codes) != 1 {
		t.Errorf("%d codes", len(codes))
	}
}
