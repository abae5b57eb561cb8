package broker_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
)

// ladder is an ask of the group sre that tells others while nobody decides it.
func ladder(id string) ask.Ask {
	return ask.Ask{
		ID: id, Questions: []ask.Question{{ID: "go", Text: "Deploy?", Kind: ask.KindBoolean}}, Audience: []string{"group:sre"},
		Escalate: []ask.Escalation{{After: 10 * time.Minute, Tell: []string{"os:jo"}}, {After: 10 * time.Minute, Tell: []string{"group:oncall"}, Widen: true}},
	}
}

// stepping is a bus whose brokers' time can be moved.
type stepping struct {
	*natstest.Bus
	ahead     atomic.Int64
	questions chan *nats.Msg // as they are written
}

func newStepping(t *testing.T) *stepping {
	t.Helper()
	s := &stepping{Bus: natstest.Start(t, natstest.Options{NoBroker: true}), questions: make(chan *nats.Msg, 100)}
	admin := s.Admin()
	if _, err := admin.ChanSubscribe(subject.OutAll("", "", subject.Question), s.questions); err != nil {
		t.Fatal(err)
	}
	if err := admin.Flush(); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stepping) broker(opts broker.Options) (br *broker.Broker, stop func()) {
	opts.Sweep = 20 * time.Millisecond
	return s.BrokerAhead(func() time.Duration { return time.Duration(s.ahead.Load()) }, opts)
}

// step waits until the question is written with so many steps.
func (s *stepping) step(t *testing.T, n int) ask.Escalated {
	t.Helper()
	for {
		select {
		case m := <-s.questions:
			k, _, _, ok := cloudevent.Republished(m)
			if !ok {
				continue
			}
			q, err := cloudevent.ReadAsked(m, k)
			if err != nil {
				t.Fatal(err)
			}
			if e := q.Escalated(); e != nil && len(e.Steps) >= n {
				return *e
			}
		case <-t.Context().Done():
			t.Fatalf("step %d is not taken", n)
		}
	}
}

func TestStepsAreTakenOnceByTwoBrokers(t *testing.T) {
	t.Parallel()
	s := newStepping(t)
	s.broker(broker.Options{})
	s.broker(broker.Options{})
	c, web := newClient(t, s.Bus, "s1"), newResponder(t, s.Bus, "web")
	const asks = 20
	for i := range asks {
		a := ladder("a" + string(rune('a'+i)))
		if _, err := c.Ask(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int{1, 2} {
		s.ahead.Add(int64(11 * time.Minute))
		got := map[string]int{}
		for len(got) < asks {
			select {
			case m := <-s.questions:
				k, _, _, _ := cloudevent.Republished(m)
				q, err := cloudevent.ReadAsked(m, k)
				if err != nil {
					t.Fatal(err)
				}
				if e := q.Escalated(); e != nil {
					if got[k.ID]++; got[k.ID] > 1 || len(e.Steps) != n || e.Steps[n-1].N != n {
						t.Fatalf("%s: %+v", k.ID, e)
					}
				}
			case <-t.Context().Done():
				t.Fatalf("%d of %d", len(got), asks)
			}
		}
	}
	// The agent is told in one sentence, and those who may decide since then do.
	rec, err := c.Get(t.Context(), "aa")
	if err != nil || len(rec.Escalated.Steps) != 2 || !strings.Contains(rec.Waits("", rec.Escalated.Steps[1].At), "told group oncall 0 s ago; no further step") {
		t.Errorf("%+v, %v", rec.Escalated, err)
	}
	k := ask.Key{Tenant: "acme", Session: "s1", ID: "aa"}
	if _, err := web.Answer(t.Context(), k, votes("x1", ask.By{Principal: "os:jo", Proof: ask.ProofOS}, true)); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("who was only told: %v", err)
	}
	o, err := web.Answer(t.Context(), k, votes("x2", ask.By{Principal: "os:ana", Groups: []string{"oncall"}, Proof: ask.ProofOS}, true))
	if err != nil || len(o.Escalated.Steps) != 2 || !slices.Equal(o.Ask.Audience, []string{"group:sre", "group:oncall"}) {
		t.Errorf("%+v, %v", o, err)
	}
	// Asking again finds the same ask, though its audience was widened.
	if st, err := c.Ask(t.Context(), ladder("ab")); err != nil || st.Created {
		t.Errorf("asked again: %+v, %v", st, err)
	}
}

func TestStepsAfterAnOutageAndAfterTheEnd(t *testing.T) {
	t.Parallel()
	s := newStepping(t)
	_, stop := s.broker(broker.Options{})
	c, web := newClient(t, s.Bus, "s1"), newResponder(t, s.Bus, "web")
	for _, id := range []string{"late", "ended"} {
		if _, err := c.Ask(t.Context(), ladder(id)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := web.Answer(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: "ended"}, votes("v1", ofSRE("mei"), true)); err != nil {
		t.Fatal(err)
	}
	stop()
	s.ahead.Add(int64(time.Hour)) // both steps would have been due
	s.broker(broker.Options{})
	first := s.step(t, 1)
	if len(first.Steps) != 1 {
		t.Errorf("at once: %+v", first)
	}
	s.ahead.Add(int64(10 * time.Minute))
	second := s.step(t, 2)
	if d := second.Steps[1].At.Sub(second.Steps[0].At); d < 10*time.Minute {
		t.Errorf("the second step came %s after the first", d)
	}
	rec, err := c.Get(t.Context(), "ended")
	if err != nil || rec.Escalated != nil || rec.Outcome.Escalated != nil {
		t.Errorf("after its end: %+v, %v", rec.Outcome, err)
	}
}

func TestWhoLooksPausesTheNextStep(t *testing.T) {
	t.Parallel()
	s := newStepping(t)
	s.broker(broker.Options{})
	c, web := newClient(t, s.Bus, "s1"), newResponder(t, s.Bus, "web")
	live := board.New(web, board.Options{})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = live.Run(ctx) })
	defer running.Wait()
	defer stop()
	drawn, unfollow := live.Changes(board.Filter{})
	defer unfollow()
	if _, err := c.Ask(t.Context(), ladder("a1")); err != nil {
		t.Fatal(err)
	}
	k := ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}
	for {
		heads, _ := live.Pending(board.Filter{}, 0, 10)
		if len(heads) == 1 && len(heads[0].Escalate) == 2 {
			if heads[0].Escalated != nil && len(heads[0].Escalated.Seen) == 1 {
				break
			}
			if err := live.Look(board.Viewer{By: ofSRE("mei")}, k, false); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case <-drawn:
		case <-t.Context().Done():
			t.Fatal("the board does not show who looks")
		}
	}
	s.ahead.Add(int64(11 * time.Minute)) // it waits once more
	rec, err := c.Get(t.Context(), "a1")
	if err != nil || len(rec.Escalated.Steps) != 0 || rec.Escalated.Seen[0].By.Principal != "os:mei" || rec.Escalated.Seen[0].By.Responder != "web" {
		t.Errorf("%+v, %v", rec.Escalated, err)
	}
	s.ahead.Add(int64(10 * time.Minute))
	s.step(t, 1)
}

