package feishu_test

import (
	"testing"

	"github.com/askbus/askbus/internal/answering/chat/feishu"
	"github.com/askbus/askbus/internal/lab/fakefeishu"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/pkg/ask"
)

// said returns what the bot wrote where.
func (w *world) said() (all []string) {
	for _, m := range w.fake.Messages() {
		if m.From == "" && m.Kind == "text" {
			all = append(all, m.Chat+" "+m.Text)
		}
	}
	return all
}

// Who writes "link" to the bot in private gets a code, with which the inbox links them under the id that Feishu proves; in a
// group nobody does. Somebody of another organization is linked as such. A question with an option of this name is
// answered by a reply to it, and not by the word alone.
func TestAMemberAsksToBeLinked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := w.start(&surface{tune: func(o *feishu.Options) { o.Inbox = chattest.LinkInbox }})
	w.Ask(chattest.OptionLink("a1"))
	card := w.open("What to do")
	w.write(mei, group, "link", "", true)
	w.write(mei, "oc_p2pmei", "绑定", "", false)
	codes := w.LinkCodes(w.said)
	w.Linked(codes[0], "feishu:"+fakefeishu.Tenant+"/"+mei)
	w.write(guest, "oc_p2pguest", "link", "", false)
	for len(codes) < 2 {
		codes = w.LinkCodes(w.said)
	}
	w.Linked(codes[1], "feishu:elsewhere/"+guest)
	if rec := w.Get("a1"); rec.State != ask.StatePending {
		t.Errorf("it is %s", rec.State)
	}
	w.write(mei, group, "link", card.ID, true)
	w.AnsweredLink("a1")
	stop()
	if codes = w.LinkCodes(w.said); len(codes) != 2 {
		t.Errorf("%d codes", len(codes))
	}
}
