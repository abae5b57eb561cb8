package webhooks_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/webhooks"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

func TestAnAgentIsCalledBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	w.replica("callbacks:\n" + w.entry("builder"))
	k := w.ask("a1", "builder")
	w.answer(k)
	c := w.next()
	if o := c.outcome(t); c.path != "/builder" || c.Type != "dev.askbus.ask.resolved.v1" || o.AskID != "a1" || o.Session != "s1" || o.Status != ask.StatusAnswered || o.Answers[0].Selected[0] != "pg" || o.By.Name != "Mei" {
		t.Errorf("%s got %s", c.path, c.body)
	}
	if strings.Contains(string(c.body), "Which database") {
		t.Error("the outcome repeats the question")
	}
	o, err := w.asks.Wait(t.Context(), "a1") // it may wait as well
	if err != nil || o.Status != ask.StatusAnswered {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestEveryEndIsCalledBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	w.replica("callbacks:\n" + w.entry("builder"))
	w.ask("withdrawn", "builder")
	if _, err := w.asks.Withdraw(t.Context(), "withdrawn", "found it"); err != nil {
		t.Fatal(err)
	}
	if c := w.next(); c.outcome(t).Status != ask.StatusWithdrawn {
		t.Errorf("got %s", c.body)
	}
	due := database("expired")
	due.Callback, due.Timeout = "builder", time.Second
	w.put(due)
	if c := w.next(); c.outcome(t).Status != ask.StatusExpired {
		t.Errorf("got %s", c.body)
	}
}

func TestANameThatNobodyRegisteredIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	w.replica("callbacks:\n" + w.entry("builder") + strings.Replace(w.entry("other"), "acme", "umbrella", 1) + strings.Replace(w.entry("ci"), "{", "{ tokens: [abc],", 1))
	for name, want := range map[string]string{
		"nobody": "registered: builder", "other": "registered: builder", "ci": "registered: builder", "https://evil.example": "use 1 to 64",
	} {
		a := database("refused")
		a.Callback = name
		_, err := w.asks.Ask(t.Context(), a)
		e, ok := errors.AsType[*ask.Error](err)
		if !ok || e.Code != ask.CodeInvalid || len(e.Faults) != 1 || e.Faults[0].Pointer != "/callback" || !strings.Contains(e.Faults[0].Message, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What is stored keeps its callback, and asking it again is not refused.
	k := w.ask("a1", "builder")
	w.write("webhooks.yaml", "callbacks: []\n# changed\n")
	n := 1
	natstest.Eventually(t, "the name is gone", func() bool {
		n++
		a := database(fmt.Sprintf("a%d", n))
		a.Callback = "builder"
		_, err := w.asks.Ask(t.Context(), a)
		return errors.Is(err, ask.ErrInvalid)
	})
	if again := w.ask("a1", "builder"); again != k {
		t.Errorf("asked again it is %s", again)
	}
}

func TestAFailedDeliveryIsRepeatedWithItsID(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	w.replica("callbacks:\n" + w.entry("builder"))
	w.say("/builder", status(503))
	w.answer(w.ask("a1", "builder"))
	first := w.next()
	for i, wait := range []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute} {
		natstest.Eventually(t, "the delivery waits", func() bool {
			all := w.entries()
			return len(all) == 1 && all[0].Key.Name == "callback.builder.s1.a1" && strings.Contains(string(all[0].Value), fmt.Sprintf(`"failed":%d`, i+1)) && !strings.Contains(string(all[0].Value), "claim")
		})
		w.pass(wait + time.Second)
		if again := w.next(); again.id != first.id || string(again.body) != string(first.body) {
			t.Errorf("the repetition is %s %s, and the first was %s %s", again.id, again.body, first.id, first.body)
		}
	}
	w.say("/builder", nil)
	natstest.Eventually(t, "the delivery waits", func() bool {
		all := w.entries()
		return len(all) == 1 && strings.Contains(string(all[0].Value), `"failed":4`)
	})
	w.pass(2*time.Hour + time.Second)
	w.next()
	w.nothingLeft()
	if len(w.got) > 0 || w.failures() > 0 {
		t.Errorf("%d more calls, %d failures", len(w.got), w.failures())
	}
}

func TestADeliveryEndsWith410OrTheSchedule(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	w.replica("callbacks:\n" + w.entry("gone") + w.entry("down"))
	w.say("/gone", status(410))
	w.say("/down", status(500))
	w.answer(w.ask("a1", "gone"))
	w.next()
	natstest.Eventually(t, "410 ends it", func() bool { return w.failures() == 1 })
	w.answer(w.ask("a2", "down"))
	calls := 0
	natstest.Eventually(t, "the schedule ends", func() bool {
		select {
		case <-w.got:
			calls++
		default:
			w.passNext()
		}
		return w.failures() == 2
	})
	calls += len(w.got)
	if calls != 10 {
		t.Errorf("%d attempts", calls)
	}
	if f := w.failed[1]; f.Ask.ID != "a2" || f.Receiver != "callback down" || !strings.Contains(f.Why, "500") {
		t.Errorf("%+v", f)
	}
	natstest.Eventually(t, "what doctor reads is there", func() bool {
		return slices.Equal(slices.Sorted(slices.Values(w.waiting())), []string{"failed.callback.down", "failed.callback.gone"})
	})
}

