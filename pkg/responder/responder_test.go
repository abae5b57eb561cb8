package responder_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

func question(id string) ask.Ask {
	return ask.Ask{ID: id, Questions: []ask.Question{{ID: "db", Text: "Which?", Options: []ask.Option{{ID: "pg", Label: "P"}, {ID: "lite", Label: "L"}}}}}
}

func mei() ask.By { return ask.By{Principal: "os:mei", Name: "Mei"} }

func pick() ask.Reply {
	return ask.Reply{Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}, By: mei()}
}

func agent(t testing.TB, b *natstest.Bus, tenant, session string) client.Session {
	t.Helper()
	c, err := client.New(b.Agent(tenant, session), client.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	return c.Session(tenant, session)
}

func surface(t testing.TB, b *natstest.Bus, opts responder.Options) *responder.Responder {
	t.Helper()
	nc := b.Connect(rights.Role{Name: rights.RoleResponder, Type: "web", Tenant: opts.Tenant, Session: opts.Session})
	opts.Logger = natstest.Logger()
	r, err := responder.New(nc, "web", opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func ask1(t testing.TB, c client.Session, id string) {
	t.Helper()
	if _, err := c.Ask(t.Context(), question(id)); err != nil {
		t.Fatalf("ask %s: %v", id, err)
	}
}

func TestAnswerCancelAndReceipt(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c, r := agent(t, b, "acme", "s1"), surface(t, b, responder.Options{})
	key := func(id string) ask.Key { return ask.Key{Tenant: "acme", Session: "s1", ID: id} }
	ask1(t, c, "a1")
	ask1(t, c, "a2")
	rec, err := r.Get(t.Context(), key("a1"))
	if err != nil || rec.State != ask.StatePending || rec.Seq == 0 {
		t.Fatalf("%+v, %v", rec, err)
	}
	if err := r.Receipt(t.Context(), key("a1"), ask.Receipt{Type: "forged", State: ask.ReceiptPosted, Life: rec.Life, Places: []ask.Place{{Where: "https://x/y"}}, At: time.Unix(1, 0)}); err != nil {
		t.Fatal(err)
	}
	if rec, err = r.Get(t.Context(), key("a1")); err != nil || len(rec.Receipts) != 1 || rec.Receipts[0].Type != "web" || rec.Receipts[0].Words() != "https://x/y" || rec.Receipts[0].At.Year() < 2020 {
		t.Errorf("%+v, %v", rec.Receipts, err)
	}
	if err := r.Receipt(t.Context(), key("a1"), ask.Receipt{State: ask.ReceiptPosted, Life: rec.Life + "x"}); !errors.Is(err, ask.ErrInvalid) {
		t.Errorf("a receipt of another life: %v", err)
	}
	o, err := r.Cancel(t.Context(), key("a1"), responder.Decline{Reason: "not now", By: mei()})
	if err != nil || o.Status != ask.StatusCancelled || o.Reason != "not now" || len(o.AnswerID) != 26 {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := r.Cancel(t.Context(), key("a1"), responder.Decline{By: mei()}); !errors.Is(err, ask.ErrResolved) {
		t.Errorf("declined again: %v", err)
	}
	if again, err := r.Cancel(t.Context(), key("a1"), responder.Decline{AnswerID: o.AnswerID, By: mei()}); err != nil || again.Reason != "not now" {
		t.Errorf("the same again: %+v, %v", again, err)
	}
	wrong := pick()
	wrong.Answers[0].Selected = []string{"oracle"}
	_, err = r.Answer(t.Context(), key("a2"), wrong)
	if e, ok := errors.AsType[*ask.Error](err); !ok || !errors.Is(err, ask.ErrInvalid) || e.Faults[0].QuestionID != "db" {
		t.Errorf("a wrong answer: %v", err)
	}
	if _, err := r.Answer(t.Context(), key("a2"), pick()); err != nil {
		t.Error(err)
	}
	for _, k := range []ask.Key{{}, {Tenant: "*", Session: "s1", ID: "a"}, {Tenant: "acme", Session: "s1", ID: "a.b"}} {
		if _, err := r.Answer(t.Context(), k, pick()); !errors.Is(err, ask.ErrInvalid) {
			t.Errorf("%v: %v", k, err)
		}
		if _, err := r.Get(t.Context(), k); !errors.Is(err, ask.ErrInvalid) {
			t.Errorf("%v: %v", k, err)
		}
		if err := r.Receipt(t.Context(), k, ask.Receipt{}); !errors.Is(err, ask.ErrInvalid) {
			t.Errorf("%v: %v", k, err)
		}
	}
	if _, err := r.Get(t.Context(), key("nobody")); !errors.Is(err, ask.ErrNotFound) {
		t.Error(err)
	}
	n := 0
	for _, err := range r.All(t.Context(), responder.Query{State: ask.StateResolved, PageSize: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d have ended", n)
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	nc := b.Responder("web")
	for name, v := range map[string]struct {
		typ  string
		opts responder.Options
	}{
		"no type": {"", responder.Options{}}, "a type with a dot": {"a.b", responder.Options{}}, "a wildcard": {"*", responder.Options{}},
		"a tenant with a dot": {"web", responder.Options{Tenant: "a.b"}}, "a session alone": {"web", responder.Options{Session: "s1"}},
		"a session too long": {"web", responder.Options{Tenant: "acme", Session: strings.Repeat("x", 65)}},
	} {
		if _, err := responder.New(nc, v.typ, v.opts); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, err := responder.New(nil, "web", responder.Options{}); err == nil {
		t.Error("a nil connection was accepted")
	}
}

// nowhere is a presenter whose foreign service accepts everything and shows
// nothing.
type nowhere struct{}

func (nowhere) Present(context.Context, responder.Post) ([]ask.Place, error) {
	return []ask.Place{{Where: "nowhere"}}, nil
}
func (nowhere) Update(context.Context, responder.Ended) error             { return nil }
func (nowhere) Find(context.Context, responder.Post) ([]ask.Place, error) { return nil, nil }

// TestTwoThousandItemsLeaveNothing is not parallel, and neither are its
// subtests: they count goroutines and subscriptions of the process.
func TestTwoThousandItemsLeaveNothing(t *testing.T) {
	b := natstest.Start(t, natstest.Options{Memory: true})
	c := agent(t, b, "acme", "s1")
	r, err := responder.New(b.Responder("chat"), "chat", responder.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	// Stopping waits for a reply in flight, so here one use is one item.
	opts := responder.WorkOptions{Concurrency: 32, Grace: time.Second}
	for name, run := range map[string]func(context.Context) error{
		"Work": func(ctx context.Context) error {
			return r.Work(ctx, func(context.Context, responder.Item) error { return nil }, opts)
		},
		"Serve": func(ctx context.Context) error {
			return r.Serve(ctx, nowhere{}, responder.ServeOptions{Every: time.Nanosecond, Burst: 1 << 20, WorkOptions: opts})
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- run(ctx) }()
			defer func() {
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			}()
			b.LeavesNothing(t, func(i int) error {
				id := fmt.Sprint(name, i)
				if _, err := c.Ask(t.Context(), question(id)); err != nil {
					return err
				}
				_, err := c.Withdraw(t.Context(), id, "")
				return err
			})
		})
	}
}
