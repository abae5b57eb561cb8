package natstest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// Screen is a person at a screen. The test reads the screen's events.
type Screen struct {
	*responder.Responder
	Events <-chan board.Event

	t testing.TB
}

// Whole returns the text of the one file of an ask.
func (s *Screen) Whole(a *ask.Ask) string {
	s.t.Helper()
	if len(a.Files) != 1 {
		s.t.Fatalf("the ask has the files %v", a.Files)
	}
	_, data, err := s.File(s.t.Context(), a.Key().InSession(), a.Files[0].ID)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

// Screen starts a screen of the type web, which ends with the test, and returns when it is in step
// with the bus.
func (b *Bus) Screen() *Screen {
	b.t.Helper()
	return b.ScreenOn(b.Responder("web"))
}

// ScreenOn is Screen on another connection.
func (b *Bus) ScreenOn(nc *nats.Conn) *Screen {
	b.t.Helper()
	r, err := responder.New(nc, "web", responder.Options{Logger: Logger()})
	if err != nil {
		b.t.Fatal(err)
	}
	events := make(chan board.Event, 100)
	s := &Screen{Responder: r, Events: events, t: b.t}
	ctx, cancel := context.WithCancel(b.t.Context())
	synced, done := make(chan struct{}), make(chan struct{})
	isSynced := sync.OnceFunc(func() { close(synced) })
	go func() {
		defer close(done)
		if err := board.Watch(ctx, s.Responder, func(e board.Event) {
			select {
			case events <- e:
			case <-ctx.Done():
			}
			if e.Kind == board.Synced {
				isSynced()
			}
		}); err != nil {
			b.t.Error(err)
		}
	}()
	b.t.Cleanup(func() { cancel(); <-done })
	select {
	case <-synced:
	case <-time.After(waittest.Limit):
		b.t.Fatal("the screen is not in step with the bus")
	}
	return s
}

// Next waits for the next event of a kind. It drops the events before it.
func (s *Screen) Next(kind board.EventKind) ask.Record {
	s.t.Helper()
	limit := time.After(waittest.Limit)
	for {
		select {
		case e := <-s.Events:
			if e.Kind == kind {
				return e.Record
			}
		case <-limit:
			s.t.Fatalf("the screen got no event of kind %d", kind)
		}
	}
}

// Choose answers every question of an ask with the same option.
func (s *Screen) Choose(rec ask.Record, option string) {
	s.t.Helper()
	reply := ask.Reply{By: ask.By{Principal: "os:mei", Name: "Mei", Proof: "local"}}
	for _, q := range rec.Ask.Questions {
		reply.Answers = append(reply.Answers, ask.Answer{QuestionID: q.ID, Selected: []string{option}})
	}
	if _, err := s.Answer(context.WithoutCancel(s.t.Context()), rec.Ask.Key(), reply); err != nil {
		s.t.Error(err)
	}
}

// Dialog answers as the dialog of an agent's host does.
type Dialog struct{ *responder.Responder }

// Dialog returns the dialog of a responder type.
func (b *Bus) Dialog(typ string) Dialog {
	b.t.Helper()
	r, err := responder.New(b.Responder(typ), typ, responder.Options{Logger: Logger()})
	if err != nil {
		b.t.Fatal(err)
	}
	return Dialog{r}
}

// Decline declines an ask.
func (d Dialog) Decline(ctx context.Context, k ask.Key, r ask.Reply, reason string) (ask.Outcome, error) {
	return d.Cancel(ctx, k, responder.Decline{AnswerID: r.AnswerID, Reason: reason, By: r.By})
}

// Opener opens sessions on one connection, or fails with Err.
type Opener struct {
	Conn *nats.Conn
	Err  error
}

// Open opens a session.
func (o Opener) Open(_ context.Context, tenant, session string) (client.Session, error) {
	if o.Err != nil {
		return client.Session{}, o.Err
	}
	c, err := client.New(o.Conn, client.Options{Logger: Logger()})
	if err != nil {
		return client.Session{}, err
	}
	return c.Session(tenant, session), nil
}
