package respondertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Screen is a live screen as people see it. All methods are called
// concurrently.
type Screen interface {
	// Type returns its responder type.
	Type() string
	// Run shows the bus until ctx ends. It is called once, before the other
	// methods.
	Run(ctx context.Context, r *responder.Responder) error
	// Waiting lists the pending asks that a person sees, in their order.
	Waiting(by ask.By) []ask.Key
	// Read returns what a person reads of an ask.
	Read(by ask.By, k ask.Key) Reading
	// Choose lets a person answer the only question of an earlier reading with
	// an option. It returns what the screen then tells that person.
	Choose(by ask.By, from Reading, option string) string
}

// Reading is an ask as a person reads it.
type Reading struct {
	Key  ask.Key
	Text string // without markup
	Open bool   // this person can answer here
	Ref  any    // what the screen needs to answer from it
}

// RunLive runs the suite on a live screen, but for the cases that it cannot
// have. newScreen returns a fresh one for each case.
func RunLive(t *testing.T, newScreen func(t *testing.T) Screen, without ...Without) {
	t.Helper()
	cases := map[string]func(*viewing){
		"shows pending asks, old and new":               (*viewing).shows,
		"removes ended asks, however they ended":        (*viewing).takesBack,
		"a late answer is told who was first":           (*viewing).late,
		"an answer given twice counts once":             (*viewing).twice,
		"an ask that ended while it was read is closed": (*viewing).endedWhileRead,
		"a person outside the audience":                 (*viewing).outsider,
		"every kind is drawn, and an unknown one read":  (*viewing).kinds,
		"very long and hostile text":                    (*viewing).hostile,
		"votes are shown, moved and counted":            (*viewing).votes,
		"recovers after the connection was cut":         (*viewing).reconnects,
		"recovers after the brokers were down":          (*viewing).brokerAway,
	}
	check(t, cases, without)
	for name, run := range cases {
		if left(t, without, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(newViewing(t, newScreen(t)))
		})
	}
}

// viewing is one case: a bus, an agent, another surface, and a screen.
type viewing struct {
	scene
	screen Screen
	line   *natstest.Line
	broker func() // stops it
}

var (
	ann = ask.By{Principal: "os:ann", Name: "Ann", Groups: []string{"platform"}, Proof: "local"}
	bob = ask.By{Principal: "os:bob", Name: "Bob", Proof: "local"}
)

func newViewing(t *testing.T, s Screen) *viewing {
	t.Helper()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	v := &viewing{scene: scene{t: t, bus: b}, screen: s, broker: b.Broker(broker.Options{}), line: b.Line()}
	c, err := client.New(b.Agent("acme", "s1"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	v.agent = c.Session("acme", "s1")
	v.other, _ = v.responder("elsewhere")
	return v
}

// run starts the screen.
func (v *viewing) run() {
	v.t.Helper()
	nc := v.line.Connect(rights.Role{Name: rights.RoleResponder, Type: v.screen.Type()})
	r, err := responder.New(nc, v.screen.Type(), responder.Options{Logger: natstest.Logger()})
	if err != nil {
		v.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(v.t.Context())
	done := make(chan error, 1)
	go func() { done <- v.screen.Run(ctx, r) }()
	v.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			v.t.Errorf("Run: %v", err)
		}
	})
}

// waiting waits until Ann sees exactly these asks.
func (v *viewing) waiting(ids ...string) {
	v.t.Helper()
	natstest.Eventually(v.t, fmt.Sprintf("%v wait", ids), func() bool {
		var got []string
		for _, k := range v.screen.Waiting(ann) {
			got = append(got, k.ID)
		}
		slices.Sort(got)
		return slices.Equal(got, ids)
	})
}

// read waits until an ask is open, or closed, to a person, and its text has
// these parts.
func (v *viewing) read(by ask.By, id string, open bool, parts ...string) (last Reading) {
	v.t.Helper()
	natstest.Eventually(v.t, fmt.Sprintf("%s reads %s with %q, open %v", by.Name, id, parts, open), func() bool {
		last = v.screen.Read(by, v.key(id))
		return last.Open == open && !slices.ContainsFunc(parts, func(p string) bool { return !contains(last.Text, p) })
	})
	return last
}

