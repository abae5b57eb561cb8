package push_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/push"
	"github.com/askbus/askbus/internal/bus/approvals"
	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

var testKeys = func() push.Keys {
	k, err := push.DeriveKeys([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		panic(err)
	}
	return k
}()

var (
	mei = ask.By{Principal: "oidc:id.example.com#mei", Name: "Mei", Groups: []string{"platform"}, Proof: "oidc"}
	tom = ask.By{Principal: "oidc:id.example.com#tom", Name: "Tom", Proof: "oidc"}
)

// world is a bus, a push service, and the inbox's store.
type world struct {
	t     *testing.T
	bus   *natstest.Bus
	phone *service
	store *push.Store
	asks  client.Session
	apps  []*push.App
}

func newWorld(t *testing.T, opts natstest.Options) *world {
	t.Helper()
	w := &world{t: t, bus: natstest.Start(t, opts), phone: newService(t)}
	w.store = push.NewStore(w.bus.Responder("web"), testKeys, push.Options{Hosts: []string{w.phone.host()}, Contact: "ops@example.com", Client: w.phone.Client()})
	c, err := client.New(w.bus.Agent("acme", "s1"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	w.asks = c.Session("acme", "s1")
	return w
}

// replica runs the surface until the test ends.
func (w *world) replica() { w.t.Helper(); w.replicaOf(push.Options{}) }

func (w *world) replicaOf(o push.Options) {
	w.t.Helper()
	o.Hosts, o.Contact, o.Client, o.Logger = []string{w.phone.host()}, "ops@example.com", w.phone.Client(), natstest.Logger()
	app, err := push.New(w.bus.Responder(push.Type), testKeys, o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.apps = append(w.apps, app)
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	done := make(chan error, 1)
	go func() { done <- app.Run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	})
}

func (w *world) subscribe(by ask.By, name string) {
	w.t.Helper()
	if err := w.store.Subscribe(w.t.Context(), by, nil, "", "session of "+name, w.phone.subscribe(name)); err != nil {
		w.t.Fatal(err)
	}
	for _, app := range w.apps { // every replica has heard of it
		p := responder.Post{Ask: ask.Ask{Audience: []string{by.Principal}}, AskedAt: time.Now()}
		if !by.ProvesPrincipal() {
			p.Ask.Audience = nil
		}
		natstest.Eventually(w.t, "the subscription is known", func() bool { return app.Wants(p) })
	}
}

func (w *world) ask(a ask.Ask) ask.Key {
	w.t.Helper()
	st, err := w.asks.Ask(w.t.Context(), a)
	if err != nil {
		w.t.Fatal(err)
	}
	return ask.Key{Tenant: "acme", Session: "s1", ID: st.ID}
}

func (w *world) answer(k ask.Key, option string) {
	w.t.Helper()
	r, err := responder.New(w.bus.Responder("web"), "web", responder.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := r.Answer(w.t.Context(), k, ask.Reply{By: mei, Answers: []ask.Answer{{QuestionID: "q1", Selected: []string{option}}}}); err != nil {
		w.t.Fatal(err)
	}
}

func database() ask.Ask {
	return ask.Ask{
		Agent:    ask.Agent{Name: "builder", Repository: "acme/payments", Branch: "main"},
		Priority: ask.PriorityHigh,
		Questions: []ask.Question{{Text: "Which **database** should the `ledger` use?", Options: []ask.Option{
			{ID: "pg", Label: "PostgreSQL"}, {ID: "lite", Label: "SQLite"},
		}}},
	}
}

func TestReplicasNotifyOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	w.replica()
	w.replica()
	w.subscribe(mei, "a-phone")
	w.subscribe(tom, "b-phone")
	k := w.ask(database())
	for i, got := range w.phone.next(2) {
		n := got.notice
		if got.browser != []string{"a-phone", "b-phone"}[i] || n.Title != "Which database should the ledger use?" ||
			n.Body != "builder asks · acme/payments, branch main · high priority\nPostgreSQL · SQLite" || n.Path != "/ask/"+k.String() || n.Tag != k.String() ||
			len(n.Choices) != 2 || n.Choices[1].ID != "lite" || n.Life == "" || n.Ended {
			t.Errorf("%s: %+v", got.browser, n)
		}
		if h := got.header; h.Get("Urgency") != "high" || len(h.Get("Topic")) == 0 || len(h.Get("Topic")) > 32 || h.Get("TTL") == "0" || h.Get("Content-Encoding") != "aes128gcm" {
			t.Errorf("headers: %v", h)
		}
	}
	w.answer(k, "lite")
	for _, got := range w.phone.next(2) {
		if n := got.notice; !n.Ended || n.Tag != k.String() || !strings.Contains(n.Body, "SQLite") || len(n.Choices) > 0 {
			t.Errorf("the end at %s: %+v", got.browser, n)
		}
	}
	// A repeated notice would have arrived before this one.
	w.ask(database())
	w.phone.next(2)
	if len(w.phone.rung) != 0 {
		t.Errorf("%d more rang", len(w.phone.rung))
	}
}

func TestOnlyPeopleWhoMayAnswerAreNotified(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	w.replica()
	w.subscribe(mei, "mei")
	w.subscribe(tom, "tom")
	unproven := mei
	unproven.Principal, unproven.Proof = "name:mei", ask.ProofAskerTerminal
	w.subscribe(unproven, "somebody")
	secret := database()
	secret.Audience = []string{"group:platform"}
	w.ask(secret)
	if got := w.phone.next(1); got[0].browser != "mei" {
		t.Errorf("%s was rung", got[0].browser)
	}
	w.ask(database())
	w.phone.next(3)
	nobody := database()
	nobody.Audience = []string{"oidc:id.example.com#nobody"}
	k := w.ask(nobody)
	w.ask(database())
	w.phone.next(3)
	r, err := responder.New(w.bus.Responder("web"), "web", responder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if rec, err := r.Get(t.Context(), k); err != nil || len(rec.Receipts) != 0 {
		t.Errorf("an ask that rang nobody has receipts %+v, %v", rec.Receipts, err)
	}
}

func TestAGoneSubscriptionIsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	w.replica()
	w.subscribe(mei, "gone")
	w.subscribe(mei, "here")
	w.phone.says("gone", http.StatusGone)
	w.ask(database())
	w.phone.next(2)
	bucket := state.Open(w.bus.Connect(rights.Role{Name: rights.RoleOperator}), state.Operator(), state.Push)
	natstest.Eventually(t, "the subscription is deleted", func() bool {
		all, err := bucket.List(t.Context())
		return err == nil && len(all) == 1
	})
	w.ask(database())
	if got := w.phone.next(1); got[0].browser != "here" {
		t.Errorf("%s was rung", got[0].browser)
	}
}

func TestABusyPushServiceIsRetried(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	w.replica()
	w.subscribe(mei, "phone")
	w.phone.says("phone", http.StatusTooManyRequests)
	w.ask(database())
	w.phone.next(1)
	w.phone.says("phone", http.StatusCreated)
	w.phone.next(1)
}

// One device's service refuses for now while another's takes the notice: it is
// rung a moment later, and the other one is not rung again.
func TestABusyPushServiceIsRetriedThoughAnotherWorks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	w.replica()
	w.subscribe(mei, "desk")
	w.subscribe(tom, "phone")
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		w.phone.says("phone", status)
		w.ask(database())
		w.phone.next(2)
		w.phone.says("phone", http.StatusCreated)
		if got := w.phone.next(1); got[0].browser != "phone" {
			t.Errorf("after %d, %s was rung again", status, got[0].browser)
		}
	}
}

// Each load of a page subscribes: that writes only what is new.
func TestSubscribingAgainKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	ctx := t.Context()
	bucket := state.Open(w.bus.Connect(rights.Role{Name: rights.RoleOperator}), state.Operator(), state.Push)
	phone := w.phone.subscribe("phone")
	revision := uint64(0)
	for _, c := range []struct {
		session string
		access  ask.Access
		written bool
	}{{"first", nil, true}, {"first", nil, false}, {"second", nil, true}, {"second", ask.Access{{Tenants: []string{"acme"}}}, true}, {"second", ask.Access{{Tenants: []string{"acme"}}}, false}} {
		if err := w.store.Subscribe(ctx, mei, c.access, "", c.session, phone); err != nil {
			t.Fatal(err)
		}
		all, err := bucket.List(ctx)
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		if written := all[0].Revision != revision; written != c.written {
			t.Errorf("%+v: written %t", c, written)
		}
		revision = all[0].Revision
	}
	if err := w.store.SignedOut(ctx, "second"); err != nil {
		t.Fatal(err)
	}
	if err := w.store.Subscribe(ctx, mei, nil, "", "second", phone); err != nil {
		t.Fatal(err)
	}
	if all, err := bucket.List(ctx); err != nil || len(all) != 1 {
		t.Error("a subscription that was removed is not stored again", all, err)
	}
}

