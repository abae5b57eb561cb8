package slack_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/slack"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

// front is one replica's way to Slack. At the call of its plan the replica dies, before Slack gets
// the call or before the replica gets the reply; from then on nothing passes.
type front struct {
	fake  string
	after bool   // dies after the call took effect
	kind  string // method; empty: any
	nth   int32  // of these calls; 0: never
	die   func()

	calls atomic.Int32
	dead  atomic.Bool
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := path.Base(r.URL.Path)
	body, err := io.ReadAll(r.Body)
	if err != nil || f.dead.Load() {
		panic(http.ErrAbortHandler)
	}
	fatal := method != "auth.test" && (f.kind == "" || f.kind == method) && f.calls.Add(1) == f.nth
	if fatal && !f.after {
		f.kill()
	}
	req, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), http.MethodPost, f.fake+method, bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header = r.Header.Clone()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer res.Body.Close()
	reply, err := io.ReadAll(res.Body)
	if fatal {
		f.kill()
	}
	if err != nil || f.dead.Load() {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
	w.WriteHeader(res.StatusCode)
	_, _ = w.Write(reply)
}

// kill ends the replica as SIGKILL does: nothing more reaches Slack or the bus.
func (f *front) kill() {
	f.dead.Store(true)
	f.die()
	panic(http.ErrAbortHandler)
}

// killer runs replicas that die, on sessions with and without threads, each in a channel of its own.
type killer struct {
	t        *testing.T
	bus      *natstest.Bus
	fake     *fakeslack.Server
	sessions []client.Session
	routes   chat.Routes
	other    *responder.Responder

	mu   sync.Mutex
	asks []ask.Key
}

func newKiller(t *testing.T, sessions int) *killer {
	t.Helper()
	b := natstest.Start(t, natstest.Options{Ledger: ledger.Options{Lease: time.Second}})
	k := &killer{t: t, bus: b, fake: home(t, fakeslack.Options{NoLimits: true}), routes: routes()}
	for i := range sessions {
		name := fmt.Sprint("s", i)
		c, err := client.New(b.Agent("acme", name), client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		k.sessions = append(k.sessions, c.Session("acme", name))
		to := chat.Target{Channel: k.channel(i), Threads: []string{"", "mention", "broadcast"}[i%3]}
		k.fake.AddChannel(fakeslack.Channel{ID: to.Channel, Name: name, Members: []string{"U0TOM", fakeslack.BotUser}})
		k.routes.Rules = append(k.routes.Rules, chat.Rule{Match: chat.Match{Session: name}, To: to})
	}
	var err error
	if k.other, err = responder.New(b.Connect(rights.Role{Name: rights.RoleResponder, Type: "web"}), "web", responder.Options{Logger: natstest.Logger()}); err != nil {
		t.Fatal(err)
	}
	return k
}

// replica runs one until it dies or ctx ends.
func (k *killer) replica(ctx context.Context, f *front) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	nc := k.bus.Connect(rights.Role{Name: rights.RoleResponder, Type: slack.Type})
	defer nc.Close()
	f.fake, f.die = k.fake.URL(), func() { nc.Close(); cancel() }
	web := httptest.NewServer(f)
	defer web.Close()
	r, err := responder.New(nc, slack.Type, responder.Options{Logger: natstest.Logger()})
	if err != nil {
		k.t.Error(err)
		return
	}
	o := k.fake.Settings()
	app, err := slack.New(r, slack.Options{BotToken: o.BotToken, SigningSecret: o.SigningSecret, APIURL: web.URL + "/", Options: chat.Options{Routes: k.routes}, NoLimits: true})
	if err != nil {
		k.t.Error(err)
		return
	}
	if _, err := app.Connect(ctx); err != nil {
		k.t.Error(err)
		return
	}
	_ = app.Serve(ctx, responder.ServeOptions{WorkOptions: responder.WorkOptions{Concurrency: 4, Grace: time.Millisecond}})
}

// ask asks n questions of any one session at the same moment.
func (k *killer) ask(n int) { k.askIn(rand.IntN(len(k.sessions)), n) }

func (k *killer) askIn(s, n int) {
	var all sync.WaitGroup
	for range n {
		k.mu.Lock()
		key := ask.Key{Tenant: "acme", Session: fmt.Sprint("s", s), ID: fmt.Sprint("a", len(k.asks))}
		k.asks = append(k.asks, key)
		k.mu.Unlock()
		all.Go(func() {
			if _, err := k.sessions[s].Ask(k.t.Context(), ask.Ask{ID: key.ID, Questions: database()}); err != nil {
				k.t.Error(err)
			}
		})
	}
	all.Wait()
}

// answer answers an ask in the web inbox, unless it has ended or is not asked yet.
func (k *killer) answer(key ask.Key) {
	_, err := k.other.Answer(k.t.Context(), key, ask.Reply{Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"lite"}}}, By: ask.By{Principal: "os:mei", Name: "Mei"}})
	if err != nil && !errors.Is(err, ask.ErrResolved) && !errors.Is(err, ask.ErrNotFound) {
		k.t.Error(err)
	}
}

// end answers any one of the asks.
func (k *killer) end() {
	k.mu.Lock()
	key := k.asks[rand.IntN(len(k.asks))]
	k.mu.Unlock()
	k.answer(key)
}