func (v *viewing) shows() {
	v.ask(ask.Ask{ID: "a1"})
	v.run()
	v.waiting("a1")
	v.ask(ask.Ask{ID: "a2", Title: "A second one", Priority: ask.PriorityUrgent})
	v.waiting("a1", "a2")
	if got := v.screen.Waiting(ann); got[0].ID != "a2" {
		v.t.Errorf("an urgent ask is not the first: %v", got)
	}
	from := v.read(ann, "a1", true, "Which database for a1?", "PostgreSQL", "SQLite")
	v.screen.Choose(ann, from, "pg")
	v.waiting("a2")
	v.read(ann, "a1", false, "PostgreSQL")
	rec, err := v.other.Get(v.t.Context(), v.key("a1"))
	if err != nil || rec.Outcome == nil || rec.Outcome.By.Principal != ann.Principal || rec.Outcome.By.Responder != v.screen.Type() {
		v.t.Errorf("the outcome is %+v, %v", rec.Outcome, err)
	}
}

func (v *viewing) takesBack() {
	v.run()
	operator, err := client.New(v.bus.Connect(rights.Role{Name: rights.RoleOperator}), client.Options{})
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(operator.Close)
	ends := map[string]func(id string) error{
		"answered": func(id string) error { v.elsewhere(id); return nil },
		"declined": func(id string) error {
			_, err := v.other.Cancel(v.t.Context(), v.key(id), responder.Decline{By: ask.By{Principal: "os:mei", Name: "Mei"}})
			return err
		},
		"withdrawn": func(id string) error { _, err := v.agent.Withdraw(v.t.Context(), id, ""); return err },
		"aborted": func(id string) error {
			_, err := operator.Session("acme", "s1").Abort(v.t.Context(), id, "")
			return err
		},
		"expired": func(string) error { return nil },
	}
	for name := range ends {
		a := ask.Ask{ID: name}
		if name == "expired" {
			a.Timeout = 2 * time.Second
		}
		v.ask(a)
	}
	for name, end := range ends {
		if name != "expired" {
			v.read(ann, name, true)
		}
		if err := end(name); err != nil {
			v.t.Fatal(name, err)
		}
	}
	v.waiting()
	for name := range ends {
		v.read(ann, name, false, "Which database for "+name)
	}
	v.read(ann, "answered", false, "SQLite", "Mei")
}

func (v *viewing) late() {
	v.ask(ask.Ask{ID: "a1"})
	v.run()
	from := v.read(ann, "a1", true)
	v.elsewhere("a1")
	if told := v.screen.Choose(ann, from, "pg"); !contains(told, "Mei") || !contains(told, "SQLite") {
		v.t.Errorf("told %q; want who was first, and what they said", told)
	}
	v.waiting()
}

func (v *viewing) twice() {
	v.ask(ask.Ask{ID: "a1"})
	v.run()
	from := v.read(ann, "a1", true)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { v.screen.Choose(ann, from, "pg") })
	}
	both.Wait()
	v.waiting()
	rec, err := v.other.Get(v.t.Context(), v.key("a1"))
	if err != nil || rec.Outcome == nil || rec.Outcome.Answers[0].Selected[0] != "pg" {
		v.t.Errorf("the outcome is %+v, %v", rec.Outcome, err)
	}
}

func (v *viewing) endedWhileRead() {
	v.run()
	v.ask(ask.Ask{ID: "a1"})
	v.read(ann, "a1", true)
	v.elsewhere("a1")
	v.read(ann, "a1", false, "Mei", "SQLite")
}

func (v *viewing) outsider() {
	v.run()
	v.ask(ask.Ask{ID: "a1", Audience: []string{"group:platform"}})
	mine := v.read(ann, "a1", true)
	v.read(bob, "a1", false, "Which database for a1?")
	forged := mine
	if told := v.screen.Choose(bob, forged, "pg"); told == "" {
		v.t.Error("the person got no message")
	}
	v.waiting("a1")
	v.screen.Choose(ann, mine, "pg")
	v.waiting()
}

