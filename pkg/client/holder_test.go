package client_test

import (
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
)

// The regular check comes after 30 s. A wait asks another broker as soon as the
// one that holds its ask is gone.
func TestABrokerThatIsGoneIsNoticedWithinSeconds(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	stop := b.Broker(broker.Options{})
	c, err := client.New(b.Agent("acme", "s1"), client.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	c.AliveEvery(50 * time.Millisecond)
	heard := make(chan string, 100)
	if _, err := b.Admin().Subscribe(subject.Agents+".acme.s1.>", func(m *nats.Msg) { heard <- m.Subject }); err != nil {
		t.Fatal(err)
	}
	s := c.Session("acme", "s1")
	if _, err := s.Ask(t.Context(), ask.Ask{ID: "a1", Timeout: time.Hour, Questions: []ask.Question{{Text: "Shall we?"}}}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { _, err := s.Wait(t.Context(), "a1"); done <- err }()
	await := func(verb string) {
		t.Helper()
		for end := time.After(waittest.Limit); ; {
			select {
			case got := <-heard:
				if strings.Contains(got, verb) {
					return
				}
			case <-end:
				t.Fatalf("no %s within %s", verb, waittest.Limit)
			}
		}
	}
	await(".wait.")
	await(".alive.")
	b.Broker(broker.Options{})
	stop()
	await(".wait.")
	if _, err := s.Withdraw(t.Context(), "a1", ""); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