// A provider or a proxy that locks somebody out does not say so while their page is closed: they are notified for a week at most.
func TestWhoIsSignedInElsewhereIsNotifiedForAWeek(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	bucket := state.Open(w.bus.Connect(rights.Role{Name: rights.RoleOperator}), state.Operator(), state.Push)
	phone := w.phone.subscribe("phone")
	for proof, want := range map[string]time.Duration{ask.ProofOS: 30 * 24 * time.Hour, ask.ProofPasskey: 30 * 24 * time.Hour, ask.ProofOIDC: 7 * 24 * time.Hour, ask.ProofProxy: 7 * 24 * time.Hour} {
		by, revision := ask.By{Principal: "who:" + proof, Proof: proof}, uint64(0)
		for range 2 {
			if err := w.store.Subscribe(t.Context(), by, nil, "", "session", phone); err != nil {
				t.Fatal(err)
			}
			all, err := bucket.List(t.Context())
			if err != nil || len(all) != 1 {
				t.Fatal(all, err)
			}
			if lasts := time.Until(all[0].Expires).Round(time.Hour); lasts != want {
				t.Errorf("%s: it lasts %s", proof, lasts)
			}
			if revision != 0 && all[0].Revision != revision {
				t.Errorf("%s: it is written at each load of a page", proof)
			}
			revision = all[0].Revision
		}
	}
}

