package broker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func keyOf(id string) ask.Key { return ask.Key{Tenant: "acme", Session: "s1", ID: id} }

func TestTheSameAnswerAgainIsTheSameReply(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	nc, web, slack := plain(t, b, agent("s1")), plain(t, b, surface("web")), plain(t, b, surface("slack"))
	asked(t, nc, "s1", "a1")
	before := stored(t, b)
	first := request(t, web, answerSubject("web", "s1", "a1"), nil, event(cloudevent.TypeAnswered, "a1", answerData("a1", "w1", "pg")))
	again := request(t, web, answerSubject("web", "s1", "a1"), nil, event(cloudevent.TypeAnswered, "a1", answerData("a1", "w1", "pg")))
	_, o1 := data(t, first)
	_, o2 := data(t, again)
	if fmt.Sprint(o1) != fmt.Sprint(o2) || o1["answer_id"] != "w1" {
		t.Errorf("told %v, then %v", o1, o2)
	}
	var wrote uint64
	for name, n := range stored(t, b) {
		wrote += n - before[name]
	}
	if wrote != 1 {
		t.Errorf("two tries wrote %d messages", wrote)
	}
	// The same answer id from another sender is another answer.
	for name, m := range map[string]*nats.Msg{
		"another type":      request(t, slack, answerSubject("slack", "s1", "a1"), nil, event(cloudevent.TypeAnswered, "a1", answerData("a1", "w1", "pg"))),
		"another answer":    request(t, web, answerSubject("web", "s1", "a1"), nil, event(cloudevent.TypeAnswered, "a1", answerData("a1", "w2", "pg"))),
		"another principal": request(t, web, answerSubject("web", "s1", "a1"), nil, event(cloudevent.TypeAnswered, "a1", strings.Replace(answerData("a1", "w1", "pg"), "os:mei", "os:joe", 1))),
	} {
		if e := problem(t, m); wire.HTTPStatus(e.Code) != 409 || e.Code != ask.CodeResolved || e.Outcome == nil || e.Outcome.AnswerID != "w1" || !strings.Contains(e.Detail, "Mei on the web") {
			t.Errorf("%s: %v", name, e)
		}
	}
}

func TestTheBodyCannotNameTheSurface(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	nc, web := plain(t, b, agent("s1")), plain(t, b, surface("web"))
	asked(t, nc, "s1", "a1")
	body := strings.Replace(answerData("a1", "w1", "pg"), `"name"`, `"responder":"slack","name"`, 1)
	_, o := data(t, request(t, web, answerSubject("web", "s1", "a1"), nil, event(cloudevent.TypeAnswered, "a1", body)))
	if by, _ := o["by"].(map[string]any); by["responder"] != "web" {
		t.Errorf("outcome %v", o)
	}
}

func TestOnlyTheAudienceDecides(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c, r := newClient(t, b, "s1"), newResponder(t, b, "web")
	a := storage()
	a.ID, a.Audience = "a1", []string{"group:platform", "os:root"}
	if _, err := c.Ask(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	joe := ask.By{Principal: "os:joe", Groups: []string{"sales"}}
	reply := pick("pg")
	reply.By = joe
	_, err := r.Answer(t.Context(), keyOf("a1"), reply)
	if e, ok := errors.AsType[*ask.Error](err); !ok || wire.HTTPStatus(e.Code) != 403 || !errors.Is(err, ask.ErrForbidden) || !strings.Contains(e.Detail, "group:platform") {
		t.Errorf("a stranger answers: %v", err)
	}
	if _, err := r.Cancel(t.Context(), keyOf("a1"), responder.Decline{By: joe}); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("a stranger declines: %v", err)
	}
	if rec, err := c.Get(t.Context(), "a1"); err != nil || rec.State != ask.StatePending {
		t.Errorf("%+v, %v", rec, err)
	}
	reply.By.Groups = []string{"sales", "platform"}
	if o, err := r.Answer(t.Context(), keyOf("a1"), reply); err != nil || o.Status != ask.StatusAnswered {
		t.Errorf("a member answers: %+v, %v", o, err)
	}
}