func TestOver20kBOnlyIDAndLinkAreSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	w.replica("callbacks:\n" + w.entry("builder"))
	a := ask.Ask{ID: "big", Callback: "builder", Questions: []ask.Question{{ID: "why", Text: "Why?"}}}
	k := w.put(a)
	r := w.bus.Dialog("web").Responder
	if _, err := r.Answer(t.Context(), k, ask.Reply{By: ask.By{Principal: "os:mei", Proof: "local"}, Answers: []ask.Answer{{QuestionID: "why", Text: strings.Repeat("because ", 8000)}}}); err != nil {
		t.Fatal(err)
	}
	c := w.next()
	if want := `{"ask_id":"big","tenant":"acme","session":"s1","link":"https://bus.example.com/v1/asks/s1/big"}`; string(c.Data) != want {
		t.Errorf("got %.300s", c.Data)
	}
}

// One receiver hangs: the others get theirs, and it costs no more than its places.
func TestAReceiverThatHangsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	w.replica("callbacks:\n" + w.entry("stuck") + w.entry("quick"))
	let := make(chan struct{})
	var open atomic.Int32
	w.say("/stuck", func(_ http.ResponseWriter, r *http.Request) {
		if n := open.Add(1); n > 4 {
			t.Errorf("%d attempts at once at a receiver that hangs", n)
		}
		defer open.Add(-1)
		select {
		case <-let:
		case <-r.Context().Done():
		}
	})
	const n = 100 // more than the work under way at once
	var stuck []ask.Key
	for i := range n {
		stuck = append(stuck, w.ask(fmt.Sprintf("stuck-%d", i), "stuck"))
	}
	quick := w.ask("quick", "quick")
	for _, k := range stuck {
		w.answer(k)
	}
	w.answer(quick)
	seen := map[string]bool{}
	for c := w.next(); c.path != "/quick"; c = w.next() {
		seen[c.id] = true
	}
	close(let)
	for len(seen) < n {
		if c := w.next(); c.path == "/stuck" {
			seen[c.id] = true
		}
	}
	w.nothingLeft()
}

// Two replicas: each outcome is sent once, and the death of the one that sends loses none.
func TestTwoReplicasSendOnceAndOneMayDie(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	file := "callbacks:\n" + w.entry("builder")
	w.replica(file)
	dying := w.bus.Responder(webhooks.Type)
	w.start(dying, file)
	const n = 60
	var keys []ask.Key
	for i := range n {
		keys = append(keys, w.ask(fmt.Sprintf("a%d", i), "builder"))
	}
	for _, k := range keys {
		w.answer(k)
	}
	ids := map[string]int{}
	for len(ids) < n {
		c := w.next()
		ids[c.id]++
	}
	if len(w.got) > 0 {
		t.Errorf("%d outcomes were sent twice", len(w.got))
	}
	// Everything fails and waits in the bucket; then one replica is cut off as a killed one is.
	w.say("/builder", status(500))
	for i := range n {
		w.answer(w.ask(fmt.Sprintf("b%d", i), "builder"))
	}
	natstest.Eventually(t, "all wait", func() bool { return len(w.waiting()) == n })
	w.say("/builder", nil)
	dying.Close()
	clear(ids)
	natstest.Eventually(t, "all arrive", func() bool {
		w.pass(20 * time.Second)
		for len(w.got) > 0 {
			if c := <-w.got; strings.HasPrefix(c.outcome(t).AskID, "b") {
				ids[c.id]++
			}
		}
		return len(w.waiting()) == 0
	})
	if len(ids) != n {
		t.Errorf("%d of %d arrived", len(ids), n)
	}
}

func TestTwoThousandCallbacksLeaveNothing(t *testing.T) { // not parallel: it counts what is left
	w := newWorld(t, natstest.Options{Memory: true})
	w.replica("callbacks:\n" + w.entry("builder"))
	r := w.bus.Dialog("web").Responder
	w.bus.LeavesNothing(t, func(i int) error {
		a := database(fmt.Sprintf("a%d", i))
		a.Callback = "builder"
		st, err := w.asks.Ask(t.Context(), a)
		if err != nil {
			return err
		}
		if _, err := r.Answer(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: st.ID}, ask.Reply{By: ask.By{Principal: "os:mei", Proof: "local"}, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}}); err != nil {
			return err
		}
		w.next()
		return nil
	})
	if left := w.waiting(); len(left) > 0 {
		t.Errorf("%d deliveries are left", len(left))
	}
}
