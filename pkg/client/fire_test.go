package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/broker"
	"github.com/askbus/askbus/internal/ledger"
	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/internal/natstest"
	"github.com/askbus/askbus/internal/sabotage"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

func textual(id string, timeout time.Duration) ask.Ask {
	return ask.Ask{ID: id, Timeout: timeout, Questions: []ask.Question{{ID: "q", Kind: ask.KindText, Text: "What now?"}}}
}

// fire is a bus, an agent of it and somebody who answers.
type fire struct {
	*natstest.Bus
	agent *client.Client
	web   *responder.Responder
}

func underFire(t *testing.T, opts natstest.Options, nc func(*natstest.Bus) *nats.Conn) *fire {
	t.Helper()
	f := &fire{Bus: natstest.Start(t, opts)}
	conn := f.Agent("acme", "s1")
	if nc != nil {
		conn = nc(f.Bus)
	}
	var err error
	if f.agent, err = client.New(conn, "acme", "s1", client.Options{Logger: natstest.Logger()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.agent.Close() })
	if f.web, err = responder.New(f.Responder("web"), "web", responder.Options{Logger: natstest.Logger()}); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fire) ask(t *testing.T, id string, timeout time.Duration) {
	t.Helper()
	if _, err := f.agent.Ask(t.Context(), textual(id, timeout)); err != nil {
		t.Fatal(err)
	}
}

func (f *fire) answer(t *testing.T, id string) {
	t.Helper()
	_, err := f.web.Answer(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: id}, ask.Reply{
		By: ask.By{Principal: "os:mei"}, Answers: []ask.Answer{{QuestionID: "q", Text: "this"}},
	})
	if err != nil {
		t.Errorf("answer %s: %v", id, err)
	}
}

// storm is a way to a server that can be cut.
type storm struct {
	ln   net.Listener
	to   string
	mu   sync.Mutex
	open map[net.Conn]bool
}

func newStorm(t *testing.T, to string) *storm {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &storm{ln: ln, to: to, open: map[net.Conn]bool{}}
	var done sync.WaitGroup
	done.Go(func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			for from, to := range map[net.Conn]net.Conn{in: out, out: in} {
				s.mu.Lock()
				s.open[from] = true
				s.mu.Unlock()
				done.Go(func() {
					_, _ = io.Copy(to, from)
					from.Close()
					to.Close()
					s.mu.Lock()
					delete(s.open, from)
					s.mu.Unlock()
				})
			}
		}
	})
	t.Cleanup(func() { ln.Close(); s.cut(); done.Wait() })
	return s
}

func (s *storm) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		c.Close()
	}
}

// settles waits until there are no more goroutines than before.
func settles(t *testing.T, before int) {
	t.Helper()
	for t.Context().Err() == nil && runtime.NumGoroutine() > before {
		runtime.Gosched()
	}
}