func (v *viewing) kinds() {
	v.run()
	for i, q := range []ask.Question{
		{ID: "q", Kind: ask.KindText, Text: "Name it?"},
		{ID: "q", Kind: ask.KindNumber, Text: "How many?"},
		{ID: "q", Kind: ask.KindBoolean, Text: "Ready?"},
		{ID: "q", Kind: ask.KindDate, Text: "When?"},
		{ID: "q", Kind: ask.KindChoice, Multiple: true, Text: "Which ones?", Options: []ask.Option{{ID: "x", Label: "X"}, {ID: "y", Label: "Y"}}},
	} {
		id := fmt.Sprint("k", i)
		v.ask(ask.Ask{ID: id, Questions: []ask.Question{q}})
		v.read(ann, id, true, q.Text)
	}
	v.ask(ask.Ask{ID: "k9", Questions: []ask.Question{{ID: "q", Kind: ask.KindText, Text: "Something of a newer build?"}}})
	v.newer("k9")
	v.read(ann, "k9", true, "Something of a newer build?", "does not know")
}

// newer changes the stored question of an ask to an unknown kind.
func (v *viewing) newer(id string) {
	v.t.Helper()
	js, err := jetstream.New(v.bus.LedgerAdmin())
	if err != nil {
		v.t.Fatal(err)
	}
	for p := range 4 {
		stream, err := js.Stream(v.t.Context(), fmt.Sprintf("ASKS_%02d", p))
		if err != nil {
			v.t.Fatal(err)
		}
		m, err := stream.GetLastMsgForSubject(v.t.Context(), fmt.Sprintf("ledgerv1.%02d.acme.s1.%s.q", p, id))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			v.t.Fatal(err)
		}
		data := bytes.Replace(m.Data, []byte(`"kind":"text"`), []byte(`"kind":"rating"`), 1)
		header := nats.Header{}
		for name, values := range m.Header {
			if !strings.HasPrefix(name, "Nats-") {
				header[name] = values
			}
		}
		if _, err := js.PublishMsg(v.t.Context(), &nats.Msg{Subject: m.Subject, Header: header, Data: data}); err != nil {
			v.t.Fatal(err)
		}
		return
	}
	v.t.Fatalf("ask %s has no stored question", id)
}

func (v *viewing) hostile() {
	v.run()
	v.ask(ask.Ask{ID: "h1", Title: "\x1b]0;owned\x07 <script>alert(1)</script> \u202egpj", Context: longText, Questions: []ask.Question{{
		ID: "db", Kind: ask.KindChoice, Text: "<!channel> @everyone " + longText[:9000], Options: []ask.Option{
			{ID: "pg", Label: strings.Repeat("x", 500), Description: "[click](javascript:alert(1))"}, {ID: "lite", Label: "\u200fעברית \x1b[31mred"},
		},
	}}})
	r := v.read(ann, "h1", true, "<script>alert(1)</script>", "@everyone")
	if part := control(r.Text); part != "" {
		v.t.Errorf("a control character is shown: %q", part)
	}
	v.elsewhere("h1")
	v.read(ann, "h1", false, "Mei")
}

func (v *viewing) reconnects() {
	for i := range 10 {
		v.ask(ask.Ask{ID: fmt.Sprint("a", i)})
	}
	v.run()
	from := v.read(ann, "a9", true)
	mend := v.line.Block()
	for i := range 10 {
		v.elsewhere(fmt.Sprint("a", i))
	}
	v.ask(ask.Ask{ID: "b1"})
	if told := v.screen.Choose(ann, from, "pg"); told == "" {
		v.t.Error("a person who answers while the bus is down got no message")
	}
	mend()
	v.waiting("b1")
	v.read(ann, "a3", false, "Mei")
	v.screen.Choose(ann, v.read(ann, "b1", true), "pg")
	v.waiting()
}

func (v *viewing) brokerAway() {
	v.ask(ask.Ask{ID: "a1"})
	v.run()
	from := v.read(ann, "a1", true)
	v.broker()
	v.waiting("a1")
	v.broker = v.bus.Broker(broker.Options{})
	v.ask(ask.Ask{ID: "a2"})
	v.waiting("a1", "a2")
	v.screen.Choose(ann, from, "pg")
	v.waiting("a2")
}

// votes: two people decide, and each sees how far it is.
func (v *viewing) votes() {
	v.run()
	a := approval("v1")
	a.Approval.AnyOf[0].From = []string{ann.Principal, bob.Principal}
	v.ask(a)
	v.screen.Choose(ann, v.read(ann, "v1", true, "0 of 2 approvals"), "lite")
	v.screen.Choose(ann, v.read(ann, "v1", true, "1 of 2 denials", "you"), "pg") // moves it
	v.screen.Choose(bob, v.read(bob, "v1", true, "1 of 2 approvals", "Ann"), "pg")
	v.read(ann, "v1", false, "Approved", "Bob")
}
