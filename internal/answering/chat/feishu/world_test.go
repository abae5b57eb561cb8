package feishu_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/lab/fakefeishu"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/responder"
)

// world is Feishu on a bus.
type world struct {
	*chattest.World
	fake *fakefeishu.Server
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{chattest.New(t), home(t)}
}

// start runs a replica; stop ends it.
func (w *world) start(s *surface) (stop func()) {
	w.T.Helper()
	s.fake = w.fake
	stop = w.Start(s, responder.WallClock())
	if !s.webhook {
		natstest.Eventually(w.T, "it is connected", func() bool { return w.fake.Connections() > 0 })
	}
	return stop
}

// message waits for the newest message that holds.
func (w *world) message(what string, holds func(m *fakefeishu.Message) bool) fakefeishu.Message {
	w.T.Helper()
	return *chattest.Newest(w.T, what, w.fake.Messages, holds)
}

func (w *world) open(words string) fakefeishu.Message {
	w.T.Helper()
	return w.message("an open card with "+words, func(m *fakefeishu.Message) bool { return m.Open() && strings.Contains(m.Shown(), words) })
}

func (w *world) click(user string, m fakefeishu.Message, label string, form map[string]any) string {
	w.T.Helper()
	r := w.fake.Click(w.T.Context(), m, fakefeishu.Click{User: user, Label: label, Form: form})
	if r.Err != nil {
		w.T.Fatalf("pressing %q: %v", label, r.Err)
	}
	return r.Told
}

func (w *world) write(user, in, text, replyTo string, mention bool) {
	w.T.Helper()
	if err := w.fake.Write(w.T.Context(), user, in, text, replyTo, mention); err != nil {
		w.T.Fatal(err)
	}
}

// told waits for a text of the bot.
func (w *world) told(words string) {
	w.T.Helper()
	w.message("a text with "+words, func(m *fakefeishu.Message) bool {
		return m.From == "" && m.Kind == "text" && strings.Contains(m.Text, words)
	})
}
