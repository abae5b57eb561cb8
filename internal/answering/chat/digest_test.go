package chat_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

// poster posts digests, and nothing else.
type poster struct {
	mu    sync.Mutex
	fails []error // of the next calls
	keys  []string
	last  *chat.Digest
}

func (p *poster) Present(context.Context, responder.Post) ([]ask.Place, error) {
	return []ask.Place{{Ref: "m1"}}, nil
}
func (p *poster) Update(context.Context, responder.Ended) error { return nil }
func (p *poster) Find(context.Context, responder.Post) ([]ask.Place, error) {
	return nil, nil
}

func (p *poster) Digest(_ context.Context, d *chat.Digest) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.fails) > 0 {
		err := p.fails[0]
		if p.fails = p.fails[1:]; err != nil {
			return err
		}
	}
	p.keys, p.last = append(p.keys, d.Key), d
	return nil
}

func (p *poster) posted() ([]string, *chat.Digest) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keys, p.last
}

// weekWorld is a bus with replicas that post a digest.
type weekWorld struct {
	*chattest.World
	poster
	clock  *chattest.Clock
	at     time.Time // when the next digest is due
	routes chat.Routes
	place  string
}

func newWeekWorld(t *testing.T) *weekWorld {
	t.Helper()
	now := time.Now().UTC()
	return &weekWorld{
		World: chattest.New(t), clock: chattest.NewClock(now), at: now.Truncate(time.Minute).Add(2 * time.Hour), routes: chat.Routes{Default: chat.Target{Channel: "C1"}},
	}
}

// replica runs one until stop is called. It returns after the replica has looked whether a digest is due.
func (w *weekWorld) replica() (stop func()) {
	w.T.Helper()
	o := chat.Options{Routes: w.routes, Digest: w.at.Format("Monday 15:04"), DigestPlace: w.place, Clock: w.clock, Logger: natstest.Logger()}
	s, err := chat.NewSurface("chat", w.Responder("chat"), o, chat.IDs{})
	if err != nil {
		w.T.Fatal(err)
	}
	looked := w.looked()
	limiter := responder.NewLimiter(w.clock, func(string) responder.Pace { return responder.Pace{} })
	stop = w.Run(func(ctx context.Context) error {
		return s.Serve(ctx, &w.poster, limiter, "account", responder.ServeOptions{})
	})
	w.look(looked + 1)
	return stop
}

// looked returns how often replicas have looked.
func (w *weekWorld) looked() int {
	n := 0
	for d := time.Minute; d <= 30*time.Minute; d += time.Minute {
		n += w.clock.Slept(d)
	}
	return n
}

func (w *weekWorld) look(times int) {
	w.T.Helper()
	natstest.Eventually(w.T, "the replicas look", func() bool { return w.looked() >= times })
}

// move moves the time, and waits until some replicas have looked.
func (w *weekWorld) move(to time.Time, replicas int) {
	w.T.Helper()
	looked := w.looked()
	w.clock.Set(to)
	w.look(looked + replicas)
}

func (w *weekWorld) expect(what string, digests int) {
	w.T.Helper()
	if keys, _ := w.posted(); len(keys) != digests {
		w.T.Errorf("%s: %v", what, keys)
	}
}

func TestOneReplicaPostsTheDigest(t *testing.T) {
	t.Parallel()
	w := newWeekWorld(t)
	stops := []func(){w.replica(), w.replica()}
	w.expect("before it is due", 0)
	w.move(w.at.Add(time.Minute), 2)
	w.expect("when it is due", 1)
	for _, stop := range stops {
		stop()
	}
	stop := w.replica()
	w.expect("after a restart", 1)
	w.move(w.at.Add(time.Hour), 1)
	w.expect("later", 1)
	stop()

	next := w.at.AddDate(0, 0, 7)
	w.clock.Set(next.Add(23 * time.Hour))
	stop = w.replica()
	w.expect("after an outage of less than a day", 2)
	stop()
	w.clock.Set(next.AddDate(0, 0, 7).Add(25 * time.Hour))
	stop = w.replica()
	w.expect("after an outage of more than a day", 2)
	stop()
	if keys, _ := w.posted(); keys[0] == keys[1] {
		t.Error(keys)
	}
}

