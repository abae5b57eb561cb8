package slack_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/slack"
	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

// Two workspaces of one tenant each get every ask that their routes want, and edit their own cards, whoever answered where.
func TestTwoWorkspacesOfOneTenant(t *testing.T) {
	t.Parallel()
	one := newWorld(t, fakeslack.Options{})
	two := &world{t: t, bus: one.bus, fake: home(t, fakeslack.Options{Team: "T0EMEA", BotToken: "xoxb-emea"}), agent: one.agent, other: one.other, typ: slack.Type + "-emea"}
	one.start(true, nil)
	two.start(true, func(o *slack.Options) {
		o.Routes.Rules = []chat.Rule{{Match: chat.Match{Priority: []string{"low"}}, To: chat.Target{Nowhere: true}}}
	})

	for _, id := range []string{"a1", "a2"} { // with one answer in each
		k := one.ask(ask.Ask{ID: id})
		first, second := one.posted(id), two.posted(id)
		at, by, typ, where := one.fake, "chat:tom", "slack", "on Slack"
		place := first.Place
		if id == "a2" {
			at, typ, where, place = two.fake, "slack-emea", "on Slack (emea)", second.Place
		}
		acked(t, at.Click("U0TOM", place, "PostgreSQL"))
		natstest.Eventually(t, id+" is answered", func() bool { return one.outcome(k) != nil })
		if o := one.outcome(k); o.By == nil || o.By.Principal != by || o.By.Responder != typ || !strings.Contains(o.Ending(), where) {
			t.Errorf("%s ended: %s, %+v", id, o.Ending(), o.By)
		}
		for _, w := range []*world{one, two} {
			if text := w.dead(id); !strings.Contains(text, "Tom") {
				t.Errorf("the card of %s in %s says %q", id, w.typ, text)
			}
		}
	}

	one.ask(ask.Ask{ID: "mine", Audience: []string{"slack:T0EMEA/U0TOM"}}) // a direct message there, and the default channel elsewhere
	if m := two.posted("mine"); !strings.HasPrefix(m.Channel, "D") {
		t.Errorf("the person is told in %s", m.Channel)
	}
	if m := one.posted("mine"); m.Channel != "C0ASKS" {
		t.Errorf("the other workspace shows it in %s", m.Channel)
	}

	k := one.ask(ask.Ask{ID: "low", Priority: ask.PriorityLow})
	one.posted("low")
	two.ask(ask.Ask{ID: "later"})
	two.posted("later")
	rec, err := one.other.Get(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rec.Receipts {
		if r.Type == two.typ {
			t.Errorf("an ask that goes nowhere there has %+v", r)
		}
	}
}
