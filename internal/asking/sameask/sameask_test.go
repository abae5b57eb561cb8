package sameask_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/asking/sameask"
	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

// fixture is a bus with two entrances, a person, and a clock that the test advances.
type fixture struct {
	t      *testing.T
	bus    *natstest.Bus
	people *responder.Responder
	one    client.Session
	two    client.Session
	ahead  atomic.Int64
	stop   func() // the broker
}

func start(t *testing.T) *fixture {
	t.Helper()
	return startOn(t, natstest.Start(t, natstest.Options{NoBroker: true}))
}

func startOn(t *testing.T, bus *natstest.Bus) *fixture {
	t.Helper()
	f := &fixture{t: t, bus: bus}
	f.stop = f.broker()
	f.one, f.two = f.session("s1"), f.session("s1")
	var err error
	if f.people, err = responder.New(bus.Responder("web"), "web", responder.Options{}); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) broker() (stop func()) {
	f.t.Helper()
	_, stop = f.bus.BrokerAhead(func() time.Duration { return time.Duration(f.ahead.Load()) }, broker.Options{})
	return stop
}

// session connects another entrance.
func (f *fixture) session(name string) client.Session {
	f.t.Helper()
	c, err := client.New(f.bus.Agent("acme", name), client.Options{Logger: natstest.Logger()})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(c.Close)
	return c.Session("acme", name)
}

func (f *fixture) ask(s client.Session, from sameask.Origin, a ask.Ask) client.Asked {
	f.t.Helper()
	st, err := sameask.Ask(f.t.Context(), s, &a, from)
	if err != nil || st.ID != a.ID {
		f.t.Fatalf("ask: %+v, %v", st, err)
	}
	return st
}

func (f *fixture) answers(id string) {
	f.t.Helper()
	by := ask.By{Principal: "os:mei", Name: "Mei", Proof: "test"}
	if _, err := f.people.Answer(f.t.Context(), key(id), ask.Reply{Answers: []ask.Answer{{QuestionID: "go", Selected: []string{"yes"}}}, By: by}); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) delivered(s client.Session, id string) {
	f.t.Helper()
	if err := sameask.Delivered(f.t.Context(), s, id); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) later(d time.Duration) { f.ahead.Add(int64(d)) }

func key(id string) ask.Key { return ask.Key{Tenant: "acme", Session: "s1", ID: id} }

func deploy() ask.Ask {
	a := ask.Ask{Tenant: "acme", Session: "s1", Questions: []ask.Question{{
		ID: "go", Text: "Deploy to production?", Options: []ask.Option{{ID: "yes", Label: "Yes"}, {ID: "no", Label: "No"}},
	}}}
	a.Normalize()
	return a
}

