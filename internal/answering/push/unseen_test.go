package push_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/push"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
)

// talk is a chat that notes which steps it tells.
type talk struct{ told chan told }

type told struct {
	id    string
	steps []ask.Step
}

func (talk) Present(_ context.Context, p responder.Post) ([]ask.Place, error) {
	return []ask.Place{{Ref: p.Key}}, nil
}
func (talk) Update(context.Context, responder.Ended) error { return nil }

func (talk) Find(context.Context, responder.Post) ([]ask.Place, error) { return nil, nil }

func (c talk) Escalate(_ context.Context, p responder.Post, _ ask.Record, steps []ask.Step, _ []ask.Place) ([]ask.Place, error) {
	c.told <- told{p.Ask.ID, steps}
	return nil, nil
}

// Whose phone shows nothing to anybody is told in the chat that they linked, once, by one of two replicas. Who saw it,
// and who has no chat, is not.
func TestAnUnseenNotificationIsToldInAChat(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	for range 2 {
		w.replicaOf(push.Options{Unseen: time.Second})
	}
	connect := func(typ string) *responder.Responder {
		r, err := responder.New(w.bus.Connect(rights.Role{Name: rights.RoleResponder, Type: typ}), typ, responder.Options{Logger: natstest.Logger()})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	web, chat, c := connect("web"), connect("telegram"), talk{make(chan told, 10)}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- chat.Serve(ctx, c, responder.ServeOptions{}) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	code, _, err := chat.Claim(t.Context(), ask.By{Principal: "telegram:4711", Name: "Mei", Proof: ask.ProofTelegram})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := web.Link(t.Context(), mei, code); err != nil {
		t.Fatal(err)
	}
	w.subscribe(mei, "a-phone")
	w.subscribe(mei, "b-laptop")
	w.subscribe(tom, "c-phone")
	seen := w.ask(database())
	w.phone.next(3)
	if err := board.LookFrom(web, mei, seen, false); err != nil {
		t.Fatal(err)
	}
	ended := w.ask(database())
	w.phone.next(3)
	w.answer(ended, "pg")
	ladder := database()
	ladder.Escalate = []ask.Escalation{{After: time.Hour}}
	w.ask(ladder)
	unseen := w.ask(database())
	got := <-c.told
	if len(got.steps) != 1 || got.id != unseen.ID || got.steps[0].N != 1 || !slices.Equal(got.steps[0].Tell, []string{"telegram:4711"}) || !slices.Equal(got.steps[0].Via, []string{"telegram"}) {
		t.Errorf("told %+v", got)
	}
	again := w.ask(database()) // everything before it was due before
	if got := <-c.told; got.id != again.ID {
		t.Errorf("told %+v", got)
	}
	if rec, err := w.asks.Get(t.Context(), seen.ID); err != nil || rec.Escalated != nil {
		t.Errorf("what Mei saw: %+v, %v", rec.Escalated, err)
	}
}

// Only push says that a notification was not seen.
func TestOnlyPushSaysWhatIsUnseen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natstest.Options{})
	k := w.ask(database())
	rec, err := w.asks.Get(t.Context(), k.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range []string{"web", "telegram", "push"} {
		r, err := responder.New(w.bus.Connect(rights.Role{Name: rights.RoleResponder, Type: typ}), typ, responder.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Unseen(t.Context(), k, rec.Life, []string{mei.Principal}); (err == nil) != (typ == "push") {
			t.Errorf("%s: %v", typ, err)
		}
	}
}
