package webhooks_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// task asks as an A2A client does.
func (w *world) task(id, data string) ask.Key {
	w.t.Helper()
	a2a, _ := dialect.Lookup("a2a")
	a, _, err := a2a.Ask([]byte(`{"message":{"messageId":"` + id + `","contextId":"s1","role":"ROLE_USER","parts":[{"data":` + data + `}]}}`))
	if err != nil {
		w.t.Fatal(err)
	}
	return w.put(a)
}

const databaseTask = `{"questions":[{"id":"db","text":"Which database?","options":[{"id":"pg","label":"PostgreSQL"},{"id":"lite","label":"SQLite"}]}]}`

// pushes stores what the gateway stores for an A2A client; another life: for the asking before.
func (w *world) pushes(k ask.Key, life string, configs ...wire.TaskPush) (left func() bool) {
	w.t.Helper()
	if life == "" {
		rec, err := w.bus.Dialog("web").Get(w.t.Context(), k)
		if err != nil {
			w.t.Fatal(err)
		}
		life = rec.Life
	}
	key := state.TaskPushesKey(k)
	bucket := state.Open(w.bus.Connect(rights.Role{Name: rights.RoleGateway}), state.Gateway(), state.TaskPushes)
	if _, err := bucket.Put(w.t.Context(), key, wire.TaskPushes{Life: life, Configs: configs}, time.Hour); err != nil {
		w.t.Fatal(err)
	}
	return func() bool {
		_, err := bucket.Get(w.t.Context(), key)
		return err == nil
	}
}

func TestAnA2AClientIsNotified(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	w.replica("callbacks:\n" + w.entry("builder") + w.entry("old"))
	k := w.task("a1", databaseTask)
	left := w.pushes(k, "", wire.TaskPush{ID: "1", Callback: "builder", Token: "secret"}, wire.TaskPush{ID: "2", Callback: "old", V03: true})
	w.answer(k)
	got := map[string]call{}
	for range 2 {
		c := w.next()
		got[c.path] = c
	}
	now, old := got["/builder"], got["/old"]
	if s := string(now.body); !strings.HasPrefix(s, `{"task":{"id":"s1/a1","contextId":"s1","status":{"state":"TASK_STATE_COMPLETED"`) || !strings.Contains(s, `"selected":["pg"]`) {
		t.Errorf("got %s", s)
	}
	if now.header.Get("X-A2A-Notification-Token") != "secret" || now.header.Get("Content-Type") != "application/a2a+json" {
		t.Errorf("its header is %v", now.header)
	}
	if s := string(old.body); !strings.Contains(s, `"kind":"task"`) || !strings.Contains(s, `"state":"completed"`) || old.header.Values("X-A2A-Notification-Token") != nil || old.header.Get("Content-Type") != "application/json" {
		t.Errorf("got %s %v", s, old.header)
	}
	if now.id == old.id {
		t.Error("two notifications have one id")
	}
	natstest.Eventually(t, "what is delivered is forgotten", func() bool { return !left() })
}

func TestANotificationIsRepeatedWithItsIDAndToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	w.replica("callbacks:\n" + w.entry("builder"))
	w.say("/builder", status(503))
	k := w.task("a1", databaseTask)
	left := w.pushes(k, "", wire.TaskPush{ID: "one/ü", Callback: "builder", Token: "secret"}, wire.TaskPush{ID: "two", Callback: "builder", Token: "other"})
	w.answer(k)
	tokens := map[string]string{}
	first := w.next() // the second one waits: the receiver is down
	tokens[first.id] = first.header.Get("X-A2A-Notification-Token")
	natstest.Eventually(t, "both wait", func() bool { return len(w.waiting()) == 2 && !left() })
	w.say("/builder", nil)
	w.pass(6 * time.Second)
	for range 2 {
		c := w.next()
		if was, known := tokens[c.id]; known && was != c.header.Get("X-A2A-Notification-Token") {
			t.Errorf("%s comes with the token of another", c.id)
		}
		tokens[c.id] = c.header.Get("X-A2A-Notification-Token")
	}
	if len(tokens) != 2 || tokens[first.id] != "secret" {
		t.Errorf("it was notified %v", tokens)
	}
	w.nothingLeft()
}

// A notification that would be too large has the state alone; one of an earlier life is not sent.
func TestANotificationIsSmallAndOfItsLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	w.replica("callbacks:\n" + w.entry("builder"))
	past := w.task("past", databaseTask)
	w.pushes(past, "another", wire.TaskPush{ID: "1", Callback: "builder"})
	w.answer(past)
	for id, v03 := range map[string]bool{"large": false, "large-old": true} {
		k := w.task(id, `{"questions":[{"id":"db","text":"Which?"}]}`)
		w.pushes(k, "", wire.TaskPush{ID: "1", Callback: "builder", V03: v03})
		if _, err := w.bus.Dialog("web").Answer(t.Context(), k, ask.Reply{By: ask.By{Principal: "oidc:mei", Proof: "oidc"}, Answers: []ask.Answer{{QuestionID: "db", Text: strings.Repeat("x", 30_000)}}}); err != nil {
			t.Fatal(err)
		}
		c := w.next()
		want := fmt.Sprintf(`"id":"s1/%s"`, id)
		if s := string(c.body); len(s) > 500 || !strings.Contains(s, want) || v03 != strings.Contains(s, `"completed"`) || v03 == strings.Contains(s, "TASK_STATE_COMPLETED") {
			t.Errorf("got %.600s", s)
		}
	}
}

// A callback's name, a session and an id may each be as long as names are.
func TestADeliveryOfLongNamesWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	name := strings.Repeat("n", 64)
	w.replica("callbacks:\n" + w.entry(name))
	w.say("/"+name, status(503))
	a := database(strings.Repeat("i", 64))
	a.Callback = name
	asks := w.client.Session("acme", strings.Repeat("s", 64))
	st, err := asks.Ask(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	w.answer(ask.Key{Tenant: "acme", Session: strings.Repeat("s", 64), ID: st.ID})
	w.next()
	natstest.Eventually(t, "it waits", func() bool { return len(w.waiting()) == 1 })
}
