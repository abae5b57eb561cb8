package pagerduty_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/pagerduty"
	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/lab/fakepagerduty"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// world is a bus whose time can be moved, and PagerDuty.
type world struct {
	t     *testing.T
	bus   *natstest.Bus
	pd    *fakepagerduty.Server
	ahead atomic.Int64
	asks  client.Session
	web   *responder.Responder
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, bus: natstest.Start(t, natstest.Options{NoBroker: true}), pd: fakepagerduty.New()}
	t.Cleanup(w.pd.Close)
	w.bus.BrokerAhead(func() time.Duration { return time.Duration(w.ahead.Load()) }, broker.Options{Sweep: 20 * time.Millisecond})
	c, err := client.New(w.bus.Agent("acme", "s1"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	w.asks = c.Session("acme", "s1")
	if w.web, err = responder.New(w.bus.Responder("web"), "web", responder.Options{}); err != nil {
		t.Fatal(err)
	}
	return w
}

// replica runs the surface until it is stopped, or the test ends.
func (w *world) replica(nc *nats.Conn) (app *pagerduty.App, stop func()) {
	w.t.Helper()
	app, err := pagerduty.New(nc, pagerduty.Options{
		RoutingKey: fakepagerduty.Key, URL: w.pd.URL, Logger: natstest.Logger(), Link: func(k ask.Key) string { return "https://inbox.example/ask/" + k.String() },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	var running sync.WaitGroup
	running.Go(func() { _ = app.Run(ctx) })
	stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	w.t.Cleanup(stop)
	return app, stop
}

// ask asks something that pages after ten minutes, and reminds otherwise after ten more.
func (w *world) ask(id string) ask.Key {
	w.t.Helper()
	if _, err := w.asks.Ask(w.t.Context(), ask.Ask{
		ID: id, Title: "Deploy build 43?", Context: "the password is hunter2", Priority: ask.PriorityHigh, Questions: []ask.Question{{ID: "go", Text: "Deploy?", Kind: ask.KindBoolean}}, Audience: []string{"os:mei"},
		Escalate: []ask.Escalation{{After: 10 * time.Minute, Tell: []string{"group:oncall"}, Via: []string{"pagerduty"}}, {After: 10 * time.Minute}, {After: 10 * time.Minute, Via: []string{"slack", "pagerduty"}}},
	}); err != nil {
		w.t.Fatal(err)
	}
	return ask.Key{Tenant: "acme", Session: "s1", ID: id}
}

func (w *world) incidents(what string, want func(map[string]fakepagerduty.Incident) bool) map[string]fakepagerduty.Incident {
	w.t.Helper()
	for {
		all := w.pd.Incidents()
		if want(all) {
			return all
		}
		select {
		case <-w.pd.Changed():
		case <-w.t.Context().Done():
			w.t.Fatalf("%s: %+v", what, all)
		}
	}
}

func in(state string, n int) func(map[string]fakepagerduty.Incident) bool {
	return func(all map[string]fakepagerduty.Incident) bool {
		count := 0
		for _, i := range all {
			if i.State == state {
				count++
			}
		}
		return count == n
	}
}

func (w *world) steps(k ask.Key, n int) {
	w.t.Helper()
	natstest.Eventually(w.t, fmt.Sprintf("step %d is taken", n), func() bool {
		rec, err := w.web.Get(w.t.Context(), k)
		return err == nil && rec.Escalated != nil && len(rec.Escalated.Steps) >= n
	})
}

// Whoever decides alone ends the incidents, and opens none that nobody would resolve.
func TestADecisionAloneOpensNoIncident(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app, err := pagerduty.New(nil, pagerduty.Options{RoutingKey: fakepagerduty.Key, URL: w.pd.URL})
	if err != nil {
		t.Fatal(err)
	}
	o := ask.Outcome{Status: ask.StatusAnswered, BreakGlass: &ask.BreakGlass{Reason: "INC-7"}, Escalated: &ask.Escalated{Steps: []ask.Step{{N: 1, Via: []string{pagerduty.Type}}}}}
	p := responder.Post{Key: "askbus-1"}
	if _, err := app.Escalate(t.Context(), p, ask.Record{State: ask.StatePending}, o.Escalated.Steps, nil); err != nil {
		t.Fatal(err)
	}
	if err := app.Update(t.Context(), responder.Ended{Post: p, Outcome: o}); err != nil {
		t.Fatal(err)
	}
	if _, err := app.Escalate(t.Context(), p, ask.Record{State: ask.StateResolved, Outcome: &o}, []ask.Step{o.AloneStep()}, nil); err != nil {
		t.Fatal(err)
	}
	if all := w.pd.Incidents(); len(all) != 1 || !in("resolved", 1)(all) {
		t.Errorf("%+v", all)
	}
}

// A step opens one incident with two replicas, also after a reply that is lost; a look
// acknowledges it, the outcome resolves it. A step that does not name PagerDuty opens none.
func TestAStepIsAnIncident(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var lost atomic.Bool
	w.pd.Before = func(e fakepagerduty.Event, counted bool) (int, int) {
		if counted && e.Action == "trigger" && !lost.Swap(true) {
			return http.StatusBadGateway, 0
		}
		return 0, 0
	}
	w.replica(w.bus.Responder(pagerduty.Type))
	w.replica(w.bus.Responder(pagerduty.Type))
	k := w.ask("a1")
	w.ahead.Store(int64(11 * time.Minute))
	all := w.incidents("an incident, which was sent twice", func(all map[string]fakepagerduty.Incident) bool {
		for _, i := range all {
			return i.Triggers == 2
		}
		return false
	})
	key := responder.PostKey(pagerduty.Type, k, "")[:7]
	for dedup, i := range all {
		p := i.Last.Payload
		if len(all) != 1 || i.Opened != 1 || !strings.HasPrefix(dedup, key) || !strings.HasSuffix(dedup, "-1") || p.Summary != "Nobody has decided this yet: Deploy build 43? (acme/s1)" || p.Severity != "error" ||
			p.Details["ask_id"] != "a1" || len(i.Last.Links) != 1 || i.Last.Links[0].Href != "https://inbox.example/ask/acme/s1/a1" || strings.Contains(i.Last.Raw, "hunter2") {
			t.Errorf("%s: %+v", dedup, i)
		}
	}
	natstest.Eventually(t, "the receipt has the step", func() bool {
		rec, err := w.web.Get(t.Context(), k)
		return err == nil && len(rec.Receipts) == 1 && rec.Receipts[0].Step == 1 && rec.Receipts[0].Places[0].Where == "PagerDuty"
	})
	rec, err := w.web.Get(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	body, err := wire.Marshal(wire.Seen{By: mei, Life: rec.Life})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := connection.Do(t.Context(), connection.On(w.web.Conn()), &nats.Msg{Subject: subject.Responder("web", subject.Self, k, subject.VerbSeen), Data: body}, 0); err != nil {
		t.Fatal(err)
	}
	w.incidents("acknowledged", in("acknowledged", 1))
	w.ahead.Store(int64(32 * time.Minute)) // it was paused for ten minutes
	w.steps(k, 2)
	w.ahead.Add(int64(11 * time.Minute))
	w.incidents("the third step is another one, the second none", func(all map[string]fakepagerduty.Incident) bool {
		return len(all) == 2 && in("triggered", 1)(all)
	})
	if _, err := w.web.Answer(t.Context(), k, ask.Reply{AnswerID: "v1", By: mei, Answers: []ask.Answer{{QuestionID: "go", Boolean: new(true)}}}); err != nil {
		t.Fatal(err)
	}
	w.incidents("resolved", in("resolved", 2))
}

var mei = ask.By{Principal: "os:mei", Proof: ask.ProofOS}

// A replica that dies while it sends leaves the rest to another: one incident.
func TestAKilledSender(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dying := w.bus.Responder(pagerduty.Type)
	killed := make(chan struct{})
	var once sync.Once
	w.pd.Before = func(e fakepagerduty.Event, counted bool) (int, int) {
		if counted && e.Action == "trigger" {
			once.Do(func() { dying.Close(); close(killed) }) // PagerDuty has it, and nobody on the bus learns that
		}
		return 0, 0
	}
	_, stop := w.replica(dying)
	k := w.ask("a1")
	w.ahead.Store(int64(11 * time.Minute))
	select {
	case <-killed:
	case <-t.Context().Done():
		t.Fatal("nothing is sent")
	}
	stop()
	// It ends before another replica takes over: what was opened is resolved all the same.
	if _, err := w.web.Answer(t.Context(), k, ask.Reply{AnswerID: "v1", By: mei, Answers: []ask.Answer{{QuestionID: "go", Boolean: new(true)}}}); err != nil {
		t.Fatal(err)
	}
	w.replica(w.bus.Responder(pagerduty.Type))
	all := w.incidents("resolved", in("resolved", 1))
	for key, i := range all {
		if i.Opened != 1 {
			t.Errorf("%s: %+v", key, i)
		}
	}
}

func TestWhatPagerDutyRefuses(t *testing.T) {
	t.Parallel()
	pd := fakepagerduty.New()
	t.Cleanup(pd.Close)
	bus := natstest.Start(t, natstest.Options{})
	wrong := strings.Repeat("x", 32)
	app, err := pagerduty.New(bus.Responder(pagerduty.Type), pagerduty.Options{RoutingKey: wrong, URL: pd.URL})
	if err != nil {
		t.Fatal(err)
	}
	p := responder.Post{Key: "askbus-1", Ask: ask.Ask{ID: "a1", Tenant: "acme", Session: "s1", Title: strings.Repeat("ä", 300)}}
	steps := []ask.Step{{N: 1, At: time.Now(), Via: []string{"pagerduty"}}}
	_, err = app.Escalate(t.Context(), p, ask.Record{}, steps, nil)
	if permanent, ok := errors.AsType[*responder.PermanentError](err); !ok || !strings.Contains(permanent.Error(), "400") || !strings.Contains(permanent.Error(), "Invalid routing key") {
		t.Errorf("a wrong key: %v", err)
	}
	if err := app.Ready(); err == nil || strings.Contains(err.Error(), wrong) {
		t.Errorf("ready: %v", err)
	}
	if found := app.Doctor(t.Context()); len(found) != 1 || found[0].State != "broken" || !strings.Contains(found[0].Words, "integration key") || strings.Contains(found[0].Words, wrong) {
		t.Errorf("doctor: %+v", found)
	}
	right, err := pagerduty.New(nil, pagerduty.Options{RoutingKey: fakepagerduty.Key, URL: pd.URL})
	if err != nil {
		t.Fatal(err)
	}
	if found := right.Doctor(t.Context()); len(found) != 1 || found[0].State != "ok" || len(pd.Incidents()) != 0 {
		t.Errorf("doctor with the key: %+v, %+v", found, pd.Incidents())
	}
	for status, check := range map[int]func(error) bool{
		http.StatusTooManyRequests: func(err error) bool {
			e, ok := errors.AsType[*responder.RetryError](err)
			return ok && e.After == 7*time.Second
		},
		http.StatusServiceUnavailable:  func(err error) bool { return !isA[*responder.RetryError](err) && !isA[*responder.PermanentError](err) },
		http.StatusForbidden:           isA[*responder.PermanentError],
		http.StatusPermanentRedirect:   isA[*responder.PermanentError],
		http.StatusInternalServerError: func(err error) bool { return !isA[*responder.PermanentError](err) },
	} {
		pd.Before = func(fakepagerduty.Event, bool) (int, int) { return status, 7 }
		if _, err := right.Escalate(t.Context(), p, ask.Record{}, steps, nil); err == nil || !check(err) {
			t.Errorf("%d: %v", status, err)
		}
	}
	pd.Before = nil
	if _, err := right.Escalate(t.Context(), p, ask.Record{}, steps, nil); err != nil || right.Ready() != nil {
		t.Errorf("afterwards: %v, %v", err, right.Ready())
	}
	pd.Close()
	if _, err := right.Escalate(t.Context(), p, ask.Record{}, steps, nil); err == nil || isA[*responder.PermanentError](err) {
		t.Errorf("unreachable: %v", err)
	}
}

func isA[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// A 429 is obeyed: nothing is sent before its time is over.
func TestTooManyEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var mu sync.Mutex
	var sent []time.Time
	w.pd.Before = func(_ fakepagerduty.Event, counted bool) (int, int) {
		mu.Lock()
		defer mu.Unlock()
		if counted {
			return 0, 0
		}
		if sent = append(sent, time.Now()); len(sent) == 1 {
			return http.StatusTooManyRequests, 2
		}
		return 0, 0
	}
	w.replica(w.bus.Responder(pagerduty.Type))
	w.ask("a1")
	w.ask("a2")
	w.ahead.Store(int64(11 * time.Minute))
	w.incidents("both", in("triggered", 2))
	mu.Lock()
	defer mu.Unlock()
	late := 0
	for _, at := range sent[1:] {
		if at.Sub(sent[0]) >= 2*time.Second {
			late++
		}
	}
	if late == 0 { // the other may have been under way
		t.Errorf("%v", sent)
	}
}

// What PagerDuty could not do is sent again; what it refuses is not.
func TestWhatIsSentAgain(t *testing.T) {
	t.Parallel()
	pd := fakepagerduty.New()
	t.Cleanup(pd.Close)
	for status, again := range map[int]bool{408: true, 429: true, 500: true, 503: true, 302: false, 400: false, 403: false, 413: false} {
		pd.Before = func(fakepagerduty.Event, bool) (int, int) { return status, 0 }
		app, err := pagerduty.New(nil, pagerduty.Options{RoutingKey: fakepagerduty.Key, URL: pd.URL})
		if err != nil {
			t.Fatal(err)
		}
		_, err = app.Escalate(t.Context(), responder.Post{Key: "askbus-1"}, ask.Record{State: ask.StatePending}, []ask.Step{{N: 1}}, nil)
		if _, final := errors.AsType[*responder.PermanentError](err); err == nil || final == again || (app.Ready() == nil) != again {
			t.Errorf("%d: %v, ready: %v", status, err, app.Ready())
		}
	}
}

func TestSettingsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]pagerduty.Options{
		"no key":         {},
		"another kind":   {RoutingKey: "u+abcdefghijklmnopqr"},
		"with a space":   {RoutingKey: strings.Repeat("x", 31) + " "},
		"without TLS":    {RoutingKey: fakepagerduty.Key, URL: "http://events.example.com"},
		"another scheme": {RoutingKey: fakepagerduty.Key, URL: "ftp://events.example.com"},
		"not an address": {RoutingKey: fakepagerduty.Key, URL: "events.example.com"},
	} {
		if _, err := pagerduty.New(nil, opts); err == nil || opts.RoutingKey != "" && strings.Contains(err.Error(), opts.RoutingKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// It runs before the parallel tests, because it counts goroutines.
func TestManyEventsLeaveNothingBehind(t *testing.T) {
	pd := fakepagerduty.New()
	client := &http.Client{Transport: &http.Transport{}}
	app, err := pagerduty.New(nil, pagerduty.Options{RoutingKey: fakepagerduty.Key, URL: pd.URL, Client: client})
	if err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	var sending sync.WaitGroup
	slots := make(chan struct{}, 16)
	for i := range 1000 {
		slots <- struct{}{}
		sending.Go(func() {
			defer func() { <-slots }()
			steps := []ask.Step{{N: 1, Via: []string{"pagerduty"}}}
			p := responder.Post{Key: fmt.Sprint("askbus-", i), Ask: ask.Ask{ID: "a1", Title: "Deploy?"}}
			_, err := app.Escalate(t.Context(), p, ask.Record{}, steps, nil)
			err = errors.Join(err, app.Update(t.Context(), responder.Ended{Post: p, Outcome: ask.Outcome{Escalated: &ask.Escalated{Steps: steps}}}))
			if err != nil {
				t.Error(err)
			}
		})
	}
	sending.Wait()
	if !in("resolved", 1000)(pd.Incidents()) {
		t.Error("not every incident is resolved")
	}
	client.CloseIdleConnections()
	pd.Close()
	natstest.Eventually(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
}