func TestSigningOutEndsASubscription(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	ctx := t.Context()
	w.subscribe(mei, "phone")
	w.subscribe(mei, "desk")
	w.subscribe(tom, "tom")
	bucket := state.Open(w.bus.Connect(rights.Role{Name: rights.RoleOperator}), state.Operator(), state.Push)
	count := func(want int) {
		t.Helper()
		if all, err := bucket.List(ctx); err != nil || len(all) != want {
			t.Errorf("%d subscriptions, not %d: %v", len(all), want, err)
		}
	}
	if err := w.store.Unsubscribe(ctx, tom, w.phone.URL+"/phone"); err != nil {
		t.Error(err)
	}
	count(3) // not his
	if err := w.store.SignedOut(ctx, "session of phone"); err != nil {
		t.Error(err)
	}
	count(2)
	if err := w.store.Unsubscribe(ctx, mei, w.phone.URL+"/desk"); err != nil {
		t.Error(err)
	}
	count(1)
	for i := range 25 { // the oldest go
		w.subscribe(mei, "many-"+string(rune('a'+i)))
	}
	count(21)
}

func TestInvalidSubscriptionsAreRefused(t *testing.T) {
	t.Parallel()
	s := push.NewStore(nil, testKeys, push.Options{})
	const point = "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM"
	for body, want := range map[string]string{
		`[]`: "PushSubscription",
		`{"endpoint":"http://fcm.googleapis.com/x"}`:                                                                                  "https",
		`{"endpoint":"https://10.0.0.1/x"}`:                                                                                           "ASKBUS_PUSH_HOSTS",
		`{"endpoint":"https://fcm.googleapis.com@10.0.0.1/x"}`:                                                                        "https",
		`{"endpoint":"https://fcm.googleapis.com:22/x"}`:                                                                              "ASKBUS_PUSH_HOSTS",
		`{"endpoint":"https://evil-notify.windows.com.example/x"}`:                                                                    "ASKBUS_PUSH_HOSTS",
		`{"endpoint":"https://notify.windows.com/x"}`:                                                                                 "ASKBUS_PUSH_HOSTS",
		`{"endpoint":"https://fcm.googleapis.com/x","keys":{"p256dh":"AAAA","auth":"tBHItJI5svbpez7KI4CCXg"}}`:                        "p256dh",
		`{"endpoint":"https://wns2-par02p.notify.windows.com/w","keys":{"p256dh":"` + point + `","auth":"AAAA"}}`:                     "auth",
		`{"endpoint":"https://fcm.googleapis.com/` + strings.Repeat("x", 1100) + `","keys":{"p256dh":"` + point + `","auth":"AAAA"}}`: "1024",
	} {
		if err := s.Subscribe(t.Context(), mei, nil, "", "s", []byte(body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.120s: %v", body, err)
		}
	}
	if _, err := push.DeriveKeys([]byte("short")); err == nil {
		t.Error("keys of a short secret")
	}
}

// TestTwoThousandRingsLeaveNothing is not parallel: it counts goroutines of the process.
func TestTwoThousandRingsLeaveNothing(t *testing.T) {
	w := newWorld(t, natstest.Options{Memory: true})
	w.subscribe(mei, "phone")
	w.replica()
	app := w.apps[0]
	a := database()
	a.Normalize()
	p := responder.Post{Ask: a, Life: "l1", AskedAt: time.Now()}
	p.Ask.Tenant, p.Ask.Session, p.Ask.ID = "acme", "s1", "a1"
	natstest.Eventually(t, "the subscription is known", func() bool { return app.Wants(p) })
	w.bus.LeavesNothing(t, func(int) error {
		places, err := app.Present(t.Context(), p)
		if err != nil {
			return err
		}
		<-w.phone.rung
		err = app.Update(t.Context(), responder.Ended{Post: p, Places: places, Outcome: ask.Outcome{Status: ask.StatusExpired}})
		<-w.phone.rung
		return err
	})
}

// A step of a ladder rings whom it tells, who may not decide the ask; who was rung before hears nothing again.
func TestAStepRingsThoseWhomItTells(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	w.replica()
	w.replica()
	w.subscribe(mei, "a-phone")
	w.subscribe(tom, "b-phone")
	a := database()
	a.Audience, a.Escalate = []string{"group:platform"}, []ask.Escalation{{After: 10 * time.Minute, Tell: []string{"oidc:id.example.com#tom"}}, {After: 10 * time.Minute, Tell: []string{"oidc:id.example.com#tom"}, Via: []string{"slack"}}}
	k := w.ask(a)
	if got := w.phone.next(1); got[0].browser != "a-phone" {
		t.Fatalf("asked: %+v", got)
	}
	w.bus.BrokerAhead(func() time.Duration { return 11 * time.Minute }, broker.Options{})
	if got := w.phone.next(1); got[0].browser != "b-phone" || len(got[0].notice.Choices) != 0 {
		t.Fatalf("escalated: %+v", got)
	}
	natstest.Eventually(t, "the receipt says which step was told", func() bool {
		rec, err := w.asks.Get(t.Context(), k.ID)
		return err == nil && len(rec.Receipts) == 1 && rec.Receipts[0].Step == 1 && len(rec.Receipts[0].Places) == 2
	})
	w.answer(k, "lite")
	for i, got := range w.phone.next(2) {
		if got.browser != []string{"a-phone", "b-phone"}[i] || !got.notice.Ended {
			t.Errorf("ended: %+v", got)
		}
	}
}

func TestATestRingsOneBrowserOfThePerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	w.subscribe(mei, "phone")
	w.subscribe(mei, "laptop")
	endpoint := w.phone.URL + "/phone"
	if err := w.store.Test(t.Context(), mei, endpoint, []byte(`{"test":"1","title":"A test"}`)); err != nil {
		t.Fatal(err)
	}
	if r := <-w.phone.rung; r.browser != "phone" || r.notice.Title != "A test" || r.header.Get("Urgency") != "high" {
		t.Errorf("rung: %+v", r)
	}
	if err := w.store.Test(t.Context(), tom, endpoint, []byte(`{}`)); !errors.Is(err, ask.ErrNotFound) {
		t.Errorf("somebody else's browser: %v", err)
	}
	w.phone.says("phone", http.StatusForbidden)
	if err := w.store.Test(t.Context(), mei, endpoint, []byte(`{}`)); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("refused: %v", err)
	}
	w.phone.says("phone", http.StatusGone)
	for range 2 { // it is forgotten
		if err := w.store.Test(t.Context(), mei, endpoint, []byte(`{}`)); !errors.Is(err, ask.ErrNotFound) {
			t.Errorf("gone: %v", err)
		}
	}
	if n := len(w.phone.rung); n != 2 { // the two that were refused
		t.Errorf("%d more messages", n)
	}
}

// A stand-in is rung for what only the absent person may decide, also under another principal of theirs.
func TestAStandInIsRung(t *testing.T) {
	t.Parallel()
	people, err := approvals.Parse([]byte(`people: [ { name: Tom, principals: ["oidc:id.example.com#tom", "os:tom"] } ]`))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, natstest.Options{Broker: broker.Options{Approvals: func() *approvals.File { return people }}})
	web, err := responder.New(w.bus.Responder("web"), "web", responder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.replica()
	w.subscribe(tom, "b-phone")
	if _, err := web.Away(t.Context(), responder.Away{By: mei, To: "os:tom", Until: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "the stand-in is known", func() bool { return len(w.apps[0].StandIns()) == 1 })
	a := database()
	a.Audience = []string{"group:platform"}
	w.ask(a)
	if got := w.phone.next(1); got[0].browser != "b-phone" {
		t.Fatalf("asked: %+v", got)
	}
}
