package telegram_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/telegram"
	"github.com/askbus/askbus/internal/lab/faketelegram"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// Telegram calls any of several replicas, and repeats what it thinks is lost: each press counts once. Whoever does not know
// the secret is refused, and the refusal is reported.
func TestReplicasBehindAWebhook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var next atomic.Int64
	var apps []*telegram.App
	var handlers []http.Handler
	proxy := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		handlers[next.Add(1)%2].ServeHTTP(rw, r)
	}))
	t.Cleanup(proxy.Close)
	refused := make(chan chat.Refusal, 10)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var all sync.WaitGroup
	t.Cleanup(func() { cancel(); all.Wait() })
	for range 2 {
		app, err := telegram.New(w.Responder(telegram.Type), telegram.Options{
			Token: faketelegram.Token, APIURL: w.fake.URL(), WebhookURL: strings.Replace(proxy.URL, "127.0.0.1", "bot.localtest.example", 1),
			Options: chat.Options{Routes: routes(), Logger: natstest.Logger(), Refused: func(f chat.Refusal) { refused <- f }},
		})
		if err != nil {
			t.Fatal(err)
		}
		apps, handlers = append(apps, app), append(handlers, app.Handler())
	}
	w.fake.Resolve("bot.localtest.example", strings.TrimPrefix(proxy.URL, "https://"))
	for _, app := range apps {
		all.Go(func() { _ = app.Keep(ctx) })
		all.Go(func() { _ = app.Serve(ctx, responder.ServeOptions{}) })
		natstest.Eventually(t, "the webhook is set", func() bool { return app.Ready() == nil })
	}
	w.fake.RepeatUpdates(3)
	if _, err := w.Agent.Ask(t.Context(), ask.Ask{ID: "a1", Questions: []ask.Question{
		{ID: "env", Text: "Which environments?", Multiple: true, Options: []ask.Option{{ID: "dev", Label: "Dev"}, {ID: "prod", Label: "Prod"}}},
	}}); err != nil {
		t.Fatal(err)
	}
	w.click(mei, w.open("Which environments"), "☐ Dev")
	ticked := w.message("Dev is chosen", func(m *faketelegram.Message) bool { return strings.Contains(m.Shown(), "☑ Dev") })
	w.click(mei, ticked, "Send")
	if o := w.Wait("a1"); len(o.Answers) != 1 || strings.Join(o.Answers[0].Selected, " ") != "dev" {
		t.Errorf("the outcome is %+v", o)
	}
	for _, secret := range []string{"", "guessed"} {
		r := httptest.NewRequest(http.MethodPost, telegram.PathUpdates, strings.NewReader("{}"))
		r.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
		got := httptest.NewRecorder()
		handlers[0].ServeHTTP(got, r)
		if f := <-refused; got.Code != http.StatusUnauthorized || f.Address == "" {
			t.Errorf("%q: status %d, reported %+v", secret, got.Code, f)
		}
	}
	for _, address := range []string{"http://a.example", "https://localhost", "https://127.0.0.1:8443", "a.example", "https://a.example?x=1"} {
		o := telegram.Options{Token: faketelegram.Token, WebhookURL: address, Options: chat.Options{Routes: routes()}}
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), "ASKBUS_TELEGRAM_WEBHOOK_URL") {
			t.Errorf("%s: the error is %v", address, err)
		}
	}
}

// Of two replicas one polls; the other follows when it stops, and nothing that was pressed between is lost.
func TestOneReplicaPolls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := w.start()
	if _, err := w.Agent.Ask(t.Context(), ask.Ask{ID: "a1", Questions: []ask.Question{{ID: "ok", Kind: ask.KindBoolean, Text: "Deploy?"}}}); err != nil {
		t.Fatal(err)
	}
	m := w.open("Deploy?")
	natstest.Eventually(t, "the first polls", func() bool { return w.fake.Calls("getUpdates") > 0 })
	w.start()
	stop()
	w.click(mei, m, "Yes")
	if o := w.Wait("a1"); o.Answers[0].Boolean == nil || !*o.Answers[0].Boolean {
		t.Errorf("the outcome is %+v", o)
	}
	if n := w.fake.Conflicts(); n > 0 {
		t.Errorf("%d polls met each other", n)
	}
}
