package client_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
)

// flood publishes outcomes of an unknown ask to the session, a megabyte each,
// and then small ones to fill the rest of the queue.
func (f *fixture) flood(t *testing.T, megabytes int) {
	t.Helper()
	admin := f.Admin()
	data := make([]byte, 1<<20-1024)
	for i := range megabytes + 4096 {
		if i == megabytes {
			data = data[:512]
		}
		if err := admin.Publish("outv1.acme.s1.nobody.o", data); err != nil {
			t.Fatal(err)
		}
	}
	if err := admin.Flush(); err != nil {
		t.Fatal(err)
	}
}

// expectOutcomes waits for the waits' outcomes, which must not come from the regular
// check: that is an hour away.
func expectOutcomes(t *testing.T, all ...<-chan waited) {
	t.Helper()
	for i, got := range all {
		select {
		case w := <-got:
			if w.err != nil || w.o.Status != ask.StatusAnswered {
				t.Errorf("wait %d: %s %v", i, w.o.Status, w.err)
			}
		case <-time.After(waittest.Limit):
			t.Fatalf("wait %d got no outcome", i)
		}
	}
}

// blockedLog is a log handler that blocks.
type blockedLog struct {
	slog.Handler
	blocked, read chan struct{}
	once          *sync.Once
}

func (s blockedLog) Enabled(context.Context, slog.Level) bool { return true }

func (s blockedLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "cannot read a republished outcome; asking for it instead" {
		s.once.Do(func() { close(s.blocked) })
		<-s.read
	}
	return nil
}

// An agent that reads no messages because its log blocks still learns the
// outcomes that did not fit: NATS drops them, and the client asks for them.
func TestOutcomesThatDidNotFitAreAskedFor(t *testing.T) {
	t.Parallel()
	log := blockedLog{slog.DiscardHandler, make(chan struct{}), make(chan struct{}), &sync.Once{}}
	f := newFixture(t, natstest.Options{})
	nc := f.Agent("acme", "s1")
	shared := clientOn(t, nc, client.Options{Logger: slog.New(log)})
	shared.CheckEvery(time.Hour)
	c := shared.Session("acme", "s1")
	t.Cleanup(func() { close(log.read) })
	const n = 20
	var all []<-chan waited
	for i := range n {
		id := fmt.Sprint("a", i)
		if _, err := c.Ask(t.Context(), textual(id, time.Hour)); err != nil {
			t.Fatal(err)
		}
		all = append(all, wait(t.Context(), c, id))
	}
	natstest.Eventually(t, "all wait", func() bool { waits, _, _ := shared.Held(); return waits == n })
	if err := f.Admin().PublishMsg(&nats.Msg{Subject: "outv1.acme.s1.a0.o", Header: nats.Header{"Nats-Last-Sequence": {"0"}, "Nats-Stream": {"ASKS_00"}, "Nats-Subject": {"ledgerv1.00.acme.s1.a0.o"}}, Data: []byte("no outcome")}); err != nil {
		t.Fatal(err)
	}
	<-log.blocked
	f.flood(t, 80)
	for i := range n {
		f.answer(t, fmt.Sprint("a", i))
	}
	expectOutcomes(t, all...)
}

// A server disconnects slow readers. The client asks for what it missed.
func TestAClientThatTheServerCutsOffForBeingSlowIsTold(t *testing.T) {
	t.Parallel()
	f, line := newCuttableFixture(t, natstest.Options{})
	f.client.CheckEvery(time.Hour)
	const n = 20
	var all []<-chan waited
	for i := range n {
		f.ask(t, fmt.Sprint("a", i), time.Hour)
		all = append(all, wait(t.Context(), f.agent, fmt.Sprint("a", i)))
	}
	resume := line.Stall()
	f.flood(t, 120) // the server keeps 64 of them
	for i := range n {
		f.answer(t, fmt.Sprint("a", i))
	}
	resume()
	<-line.Back()
	expectOutcomes(t, all...)
}