func TestADigestThatWasRefusedIsPostedLater(t *testing.T) {
	t.Parallel()
	w := newWeekWorld(t)
	w.fails = []error{errors.New("no such channel"), &responder.RetryError{After: time.Second, Err: errors.New("429")}}
	w.clock.Set(w.at.Add(time.Minute))
	w.replica()
	w.expect("refused", 0)
	w.move(w.at.Add(10*time.Minute), 1)
	w.expect("refused again", 0)
	for _, d := range []time.Duration{2 * time.Minute, 4 * time.Minute} { // each pause is longer
		if n := w.clock.Slept(d); n != 1 {
			t.Errorf("%d pauses of %s", n, d)
		}
	}
	w.move(w.at.Add(20*time.Minute), 1)
	w.expect("then", 1)
}

func TestADigestWithoutAReplyIsNotPostedAgain(t *testing.T) {
	t.Parallel()
	w := newWeekWorld(t)
	w.fails = []error{&url.Error{Op: "Post", URL: "…", Err: context.DeadlineExceeded}}
	w.clock.Set(w.at.Add(time.Minute))
	w.replica()
	w.replica()
	w.move(w.at.Add(10*time.Minute), 2)
	w.expect("nobody knows", 0)
}

func TestWhatADigestSays(t *testing.T) {
	t.Parallel()
	w := newWeekWorld(t)
	w.routes.Default.Language = "zh"
	w.Ask(chattest.Choice("a1", "Which database?"))
	if _, err := w.Other.Answer(t.Context(), chattest.Key("a1"), ask.Reply{By: ask.By{Principal: "os:mei", Name: "Mei\n@all"}, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}}); err != nil {
		t.Fatal(err)
	}
	w.Ask(chattest.Choice("a2", "Which one?"))
	w.clock.Set(w.at.Add(time.Minute))
	w.replica()
	_, d := w.posted()
	if d == nil || d.To.Channel != "C1" {
		t.Fatalf("%+v", d)
	}
	english := strings.Join(d.Lines("en"), "\n")
	for _, words := range []string{"askbus, " + w.at.AddDate(0, 0, -7).Format("Monday, 2 January 2006") + " to ", "Questions asked: 2 (the week before: 0)", "Answered by people: 1 (the week before: 0)", "Who answered\n• Mei @all: 1 answered, half within ", "• everybody: waited ", ", 2 asked, 1 answered"} {
		if !strings.Contains(english, words) {
			t.Errorf("no %q in\n%s", words, english)
		}
	}
	if chinese := strings.Join(d.Lines(""), "\n"); !strings.Contains(chinese, "提问数：2（前一周：0）") {
		t.Errorf("%s", chinese)
	}
}

// Several tenants have their totals, and no names; one with a place of its own is not counted.
func TestADigestOfSeveralTenants(t *testing.T) {
	t.Parallel()
	w := newWeekWorld(t)
	w.routes.Rules = []chat.Rule{{Match: chat.Match{Tenant: "secret"}, To: chat.Target{Channel: "C2"}}}
	for _, tenant := range []string{"acme", "beta", "secret"} {
		c, err := client.New(w.Bus.Agent(tenant, "s1"), client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		a := chattest.Choice("a1", "Which database?")
		a.Agent.Name = "builder of " + tenant
		if _, err := c.Session(tenant, "s1").Ask(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	w.clock.Set(w.at.Add(time.Minute))
	w.replica()
	_, d := w.posted()
	if d == nil {
		t.Fatal("none")
	}
	text := strings.Join(d.Lines(""), "\n")
	if !strings.Contains(text, "Questions asked: 2 ") || !strings.Contains(text, "Tenants\n• acme: waited ") || !strings.Contains(text, "• beta: waited ") || strings.Contains(text, "secret") || strings.Contains(text, "builder") {
		t.Errorf("%s", text)
	}
}