func TestTenThousandWaitsInAReconnectStorm(t *testing.T) {
	const asks = 100
	waits := 100
	if raced {
		waits = 10
	}
	var s *storm
	hits := make(chan struct{}, 64)
	f := underFire(t, natstest.Options{}, func(b *natstest.Bus) *nats.Conn {
		s = newStorm(t, b.Addr())
		cred, err := b.Key().Credential("nats://"+s.ln.Addr().String(), natsd.Role{Name: natsd.RoleAgent, Tenant: "acme", Session: "s1"})
		if err != nil {
			t.Fatal(err)
		}
		nc, err := client.Connect(client.Credential{URL: cred.URL, User: cred.User, Password: cred.Password, InboxPrefix: cred.InboxPrefix}, nil,
			nats.ReconnectWait(time.Millisecond), nats.ReconnectJitter(0, 0), nats.ReconnectHandler(func(*nats.Conn) {
				select {
				case hits <- struct{}{}:
				default:
				}
			}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		return nc
	})
	for i := range asks {
		f.ask(t, fmt.Sprintf("a%d", i), time.Hour)
	}
	before := runtime.NumGoroutine()
	var all sync.WaitGroup
	for i := range asks * waits {
		all.Go(func() {
			o, err := f.agent.Wait(t.Context(), fmt.Sprintf("a%d", i%asks))
			if err != nil || o.Status != ask.StatusAnswered {
				t.Errorf("wait %d: %v %v", i, o.Status, err)
			}
		})
	}
	for range 10 { // as soon as it is back, it is cut again
		s.cut()
		<-hits
	}
	for i := range asks {
		f.answer(t, fmt.Sprintf("a%d", i))
		if i%20 == 19 {
			s.cut()
			<-hits
		}
	}
	all.Wait()
	settles(t, before+2) // the client's own watch of its connection stays until Close
}

func TestABrokerThatIsGoneIsWaitedFor(t *testing.T) {
	t.Parallel()
	f := underFire(t, natstest.Options{NoBroker: true}, nil)
	stop := f.Broker(broker.Options{})
	f.ask(t, "by-the-server", time.Second)
	f.ask(t, "later", time.Hour)
	stop()
	// Nobody is there at the deadline but the server.
	if o, err := f.agent.Wait(t.Context(), "by-the-server"); err != nil || o.Status != ask.StatusExpired {
		t.Fatalf("%v %v", o.Status, err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := f.agent.Wait(t.Context(), "later")
		done <- err
	}()
	f.Broker(broker.Options{})
	f.answer(t, "later")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestAContextEndsEveryPhase(t *testing.T) {
	t.Parallel()
	f := underFire(t, natstest.Options{}, nil)
	gone := underFire(t, natstest.Options{NoBroker: true}, nil)
	f.ask(t, "a1", time.Hour)
	phases := map[string]func(ctx context.Context) error{
		"asking, no broker":      func(ctx context.Context) error { _, err := gone.agent.Ask(ctx, textual("x", time.Hour)); return err },
		"reading, no broker":     func(ctx context.Context) error { _, err := gone.agent.Get(ctx, "x"); return err },
		"withdrawing, no broker": func(ctx context.Context) error { _, err := gone.agent.Withdraw(ctx, "x", ""); return err },
		"listing, no broker":     func(ctx context.Context) error { _, err := gone.agent.List(ctx, client.Query{}); return err },
		"waiting, no broker":     func(ctx context.Context) error { _, err := gone.agent.Wait(ctx, "x"); return err },
		"waiting for an outcome": func(ctx context.Context) error { _, err := f.agent.Wait(ctx, "a1"); return err },
	}
	for name, phase := range phases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, early := range []bool{true, false} {
				ctx, cancel := context.WithCancel(t.Context())
				if early {
					cancel()
				} else {
					time.AfterFunc(50*time.Millisecond, cancel)
				}
				if err := phase(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("early %t: %v", early, err)
				}
				cancel()
			}
		})
	}
	// What was given up is still pending, and can be picked up.
	t.Cleanup(func() {
		if rec, err := f.agent.Get(context.WithoutCancel(t.Context()), "a1"); err != nil || rec.State != ask.StatePending {
			t.Errorf("%s %v", rec.State, err)
		}
	})
}

func TestCloseEndsWaits(t *testing.T) {
	t.Parallel()
	f := underFire(t, natstest.Options{}, nil)
	f.ask(t, "a1", time.Hour)
	done := make(chan error, 1)
	go func() {
		_, err := f.agent.Wait(t.Context(), "a1")
		done <- err
	}()
	if err := f.agent.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, client.ErrClosed) {
		t.Fatal(err)
	}
}

// An outcome whose republished message never comes is found by asking, soon
// after the deadline at the latest.
func TestAnOutcomeMissedOnTheWireIsFound(t *testing.T) {
	t.Parallel()
	f := underFire(t, natstest.Options{Ledger: ledger.Options{Sabotage: sabotage.NoNotice}}, nil)
	f.ask(t, "a1", 2*time.Second)
	done := make(chan error, 1)
	go func() {
		o, err := f.agent.Wait(t.Context(), "a1")
		if err == nil && o.Status != ask.StatusAnswered {
			err = fmt.Errorf("status %s", o.Status)
		}
		done <- err
	}()
	f.answer(t, "a1")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
