package slack_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

// Who clicks without being in the channel gets a direct message: Slack shows nothing else to them there.
func TestWhoClicksFromOutsideTheChannelIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeslack.Options{NoLimits: true})
	w.fake.AddUser(fakeslack.User{ID: "U0EVE", Name: "Eve"})
	w.start(true, nil)
	w.ask(ask.Ask{ID: "a1", Audience: []string{"group:platform"}})
	acked(t, w.fake.Click("U0EVE", w.card("a1").Place, "SQLite"))
	natstest.Eventually(t, "Eve gets a direct message", func() bool {
		for _, m := range w.fake.Messages("") {
			if strings.HasPrefix(m.Channel, "D") && strings.Contains(m.Text, "may not answer") {
				return true
			}
		}
		return false
	})
}