func TestABadAnswerLeavesTheAskOpenAndNamesTheQuestion(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c, r := newClient(t, b, "s1"), newResponder(t, b, "web")
	a := storage()
	a.ID = "a1"
	a.Questions = append(a.Questions, ask.Question{ID: "n", Kind: ask.KindNumber, Text: "How many?", Limits: ask.Limits{Max: new(9.0)}})
	if _, err := c.Ask(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	reply := pick("pg")
	reply.Answers = append(reply.Answers, ask.Answer{QuestionID: "n", Number: new(10.0)})
	_, err := r.Answer(t.Context(), keyOf("a1"), reply)
	e, ok := errors.AsType[*ask.Error](err)
	if !ok || wire.HTTPStatus(e.Code) != 400 || len(e.Faults) != 1 || e.Faults[0].QuestionID != "n" {
		t.Errorf("%v", err)
	}
	reply.Answers[1].Number = new(9.0)
	if _, err := r.Answer(t.Context(), keyOf("a1"), reply); err != nil {
		t.Errorf("corrected: %v", err)
	}
}

// TestEveryEndRacesAndOneWins runs all ways to end an ask concurrently.
func TestEveryEndRacesAndOneWins(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	nc, web, slack, op := plain(t, b, agent("s1")), plain(t, b, surface("web")), plain(t, b, surface("slack")), plain(t, b, operator())
	for i := range 25 {
		id := fmt.Sprintf("a%d", i)
		asked(t, nc, "s1", id)
		tries := []func() *nats.Msg{
			func() *nats.Msg {
				return request(t, web, answerSubject("web", "s1", id), nil, event(cloudevent.TypeAnswered, id, answerData(id, "w1", "pg")))
			},
			func() *nats.Msg {
				return request(t, slack, answerSubject("slack", "s1", id), nil, event(cloudevent.TypeAnswered, id, answerData(id, "w2", "lite")))
			},
			func() *nats.Msg {
				return request(t, web, "ansv1.web.acme.s1.cancel."+id, nil, event(cloudevent.TypeDeclined, id, fmt.Sprintf(`{"ask_id":%q,"answer_id":"w3","reason":"no","by":%s}`, id, by)))
			},
			func() *nats.Msg {
				return request(t, nc, "askv1.acme.s1.withdraw."+id, nil, event(cloudevent.TypeWithdrawn, id, fmt.Sprintf(`{"ask_id":%q}`, id)))
			},
			func() *nats.Msg {
				return request(t, op, "admv1.acme.s1.abort."+id, nil, event(cloudevent.TypeAborted, id, fmt.Sprintf(`{"ask_id":%q,"reason":"halt"}`, id)))
			},
		}
		var mu sync.Mutex
		told := map[string]int{}
		won := 0
		var wg sync.WaitGroup
		for _, try := range tries {
			wg.Go(func() {
				m := try()
				mu.Lock()
				defer mu.Unlock()
				if m.Header.Get("Nats-Service-Error-Code") != "" {
					e := problem(t, m)
					if wire.HTTPStatus(e.Code) != 409 || e.Outcome == nil {
						t.Errorf("%s: %v", id, e)
						return
					}
					told[string(e.Outcome.Status)+e.Outcome.AnswerID]++
					return
				}
				_, o := data(t, m)
				won++
				answerID, _ := o["answer_id"].(string)
				told[fmt.Sprint(o["status"])+answerID]++
			})
		}
		wg.Wait()
		if won != 1 || len(told) != 1 {
			t.Errorf("%s: %d won, told %v", id, won, told)
		}
		// A second withdrawal or abort gets the same reply if the first one
		// won.
		_, s := data(t, request(t, nc, "askv1.acme.s1.get."+id, nil, ""))
		o, _ := s["outcome"].(map[string]any)
		m := tries[3]()
		if got := m.Header.Get("Nats-Service-Error-Code") == ""; got != (o["status"] == "withdrawn") {
			t.Errorf("%s: withdrawn again after %v: %s", id, o["status"], m.Data)
		}
	}
}

func TestRequireResponderAsksWhoIsThere(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c, r := newClient(t, b, "s1"), newResponder(t, b, "web")
	a := storage()
	a.ID, a.RequireResponder = "a1", true
	before := stored(t, b)
	_, err := c.Ask(t.Context(), a)
	if e, ok := errors.AsType[*ask.Error](err); !ok || wire.HTTPStatus(e.Code) != 503 || e.Code != ask.CodeNobody {
		t.Errorf("nobody is there: %v", err)
	}
	elsewhere, err := r.Present("other", "")
	if err != nil {
		t.Fatal(err)
	}
	defer elsewhere()
	if _, err := c.Ask(t.Context(), a); !errors.Is(err, ask.ErrNobody) {
		t.Errorf("somebody is at another tenant: %v", err)
	}
	if after := stored(t, b); fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("something was stored: %v, %v", before, after)
	}
	liar := plain(t, b, surface("slack"))
	if _, err := liar.Subscribe("herev1.>", func(m *nats.Msg) {
		id := m.Reply[strings.LastIndexByte(m.Reply, '.')+1:]
		_ = m.Respond([]byte("web"))
		for _, at := range []string{"ansv1.web.acme.s1.here.", "ansv1.slack.acme.s2.here."} { // another type, another session
			_ = liar.PublishMsg(natstest.Signed(t, liar, &nats.Msg{Subject: at + id}))
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := liar.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ask(t.Context(), a); !errors.Is(err, ask.ErrNobody) {
		t.Errorf("a surface speaks for another one: %v", err)
	}
	leave, err := r.Present("acme", "")
	if err != nil {
		t.Fatal(err)
	}
	st, err := c.Ask(t.Context(), a)
	if err != nil || !slices.Equal(st.Present, []string{"web"}) {
		t.Errorf("somebody is there: %+v, %v", st, err)
	}
	leave()
	if _, err := c.Ask(t.Context(), a); err != nil {
		t.Errorf("asking again what is pending needs nobody: %v", err)
	}
}

// The sweep reads the timers' own headers (see the ledger's tests of Overdue),
// and ends asks like any request that finds an overdue ask.
func TestAnAnswerAfterTheDeadlineIsTold(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	forgotten(t, b, "a1")
	_, err := newResponder(t, b, "web").Answer(t.Context(), keyOf("a1"), pick("pg"))
	if e, ok := errors.AsType[*ask.Error](err); !ok || wire.HTTPStatus(e.Code) != 410 || e.Code != ask.CodeExpired || e.Outcome == nil || e.Outcome.Waited != 30*time.Minute {
		t.Errorf("an answer after the deadline: %v", err)
	}
}

// An idle broker's loop ends the asks that the timer missed, at the start and
// later.
func TestTheSweepEndsAsksThatTheTimerMissed(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	var ahead atomic.Int64
	b.BrokerAhead(func() time.Duration { return time.Duration(ahead.Load()) }, broker.Options{Sweep: 20 * time.Millisecond})
	ended := make(chan *nats.Msg, 10)
	admin, c := b.Admin(), newClient(t, b, "s1")
	if _, err := admin.ChanSubscribe(subject.OutAll("", "", subject.Outcome), ended); err != nil {
		t.Fatal(err)
	}
	if err := admin.Flush(); err != nil {
		t.Fatal(err)
	}
	for round, id := range []string{"first", "second"} {
		a := storage()
		a.ID, a.Timeout = id, time.Duration(round+1)*time.Hour // by the broker's clock
		if _, err := c.Ask(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		ahead.Add(int64(3 * time.Hour))
		m := <-ended
		k, ok := cloudevent.FirstOutcome(m)
		if !ok || k.ID != id {
			t.Fatalf("%s ended, not %s", m.Subject, id)
		}
		if end, err := cloudevent.ReadOutcome(m, k); err != nil || end.End.Status != ask.StatusExpired {
			t.Errorf("%+v, %v", end.End, err)
		}
	}
}

// forgotten stores an overdue question with a timer that is far off.
func forgotten(t *testing.T, b *natstest.Bus, id string) {
	t.Helper()
	js, err := jetstream.New(b.LedgerAdmin())
	if err != nil {
		t.Fatal(err)
	}
	k := keyOf(id)
	asked := time.Now().Add(-time.Hour)
	stored := fmt.Sprintf(`{"ask":{"id":%q,"deadline":%q,"priority":"normal","at_deadline":"expire","questions":[{"id":"db","kind":"choice","text":"?","options":[{"id":"pg","label":"P"}]}]},
		"on_deadline":{"ask_id":%q,"tenant":"acme","session":"s1","status":"expired","answers":[],"at":%q,"waited_ms":1800000},"digest":"sha256:x"}`,
		id, asked.Add(30*time.Minute).UTC().Format(time.RFC3339), id, asked.Add(30*time.Minute).UTC().Format(time.RFC3339))
	msg, err := cloudevent.Event{
		ID: "e", Source: "/askbus/acme/s1", Type: cloudevent.TypeAsked, Key: k, Time: asked, Data: []byte(stored),
	}.Msg(cloudevent.Binary)
	if err != nil {
		t.Fatal(err)
	}
	p := subject.Partition(k.Tenant, k.Session, 4)
	msg.Subject = subject.LedgerQuestion(p, k)
	msg.Header.Set("Nats-Schedule", "@at "+time.Now().Add(24*time.Hour).UTC().Format(time.RFC3339Nano))
	msg.Header.Set("Nats-Schedule-Target", subject.LedgerOutcome(p, k))
	msg.Header.Set("Nats-TTL", "never")
	if _, err := js.PublishMsg(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
}

func TestAnyReadExpiresAnOverdueAsk(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	nc, web, op := plain(t, b, agent("s1")), plain(t, b, surface("web")), plain(t, b, operator())
	for name, meet := range map[string]func(id string) *nats.Msg{
		"get": func(id string) *nats.Msg { return request(t, nc, "askv1.acme.s1.get."+id, nil, "") },
		"wait": func(id string) *nats.Msg {
			return request(t, nc, "askv1.acme.s1.wait."+id, nats.Header{"Askbus-Wait": {"5m"}}, "")
		},
		"list": func(string) *nats.Msg { return request(t, web, "ansv1.web.list", nil, `{"state":"pending"}`) },
		"answer": func(id string) *nats.Msg {
			return request(t, web, answerSubject("web", "s1", id), nil, event(cloudevent.TypeAnswered, id, answerData(id, "w1", "pg")))
		},
		"withdraw": func(id string) *nats.Msg {
			return request(t, nc, "askv1.acme.s1.withdraw."+id, nil, event(cloudevent.TypeWithdrawn, id, fmt.Sprintf(`{"ask_id":%q}`, id)))
		},
		"abort": func(id string) *nats.Msg {
			return request(t, op, "admv1.acme.s1.abort."+id, nil, event(cloudevent.TypeAborted, id, fmt.Sprintf(`{"ask_id":%q}`, id)))
		},
	} {
		forgotten(t, b, name)
		m := meet(name)
		switch name {
		case "list":
			if items, _, err := wire.DecodePage(m.Data); err != nil || len(items) != 0 {
				t.Errorf("pending are %+v, %v", items, err)
			}
		case "answer", "withdraw", "abort":
			if e := problem(t, m); wire.HTTPStatus(e.Code) != 410 || e.Outcome == nil || e.Outcome.Status != ask.StatusExpired {
				t.Errorf("%s: %v", name, e)
			}
		}
		_, s := data(t, request(t, nc, "askv1.acme.s1.get."+name, nil, ""))
		if o, _ := s["outcome"].(map[string]any); s["state"] != "resolved" || o["status"] != "expired" {
			t.Errorf("%s: %v", name, s)
		}
	}
}

// lateExpiry writes what the server may write when a timer fires during an
// answer.
func lateExpiry(t *testing.T, b *natstest.Bus, k ask.Key, q *nats.Msg) {
	t.Helper()
	js, err := jetstream.New(b.LedgerAdmin())
	if err != nil {
		t.Fatal(err)
	}
	msg := &nats.Msg{Subject: subject.LedgerOutcome(subject.Partition(k.Tenant, k.Session, 4), k), Header: nats.Header{}, Data: q.Data}
	for name, values := range q.Header {
		if strings.HasPrefix(name, "ce-") || name == "Content-Type" {
			msg.Header[name] = values
		}
	}
	if _, err := js.PublishMsg(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
}

func TestALateExpiryIsIgnored(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	questions := make(chan *nats.Msg, 1)
	admin := b.Admin()
	if _, err := admin.ChanSubscribe(subject.OutAll("", "", subject.Question), questions); err != nil {
		t.Fatal(err)
	}
	if err := admin.Flush(); err != nil {
		t.Fatal(err)
	}
	c, r := newClient(t, b, "s1"), newResponder(t, b, "web")
	ctx, cancel := context.WithCancel(t.Context())
	events := make(chan board.Event, 100)
	watched := make(chan error, 1)
	go func() { watched <- board.Watch(ctx, r, func(e board.Event) { events <- e }) }()
	if e := <-events; e.Kind != board.Synced {
		t.Fatalf("first %+v", e)
	}
	a := storage()
	a.ID = "a1"
	if _, err := c.Ask(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	waited := make(chan ask.Outcome, 1)
	go func() {
		o, err := c.Wait(t.Context(), "a1")
		if err != nil {
			t.Error(err)
		}
		waited <- o
	}()
	q := <-questions
	if _, err := r.Answer(t.Context(), keyOf("a1"), pick("pg")); err != nil {
		t.Fatal(err)
	}
	lateExpiry(t, b, keyOf("a1"), q)
	lateExpiry(t, b, keyOf("a1"), q)
	if o := <-waited; o.Status != ask.StatusAnswered {
		t.Errorf("wait: %+v", o)
	}
	if o, err := c.Wait(t.Context(), "a1"); err != nil || o.Status != ask.StatusAnswered {
		t.Errorf("a fresh wait: %+v, %v", o, err)
	}
	if rec, err := c.Get(t.Context(), "a1"); err != nil || rec.Outcome == nil || rec.Outcome.Status != ask.StatusAnswered {
		t.Errorf("get: %+v, %v", rec, err)
	}
	for _, state := range []ask.State{"", ask.StateResolved} {
		p, err := r.List(t.Context(), responder.Query{State: state})
		if err != nil || len(p.Items) != 1 || p.Items[0].Outcome.Status != ask.StatusAnswered {
			t.Errorf("list %q: %+v, %v", state, p, err)
		}
	}
	// A second ask marks the end of the watched events.
	a.ID = "a2"
	if _, err := c.Ask(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	var told []string
	for e := range events {
		if e.Kind == board.Synced {
			continue
		}
		told = append(told, fmt.Sprintf("%d %s", e.Kind, e.Record.Ask.ID))
		if e.Kind == board.Resolved && e.Record.Outcome.Status != ask.StatusAnswered {
			t.Errorf("watch: %+v", e.Record.Outcome)
		}
		if e.Record.Ask.ID == "a2" {
			break
		}
	}
	if want := []string{"1 a1", "2 a1", "1 a2"}; !slices.Equal(told, want) {
		t.Errorf("watch told %v, want %v", told, want)
	}
	cancel()
	if err := <-watched; err != nil {
		t.Error(err)
	}
}

func TestPagesOfBigAsksFitIntoAReply(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	nc, web := plain(t, b, agent("s1")), plain(t, b, surface("web"))
	var want []string
	for i := range 8 {
		id := fmt.Sprintf("a%d", i)
		preview := fmt.Sprintf(`"preview":{"body":%q}`, strings.Repeat("<", ask.MaxLong))
		body := fmt.Sprintf(`{"id":%q,"context":%q,"questions":[{"id":"db","text":"?","options":[{"id":"pg","label":"a",%s},{"label":"b",%s}]}]}`,
			id, strings.Repeat("&", ask.MaxLong), preview, preview)
		m := served(t, nc, askSubject("s1", id), event(cloudevent.TypeAsked, id, body))
		if m.Header.Get("Nats-Service-Error-Code") != "" {
			t.Fatalf("%v", problem(t, m))
		}
		want = append(want, id)
	}
	for _, state := range []string{"pending", "resolved"} {
		if state == "resolved" {
			for _, id := range want {
				answer := fmt.Sprintf(`{"ask_id":%q,"answer_id":"w","answers":[{"question_id":"db","selected":["pg"],"notes":%q}],"by":%s}`, id, strings.Repeat(">", ask.MaxText), by)
				if m := served(t, web, answerSubject("web", "s1", id), event(cloudevent.TypeAnswered, id, answer)); m.Header.Get("Nats-Service-Error-Code") != "" {
					t.Fatalf("%v", problem(t, m))
				}
				_, s := data(t, served(t, nc, "askv1.acme.s1.get."+id, "")) // the ask, and the outcome with its ask
				if s["state"] != "resolved" {
					t.Errorf("get: %v", s["state"])
				}
			}
		}
		var got []string
		cursor := ""
		for {
			body, _ := json.Marshal(wire.Query{State: state, Limit: 500, Cursor: cursor})
			m := served(t, web, "ansv1.web.list", string(body))
			if m.Header.Get("Nats-Service-Error-Code") != "" {
				t.Fatalf("%v", problem(t, m))
			}
			items, next, err := wire.DecodePage(m.Data)
			if err != nil {
				t.Fatal(err)
			}
			for _, it := range items {
				got = append(got, it.Ask.ID)
			}
			if cursor = next; next == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: listed %v", state, got)
		}
	}
}

func TestNothingIsLostWhenOneOfTwoBrokersStopsUnderLoad(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	stops := []func(){b.Broker(broker.Options{}), b.Broker(broker.Options{})}
	c, r := newClient(t, b, "s1"), newResponder(t, b, "web")
	const asks = 60
	half := make(chan struct{})
	var once sync.Once
	var wg sync.WaitGroup
	for i := range asks {
		wg.Go(func() {
			a := storage()
			a.ID = fmt.Sprintf("a%d", i)
			if _, err := c.Ask(t.Context(), a); err != nil {
				t.Errorf("ask %s: %v", a.ID, err)
				return
			}
			if i == asks/2 {
				once.Do(func() { close(half) })
			}
			reply := pick("pg")
			reply.AnswerID = "w-" + a.ID
			if o, err := r.Answer(t.Context(), keyOf(a.ID), reply); err != nil || o.AnswerID != reply.AnswerID {
				t.Errorf("answer %s: %+v %v", a.ID, o.AnswerID, err)
			}
			if o, err := c.Wait(t.Context(), a.ID); err != nil || o.AnswerID != reply.AnswerID {
				t.Errorf("wait %s: %+v %v", a.ID, o.AnswerID, err)
			}
		})
	}
	<-half
	stops[0]()
	wg.Wait()
	n := 0
	for rec, err := range c.All(t.Context(), client.Query{State: ask.StateResolved}) {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Outcome.AnswerID == "w-"+rec.Ask.ID {
			n++
		}
	}
	if n != asks {
		t.Errorf("%d of %d asks are answered", n, asks)
	}
}

func TestForeignReplySubjectsAreDropped(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	nc, admin := plain(t, b, agent("s1")), b.Admin()
	before := stored(t, b)
	heard := make(chan *nats.Msg, 10)
	for _, s := range []string{"_INBOX.a.acme.s2.x", "_INBOX.x", "ledgerv1.00.acme.s2.a1.o", "_INBOX.l.x", "_INBOX.r.web.x"} {
		if _, err := admin.ChanSubscribe(s, heard); err != nil {
			t.Fatal(err)
		}
		if err := nc.PublishRequest(askSubject("s1", "a1"), s, []byte(event(cloudevent.TypeAsked, "a1", askData("a1")))); err != nil {
			t.Fatal(err)
		}
	}
	// Requests of one connection stay in order: the dropped one is past by now.
	if e := problem(t, request(t, nc, "askv1.acme.s1.get.a1", nil, "")); wire.HTTPStatus(e.Code) != 404 {
		t.Errorf("the dropped request was carried out: %v", e)
	}
	if after := stored(t, b); fmt.Sprint(before) != fmt.Sprint(after) || len(heard) != 0 {
		t.Errorf("stored %v, before %v; %d replies", after, before, len(heard))
	}
	// A request without a reply subject is carried out and not answered.
	if err := nc.Publish(askSubject("s1", "a1"), []byte(event(cloudevent.TypeAsked, "a1", askData("a1")))); err != nil {
		t.Fatal(err)
	}
	typ, _ := data(t, request(t, nc, askSubject("s1", "a1"), nil, event(cloudevent.TypeAsked, "a1", askData("a1"))))
	if typ != cloudevent.TypeStatus {
		t.Errorf("%s", typ)
	}
}

func TestTheReplyToAskSaysWhetherItCreatedTheAsk(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	nc, web := plain(t, b, agent("s1")), plain(t, b, surface("web"))
	const first = "e1"
	do := func(eventID string, wait string) (created, state any, life string) {
		t.Helper()
		header := nats.Header{}
		if wait != "" {
			header.Set("Askbus-Wait", wait)
		}
		body := strings.Replace(event(cloudevent.TypeAsked, "a1", askData("a1")), `"id":"e1"`, `"id":"`+eventID+`"`, 1)
		m := request(t, nc, askSubject("s1", "a1"), header, body)
		_, d := data(t, m)
		if said, in := d["created"]; in && fmt.Sprint(said) != m.Header.Get("Askbus-Created") {
			t.Errorf("the status says created %v, the header %q", said, m.Header.Get("Askbus-Created"))
		}
		life, _ = d["life"].(string)
		return m.Header.Get("Askbus-Created"), d["state"], life
	}
	created, state, life := do(first, "")
	if created != "true" || state != "pending" || !ask.ValidToken(life) {
		t.Errorf("new: %v %v %q", created, state, life)
	}
	// The same event again, as if its reply had been lost; then another event.
	for id, want := range map[string]string{first: "true", "e2": "false"} {
		for _, wait := range []string{"", "1ms"} {
			if created, state, again := do(id, wait); created != want || state != "pending" || again != life {
				t.Errorf("event %s, wait %q: created %v, %v, life %q, want %s and %q", id, wait, created, state, again, want, life)
			}
		}
	}
	held := make(chan any, 1)
	go func() {
		created, _, _ := do("e3", "1m")
		held <- created
	}()
	heldAtLeast(t, b, 1)
	request(t, web, answerSubject("web", "s1", "a1"), nil, event(cloudevent.TypeAnswered, "a1", answerData("a1", "w1", "pg")))
	if created := <-held; created != "false" {
		t.Errorf("held until the end: created %v", created)
	}
	for id, want := range map[string]string{first: "true", "e2": "false"} {
		for _, wait := range []string{"", "1m"} {
			if created, _, _ := do(id, wait); created != want {
				t.Errorf("ended, event %s, wait %q: created %v, want %s", id, wait, created, want)
			}
		}
	}
	// Its outcome and its list item name the same life.
	_, d := data(t, request(t, nc, "askv1.acme.s1.get.a1", nil, ""))
	if d["life"] != life || d["state"] != "resolved" {
		t.Errorf("ended: life %v, want %q", d["life"], life)
	}
}
