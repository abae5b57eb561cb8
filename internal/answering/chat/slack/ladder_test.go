package slack_test

import (
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

// A step of a ladder mentions whom it tells, below the card and in the channel, once however many replicas there are;
// the card says what comes next.
func TestAStepIsToldBelowTheCard(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	w.start(true, nil)
	w.start(true, nil)
	w.ask(ask.Ask{
		ID: "a1", Questions: []ask.Question{{ID: "ok", Kind: ask.KindBoolean, Text: "Deploy <!channel>?"}}, Audience: []string{"chat:tom", "os:jo"},
		Escalate: []ask.Escalation{{After: 10 * time.Minute, Tell: []string{"chat:ann", "group:platform"}}, {After: time.Hour, Tell: []string{"chat:ann"}, Via: []string{"telegram"}}},
	})
	w.posted("a1")
	if m := w.card("a1"); !strings.Contains(m.Shown(), "next:") || !strings.Contains(m.Shown(), "group platform") {
		t.Errorf("the card says %q", m.Shown())
	}
	w.bus.BrokerAhead(func() time.Duration { return 11 * time.Minute }, broker.Options{})
	below := func() (told []fakeslack.Message) {
		for _, m := range w.fake.Messages("") {
			if strings.Contains(m.Text, "Nobody has decided this yet") {
				told = append(told, m)
			}
		}
		return told
	}
	natstest.Eventually(t, "the step is told", func() bool { return len(below()) > 0 })
	natstest.Eventually(t, "the card shows the step", func() bool {
		m := w.card("a1")
		return strings.Contains(m.Shown(), "told") && strings.Contains(m.Shown(), "group platform")
	})
	natstest.Eventually(t, "the receipt has the step", func() bool {
		rec, err := w.other.Get(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: "a1"})
		return err == nil && len(rec.Receipts) == 1 && rec.Receipts[0].Step == 1
	})
	told := below()
	if len(told) != 1 || !strings.Contains(told[0].Text, "<@U0ANN> <!subteam^S0PLATFORM>") || strings.Contains(told[0].Text, "<!channel>") || told[0].Thread != w.card("a1").TS {
		t.Errorf("%+v", told)
	}
}
