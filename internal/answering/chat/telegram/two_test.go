package telegram_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/chat/telegram"
	"github.com/askbus/askbus/internal/lab/faketelegram"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/pkg/responder/respondertest"
)

// other is a second bot of one bus, with a responder type of its own.
type other struct{ surface }

func (*other) Type() string { return telegram.Type + "-emea" }

// Two bots of one tenant each post every ask, and edit their own messages, whoever answered where.
func TestTwoBotsOfOneTenant(t *testing.T) {
	t.Parallel()
	one := newWorld(t)
	two := &world{one.World, home(t)}
	one.start()
	two.Start(&other{surface{t: t, fake: two.fake}}, new(respondertest.Clock))
	for id, at := range map[string]*world{"a1": one, "a2": two} {
		one.Ask(chattest.Choice(id, "Which database for "+id+"?"))
		one.open(id)
		two.open(id)
		at.click(tom, at.open(id), "SQLite")
		if o := one.Wait(id); o.By == nil || o.By.Principal != "chat:tom" || (o.By.Responder == telegram.Type) != (at == one) {
			t.Errorf("%s is answered by %+v", id, o.By)
		}
		for _, w := range []*world{one, two} {
			w.message("the outcome of "+id, func(m *faketelegram.Message) bool {
				return !m.Open() && strings.Contains(m.Text, id) && strings.Contains(m.Text, "Tom")
			})
		}
	}
}