// await waits until an ask has its receipt.
func (k *killer) await(key ask.Key) {
	k.t.Helper()
	natstest.Eventually(k.t, key.ID+" is posted", func() bool { rec, err := k.other.Get(k.t.Context(), key); return err == nil && posted(&rec) })
}

// settled waits until each ask is posted or has ended: a killed replica's asks are posted by another.
func (k *killer) settled() {
	k.t.Helper()
	for _, key := range k.asks {
		natstest.Eventually(k.t, key.ID+" is posted, or has ended", func() bool {
			rec, err := k.other.Get(k.t.Context(), key)
			return errors.Is(err, ask.ErrNotFound) || err == nil && (posted(&rec) || rec.Outcome != nil)
		})
	}
}

// channel returns the channel of a session.
func (k *killer) channel(session int) string { return fmt.Sprint("C0S", session) }

// cards counts the cards of each ask, and those that can still be answered.
func (k *killer) cards() (all, live map[string]int) {
	all, live = map[string]int{}, map[string]int{}
	for _, m := range k.fake.Messages("") {
		payload, _ := m.Metadata["event_payload"].(map[string]any)
		name, _ := payload["ask"].(string)
		all[name]++
		if m.Live() {
			live[name]++
		}
	}
	return all, live
}

// A replica dies between a post and its receipt, and the routing changes before another one takes over:
// the card is found where the routes of that time put it, also in a thread, and edited at the end.
func TestAKillAndAChangeOfTheRoutesLeaveOneCard(t *testing.T) {
	t.Parallel()
	for i, name := range []string{"a message of its own", "in a thread"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKiller(t, 2)
			session := i // with threads in the second one
			ctx, cancel := context.WithCancel(t.Context())
			var stays sync.WaitGroup
			if i == 1 { // the card that begins the thread
				k.askIn(session, 1)
				stays.Go(func() { k.replica(ctx, &front{}) })
				k.await(k.asks[0])
			}
			cancel()
			stays.Wait()
			k.askIn(session, 1)
			k.replica(t.Context(), &front{kind: "chat.postMessage", nth: 1, after: true})
			k.routes = chat.Routes{Default: chat.Target{Channel: "C0ASKS"}}
			ctx, cancel = context.WithCancel(t.Context())
			stays.Go(func() { k.replica(ctx, &front{}) })
			defer func() { cancel(); stays.Wait() }()
			last := k.asks[i]
			k.await(last)
			all, live := k.cards()
			if name := last.String(); all[name] != 1 || live[name] != 1 {
				t.Errorf("it has %d cards, %d of them open", all[name], live[name])
			}
			if m := k.fake.Messages(k.channel(session)); len(m) != i+1 || (m[i].Thread != "") != (i == 1) {
				t.Errorf("%d messages; the last is in the thread %q", len(m), m[len(m)-1].Thread)
			}
			for _, key := range k.asks {
				k.answer(key)
			}
			natstest.Eventually(t, "no card is open", func() bool { _, live := k.cards(); return len(live) == 0 })
		})
	}
}

// Replicas die at any call of Slack, mostly between a post and its receipt, while the asks of a
// session are posted at the same moment by two replicas, in the channel and in threads, and while some
// of them end. Each ask gets its card or its end, none a second card, and none stays open.
// ASKBUS_SLOW=1 kills 2,000.
func TestKillsLeaveOneCardOfEachAsk(t *testing.T) {
	t.Parallel()
	kills, sessions := 60, 10
	if os.Getenv("ASKBUS_SLOW") != "" {
		kills, sessions = 2000, 90
	}
	kills /= min(waittest.Fewer, 3)
	k := newKiller(t, sessions)
	var left atomic.Int32
	left.Store(int32(kills))
	var pair sync.WaitGroup
	for range 2 {
		pair.Go(func() {
			for left.Add(-1) >= 0 {
				f := &front{kind: "chat.postMessage", nth: 1 + rand.Int32N(3), after: rand.IntN(4) > 0}
				if rand.IntN(5) == 0 {
					f.kind, f.nth = "", 1+rand.Int32N(4)
				}
				// A replica posts at most seven before it has died: three, and four at a time. One ask may
				// end here. So neither of the two runs out of calls to die at.
				k.ask(8)
				k.end()
				life, cancel := context.WithTimeout(t.Context(), waittest.Limit)
				k.replica(life, f)
				if !f.dead.Load() {
					t.Errorf("a replica did not come to call %d of %q", f.nth, f.kind)
				}
				cancel()
			}
			k.ask(8) // the other one must not run out of work
		})
	}
	pair.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	for range 2 {
		pair.Go(func() { k.replica(ctx, &front{}) })
	}
	defer func() { cancel(); pair.Wait() }()
	k.settled()
	for _, key := range k.asks {
		k.answer(key)
	}
	natstest.Eventually(t, "no card is open", func() bool { _, live := k.cards(); return len(live) == 0 })
	all, _ := k.cards()
	doubled := 0
	for name, n := range all {
		if n > 1 {
			doubled++
			t.Errorf("%s has %d cards", name, n)
		}
	}
	t.Logf("%d kills, %d asks, %d cards, %d doubled", kills, len(k.asks), len(all), doubled)
}

func posted(rec *ask.Record) bool {
	for _, r := range rec.Receipts {
		if r.Type == slack.Type && r.State == ask.ReceiptPosted {
			return true
		}
	}
	return false
}
