package slack_test

import (
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

// Ten minutes before a deadline Slack reminds people below the card, unless the ask has ended by then: also if the
// process that posted it is gone. Asks without a deadline, or with a near one, have no reminder.
func TestAReminderBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	first := w.start(true, nil)
	w.ask(ask.Ask{ID: "soon", Timeout: 20 * time.Minute})
	w.ask(ask.Ask{ID: "never"})
	k := w.ask(ask.Ask{ID: "a1", Timeout: time.Hour})
	here := w.ask(ask.Ask{ID: "a2", Timeout: 2 * time.Hour})
	for _, id := range []string{"soon", "never", "a1", "a2"} {
		w.posted(id)
	}
	natstest.Eventually(t, "two reminders", func() bool { return len(w.fake.Scheduled()) == 2 })
	for _, one := range w.fake.Scheduled() {
		if strings.Contains(one.Text, strings.ReplaceAll(w.card("a1").TS, ".", "")) {
			left := time.Until(one.At)
			if left < 45*time.Minute || left > 51*time.Minute || one.Thread != w.card("a1").TS || !one.Broadcast || !strings.Contains(one.Text, "Which database?") {
				t.Errorf("in %s: %+v", left, one)
			}
		}
	}
	first.stop()
	w.start(true, nil)
	w.answer(k)
	natstest.Eventually(t, "the reminder of a1 is removed by another process", func() bool { return len(w.fake.Scheduled()) == 1 })
	w.answer(here)
	natstest.Eventually(t, "that of a2, too", func() bool { return len(w.fake.Scheduled()) == 0 })
}