// What an agent can do with its own credential about its ladder: nothing.
func TestAnAgentCannotMoveItsLadder(t *testing.T) {
	t.Parallel()
	s := newStepping(t)
	s.broker(broker.Options{})
	c := newClient(t, s.Bus, "s1")
	st, err := c.Ask(t.Context(), ladder("a1"))
	if err != nil {
		t.Fatal(err)
	}
	rec, err := c.Get(t.Context(), st.ID)
	if err != nil {
		t.Fatal(err)
	}
	k := ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}
	body, err := wire.Marshal(wire.Seen{By: ofSRE("mei"), Life: rec.Life})
	if err != nil {
		t.Fatal(err)
	}
	for name, role := range map[string]rights.Role{
		"an agent": {Name: rights.RoleAgent, Tenant: "acme", Session: "s1"},
		"a host":   {Name: rights.RoleHost, Tenant: "acme", Session: "s1"},
	} {
		nc := s.Connect(role)
		for _, at := range []string{subject.Agent(k, subject.VerbSeen), subject.Responder("web", subject.Self, k, subject.VerbSeen), subject.Responder(subject.TypeAgent, subject.Self, k, subject.VerbSeen)} {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			if _, err := connection.Do(ctx, connection.On(nc), &nats.Msg{Subject: at, Data: body}, 0); err == nil {
				t.Errorf("%s: %s is taken", name, at)
			}
			cancel()
		}
	}
	// A person who may not decide it and was not told does not pause it, either.
	web := newResponder(t, s.Bus, "web")
	eve, err := wire.Marshal(wire.Seen{By: ask.By{Principal: "os:eve", Proof: ask.ProofOS}, Life: rec.Life})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := connection.Do(t.Context(), connection.On(web.Conn()), &nats.Msg{Subject: subject.Responder("web", subject.Self, k, subject.VerbSeen), Data: eve}, 0); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("a stranger: %v", err)
	}
	if rec, err = c.Get(t.Context(), "a1"); err != nil || rec.Escalated != nil {
		t.Errorf("%+v, %v", rec.Escalated, err)
	}
}

func TestAnAgentIsToldWhoHearsNothing(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Broker: broker.Options{Types: []string{"slack"}}})
	c := newClient(t, b, "s1")
	a := ladder("a1")
	a.Escalate[0].Via, a.Escalate[1].Via = []string{"slack", "pager"}, []string{"pager", "phone"}
	a.Escalate[0].Tell = []string{"schedule:sre"}
	var st client.Asked
	for i := 0; ; i++ { // the broker makes the consumers of slack after its start
		var err error
		a.ID = "a" + string(rune('a'+i%26))
		if st, err = c.Ask(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if len(st.Warnings) == 2 || t.Context().Err() != nil {
			break
		}
	}
	if len(st.Warnings) != 2 || !strings.Contains(st.Warnings[0], `step 1 of escalate tells nobody as "schedule:sre": this bus has no such schedule`) || st.Warnings[1] != "nobody hears step 2 of escalate: no surface of this bus is pager or phone" {
		t.Errorf("%q", st.Warnings)
	}
}
