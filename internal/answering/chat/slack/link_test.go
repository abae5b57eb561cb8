package slack_test

import (
	"cmp"
	"regexp"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/chat/slack"
	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

var linkAt = regexp.MustCompile(`https://ask\.example\.com/account/chats/([2-9A-Z-]{14})`)

// A member of the workspace writes "link" to the app, and the inbox links them by the page that it names. Members of other
// workspaces get none. A question that has an option of this name is answered in its thread, and not by the word alone.
func TestAMemberAsksToBeLinked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{})
	w.fake.AddUser(fakeslack.User{ID: "U0OUT", Name: "out", Team: "T0OTHER"})
	w.fake.AddUser(fakeslack.User{ID: "U0IN", Name: "in"})
	w.fake.AddChannel(fakeslack.Channel{ID: "D0OUT", With: "U0OUT"})
	w.fake.AddChannel(fakeslack.Channel{ID: "D0IN", With: "U0IN"})
	w.start(false, func(o *slack.Options) { o.Inbox = "https://ask.example.com" })
	k := w.ask(chattest.OptionLink("a1"))
	card := w.posted("a1")
	w.fake.Write("U0OUT", "D0OUT", "", "link")
	w.fake.Write("U0IN", "D0IN", "", "link")
	var code string
	natstest.Eventually(t, "a link", func() bool {
		for _, m := range w.fake.Messages("D0IN") {
			if found := linkAt.FindStringSubmatch(m.Text); found != nil {
				code = found[1]
			}
		}
		return code != ""
	})
	l, err := w.other.Link(t.Context(), ask.By{Principal: "oidc:mei", Proof: ask.ProofOIDC}, code)
	if err != nil || !strings.HasPrefix(l.Principal, "slack:") || !strings.HasSuffix(l.Principal, "/U0IN") {
		t.Fatalf("%+v, %v", l, err)
	}
	if o := w.outcome(k); o != nil {
		t.Errorf("answered by %+v", o)
	}
	w.fake.Write("U0IN", card.Channel, cmp.Or(card.Thread, card.TS), "answer: link")
	natstest.Eventually(t, "the thread answers", func() bool {
		o := w.outcome(k)
		return o != nil && o.Answers[0].Selected[0] == "l"
	})
	for _, m := range w.fake.Messages("D0OUT") {
		if linkAt.MatchString(m.Text) {
			t.Errorf("a member of another workspace gets %s", m.Text)
		}
	}
}