func TestTheSameAskWithoutAnID(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		between func(f *fixture, id string)
		same    bool // the repeated ask is the first one
		outcome bool // and has ended
	}{
		"while it is open":                        {same: true, between: func(*fixture, string) {}},
		"open for a week":                         {same: true, between: func(f *fixture, _ string) { f.later(7 * 24 * time.Hour) }},
		"answered, and not known to be delivered": {same: true, outcome: true, between: func(f *fixture, id string) { f.answers(id); f.later(119 * time.Second) }},
		"answered more than two minutes ago":      {between: func(f *fixture, id string) { f.answers(id); f.later(121 * time.Second) }},
		"answered ten minutes ago":                {between: func(f *fixture, id string) { f.answers(id); f.later(10 * time.Minute) }},
		"answered and delivered":                  {between: func(f *fixture, id string) { f.answers(id); f.delivered(f.two, id) }},
		"delivered, then a broker is started": {between: func(f *fixture, id string) {
			f.answers(id)
			f.delivered(f.two, id)
			f.broker()
		}},
		"expired": {between: func(f *fixture, _ string) { f.later(31 * 24 * time.Hour) }},
		"withdrawn": {between: func(f *fixture, id string) {
			if _, err := f.two.Withdraw(f.t.Context(), id, ""); err != nil {
				f.t.Fatal(err)
			}
		}},
		"aborted": {between: func(f *fixture, id string) {
			c, err := client.New(f.bus.Connect(rights.Role{Name: rights.RoleOperator}), client.Options{})
			if err != nil {
				f.t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.Session("acme", "s1").Abort(f.t.Context(), id, ""); err != nil {
				f.t.Fatal(err)
			}
		}},
		"declined": {between: func(f *fixture, id string) {
			if _, err := f.people.Cancel(f.t.Context(), key(id), responder.Decline{By: ask.By{Principal: "os:mei", Proof: "test"}}); err != nil {
				f.t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			first := f.ask(f.one, sameask.Origin{}, deploy())
			c.between(f, first.ID)
			again := f.ask(f.two, sameask.Origin{}, deploy())
			if (again.ID == first.ID) != c.same || (again.Outcome != nil) != c.outcome || again.Created == c.same {
				t.Errorf("asked %+v, and again %+v", first, again)
			}
		})
	}
}

// An ask that expires with declared defaults was decided by nobody.
func TestADefaultIsNotRepeated(t *testing.T) {
	t.Parallel()
	f := start(t)
	a := deploy()
	a.AtDeadline, a.Questions[0].Default, a.Timeout = ask.AtDeadlineDefault, &ask.Answer{QuestionID: "go", Selected: []string{"yes"}}, time.Minute
	first := f.ask(f.one, sameask.Origin{}, a)
	f.later(61*time.Second + 3*time.Second)
	if again := f.ask(f.two, sameask.Origin{}, a); again.ID == first.ID || again.Outcome != nil {
		t.Errorf("asked %+v, and again %+v", first, again)
	}
}

// Two entrances that ask at the same moment ask once, through two brokers.
func TestTwoAtTheSameMomentAskOnce(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.broker()
	for round := range 20 {
		a := deploy()
		a.Title = fmt.Sprint("round ", round)
		var all sync.WaitGroup
		ids := make([]string, 8)
		for i := range ids {
			all.Go(func() {
				own := a
				if _, err := sameask.Ask(t.Context(), []client.Session{f.one, f.two}[i%2], &own, sameask.Origin{}); err != nil {
					t.Error(err)
				}
				ids[i] = own.ID
			})
		}
		all.Wait()
		for _, id := range ids {
			if id != ids[0] {
				t.Fatalf("they asked as %v", ids)
			}
		}
		f.answers(ids[0])
		f.delivered(f.one, ids[0])
	}
}

func TestWhatADeliveryIsSurvivesARestart(t *testing.T) {
	t.Parallel()
	bus := natstest.Start(t, natstest.Options{NoBroker: true})
	f := startOn(t, bus)
	a, b := deploy(), deploy()
	b.Title = "not delivered"
	first, second := f.ask(f.one, sameask.Origin{}, a), f.ask(f.one, sameask.Origin{}, b)
	f.answers(first.ID)
	f.answers(second.ID)
	f.delivered(f.two, first.ID)
	f.stop()
	bus.Close()
	f = startOn(t, natstest.Again(t, bus.Dir))
	if again := f.ask(f.one, sameask.Origin{}, a); again.ID == first.ID || again.Outcome != nil {
		t.Errorf("delivered: %+v", again)
	}
	if again := f.ask(f.one, sameask.Origin{}, b); again.ID != second.ID || again.Outcome == nil {
		t.Errorf("not delivered: %+v", again)
	}
}

func TestAnIDThatAModelNumbers(t *testing.T) {
	t.Parallel()
	f := start(t)
	call := func(id, run string) sameask.Origin { return sameask.Origin{Call: id, Run: run} }
	first := f.ask(f.one, call("call_0", "run-1"), deploy())
	f.answers(first.ID)
	f.later(10 * time.Minute)
	if again := f.ask(f.two, call("call_0", "run-1"), deploy()); again.ID != first.ID || again.Outcome == nil {
		t.Errorf("the same call: %+v", again)
	}
	if again := f.ask(f.two, call("call_0", "run-2"), deploy()); again.ID == first.ID || again.Outcome != nil {
		t.Errorf("another run: %+v", again)
	}
	other := deploy()
	other.Title = "another question"
	if again := f.ask(f.two, call("call_0", "run-1"), other); again.ID == first.ID || again.Outcome != nil {
		t.Errorf("another content: %+v", again)
	}
	// A host that does not name its run: the rule of asks without an id.
	unknown := f.ask(f.one, call("call_0", ""), deploy())
	if again := f.ask(f.two, call("call_0", ""), deploy()); again.ID != unknown.ID {
		t.Errorf("the same call of an unknown run: %+v", again)
	}
	if again := f.ask(f.two, call("call_1", ""), deploy()); again.ID == unknown.ID {
		t.Errorf("another call of an unknown run: %+v", again)
	}
	f.answers(unknown.ID)
	f.delivered(f.one, unknown.ID)
	if again := f.ask(f.two, call("call_0", ""), deploy()); again.ID == unknown.ID || again.Outcome != nil {
		t.Errorf("the same number in another run: %+v", again)
	}
}

func TestAPermissionIsForOneCall(t *testing.T) {
	t.Parallel()
	f := start(t)
	call := func(id, dir, agent string) sameask.Origin {
		return sameask.Origin{Call: id, Place: []string{dir, agent}, Permission: true}
	}
	first := f.ask(f.one, call("c1", "/work", ""), deploy())
	if again := f.ask(f.two, call("c1", "/work", ""), deploy()); again.ID != first.ID {
		t.Errorf("the same call: %+v", again)
	}
	for name, other := range map[string]sameask.Origin{
		"another call": call("c2", "/work", ""), "another directory": call("c1", "/", ""), "a subagent": call("c1", "/work", "sub"),
		"a subagent with the directory's name": call("c1", "", "/work"), "no call": call("", "/work", ""),
	} {
		if again := f.ask(f.two, other, deploy()); again.ID == first.ID {
			t.Errorf("%s: %+v", name, again)
		}
	}
	if one, two := f.ask(f.one, call("", "/work", ""), deploy()), f.ask(f.two, call("", "/work", ""), deploy()); one.ID == two.ID {
		t.Error("two permissions without a call's id are one")
	}
}

func TestTheClientsOwnIDIsItsPromise(t *testing.T) {
	t.Parallel()
	f := start(t)
	a := deploy()
	a.ID = "mine"
	f.ask(f.one, sameask.Origin{}, a)
	f.answers("mine")
	f.delivered(f.one, "mine")
	f.later(10 * time.Minute)
	if again := f.ask(f.two, sameask.Origin{}, a); again.ID != "mine" || again.Outcome == nil {
		t.Errorf("asked again: %+v", again)
	}
	if n := len(f.repeats()); n != 0 {
		t.Errorf("an ask with an id left %d entries", n)
	}
}

// The records expire.
func TestTwoThousandRepeatsLeaveNothing(t *testing.T) {
	t.Parallel()
	f := startOn(t, natstest.Start(t, natstest.Options{NoBroker: true, Memory: true}))
	var all sync.WaitGroup
	ids := make(chan int)
	for range 16 {
		all.Go(func() {
			for i := range ids {
				a := deploy()
				a.Title, a.Timeout = fmt.Sprint(i), time.Minute
				if _, err := sameask.Ask(t.Context(), f.one, &a, sameask.Origin{}); err != nil {
					t.Error(err)
				}
				if i%2 == 0 {
					continue // its outcome is never fetched
				}
				if err := sameask.Delivered(t.Context(), f.one, a.ID); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range natstest.Uses {
		ids <- i
	}
	close(ids)
	all.Wait()
	f.later(4 * time.Minute)
	if n := len(f.repeats()); n != 0 {
		t.Errorf("%d records are left", n)
	}
}

// repeats returns the live records of the bucket.
func (f *fixture) repeats() []state.Entry {
	f.t.Helper()
	entries, err := state.Open(f.bus.Connect(rights.Role{Name: rights.RoleOperator}), state.Operator(), "repeats").List(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	return entries
}

func TestTakeCall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ id, call, want, left string }{
		"no id":                 {},
		"the call's id":         {id: "call_0", call: "call_0", want: "call_0"},
		"as a token":            {id: ask.Token("call 0"), call: "call 0", want: "call 0"},
		"only the call has one": {call: "call_0", want: "call_0"},
		"the client's own":      {id: "mine", left: "mine"},
		"both":                  {id: "mine", call: "call_0", left: "mine"},
	} {
		a := ask.Ask{ID: c.id, Metadata: map[string]any{}}
		if c.call != "" {
			a.Metadata[ask.MetadataCall] = c.call
		}
		if got := sameask.TakeCall(&a); got != c.want || a.ID != c.left {
			t.Errorf("%s: %q, left %q", name, got, a.ID)
		}
	}
}

func TestARepeatKeyIsChecked(t *testing.T) {
	t.Parallel()
	f := start(t)
	const k = "q-0123456789abcdef0123"
	for _, bad := range []client.Repeat{{Key: "x", ID: "x-1"}, {Key: k, ID: "a.b"}, {Key: k, ID: strings.Replace(k, "0", "1", 1) + "-1"}} {
		if id, err := f.one.Repeat(t.Context(), bad); err == nil || !strings.Contains(err.Error(), "repeat key") {
			t.Errorf("%+v: %q, %v", bad, id, err)
		}
	}
	if err := f.one.Delivered(t.Context(), "mine"); err == nil {
		t.Error("an id without a repeat key is delivered")
	}
}
