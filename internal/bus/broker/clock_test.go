package broker_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go/jetstream"
)

// A broker on a machine with a wrong clock decides and dates like a correct
// one: by the server's clock.
func TestABrokersClockDecidesNothing(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]time.Duration{"an hour ahead": time.Hour, "two minutes ahead": 2 * time.Minute, "an hour behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := natstest.Start(t, natstest.Options{})
			c, r := newClient(t, b, "s1"), newResponder(t, b, "web")
			defaulted := storage()
			defaulted.AtDeadline, defaulted.Questions[0].Default = ask.AtDeadlineDefault, &ask.Answer{Selected: []string{"pg"}}
			ids := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
			put := func(prefix string) {
				for _, id := range ids { // by either broker
					a := defaulted
					a.ID, a.Timeout = prefix+id, 90*time.Second
					before := time.Now()
					st, err := c.Ask(t.Context(), a)
					if err != nil || st.State != ask.StatePending || st.Deadline.Before(before.Add(89*time.Second)) || st.Deadline.After(time.Now().Add(a.Timeout)) {
						t.Errorf("asked at %s: %+v, %v", before, st, err)
					}
				}
			}
			put("before-")
			b.BrokerWithClock(func() time.Time { return time.Now().Add(wrong) }) // it sweeps when it starts
			put("after-")
			for _, prefix := range []string{"before-", "after-"} {
				for _, id := range ids {
					if rec, err := c.Get(t.Context(), prefix+id); err != nil || rec.State != ask.StatePending {
						t.Errorf("%s%s: %+v, %v", prefix, id, rec, err)
					}
					o, err := r.Answer(t.Context(), keyOf(prefix+id), pick("lite"))
					if err != nil || o.Status != ask.StatusAnswered || o.Waited > 90*time.Second {
						t.Errorf("answered in time: %+v, %v", o, err)
						continue
					}
					rec, err := c.Get(t.Context(), prefix+id)
					stored := storedAt(t, b, prefix+id)
					if err != nil || o.At.After(stored) || o.At.Before(rec.AskedAt) || stored.Sub(o.At) > 40*time.Second {
						t.Errorf("asked %s, dated %s, stored %s: %v", rec.AskedAt, o.At, stored, err)
					}
				}
			}
		})
	}
}

// storedAt returns when the server stored an outcome.
func storedAt(t *testing.T, b *natstest.Bus, id string) time.Time {
	t.Helper()
	js, err := jetstream.New(b.LedgerAdmin())
	if err != nil {
		t.Fatal(err)
	}
	p := subject.Partition("acme", "s1", 4)
	s, err := js.Stream(t.Context(), subject.Stream(p))
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.GetMsg(t.Context(), 1, jetstream.WithGetMsgSubject(subject.LedgerOutcome(p, keyOf(id))))
	if err != nil {
		t.Fatal(err)
	}
	return m.Time
}

// A broker that cannot read the server's time is not ready, says why, and
// neither stores nor ends anything until it can.
func TestABrokerThatDoesNotKnowTheTimeIsNotReady(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	var mu sync.Mutex
	slow, n := false, 0
	br, _ := b.BrokerWithClock(func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		if !slow {
			return time.Now()
		}
		n++ // each probe takes three seconds
		return time.Now().Add(10_000*time.Second + time.Duration(n)*3*time.Second)
	})
	c, r := newClient(t, b, "s1"), newResponder(t, b, "web")
	a := storage()
	a.ID, a.Timeout = "a1", time.Hour
	if _, err := c.Ask(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	set := func(s bool) {
		mu.Lock()
		defer mu.Unlock()
		slow = s
	}
	await := func(ready bool) {
		t.Helper()
		natstest.Eventually(t, fmt.Sprint("ready is ", ready), func() bool { return br.Ready() == ready })
	}
	set(true)
	await(false)
	if err := br.Healthy(); err == nil || !strings.Contains(err.Error(), "clock is uncertain") {
		t.Errorf("why it is not ready: %v", err)
	}
	nc := plain(t, b, agent("s1"))
	if e := problem(t, request(t, nc, askSubject("s1", "a2"), nil, event(cloudevent.TypeAsked, "a2", askData("a2")))); e.Code != ask.CodeUnavailable {
		t.Errorf("a new ask: %v", e)
	}
	forgotten(t, b, "late")
	if rec, err := r.Get(t.Context(), keyOf("late")); err != nil || rec.State != ask.StatePending {
		t.Errorf("the ask ended anyway: %+v, %v", rec, err)
	}
	set(false)
	await(true)
	if rec, err := r.Get(t.Context(), keyOf("late")); err != nil || rec.State != ask.StateResolved {
		t.Errorf("when it knows the time again: %+v, %v", rec, err)
	}
	if o, err := r.Answer(t.Context(), keyOf("a1"), pick("pg")); err != nil || o.Status != ask.StatusAnswered {
		t.Errorf("%+v, %v", o, err)
	}
}
