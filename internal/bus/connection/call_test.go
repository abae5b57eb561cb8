package connection_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// broker receives requests in place of a broker.
func broker(t *testing.T, b *natstest.Bus) (nc *nats.Conn, heard <-chan *nats.Msg) {
	t.Helper()
	nc = b.Admin()
	ch := make(chan *nats.Msg, 1024)
	if _, err := nc.ChanSubscribe("askv1.>", ch); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return nc, ch
}

// The reply is held for an hour. It is lost with its connection: the request is
// sent again after the reconnect, not an hour later.
func TestARequestWhoseConnectionWasLostIsSentAgain(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	_, heard := broker(t, b)
	line := b.Line()
	nc := line.Agent("acme", "s1")
	done := make(chan error, 1)
	go func() {
		_, err := connection.Do(t.Context(), connection.On(nc), &nats.Msg{Subject: "askv1.acme.s1.wait.a1"}, time.Hour)
		done <- err
	}()
	for range 5 {
		<-heard
		line.Cut()
	}
	if err := (<-heard).Respond([]byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A request that was abandoned while disconnected is not sent after the
// reconnect.
func TestNothingIsSentThatNobodyWaitsFor(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	_, heard := broker(t, b)
	line := b.Line()
	nc := line.Agent("acme", "s1")
	mend := line.Block()
	natstest.Eventually(t, "the connection is lost", nc.IsReconnecting)
	for i := range 100 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		_, err := connection.Do(ctx, connection.On(nc), &nats.Msg{Subject: fmt.Sprint("askv1.acme.s1.ask.stale", i)}, 0)
		if !errors.Is(err, ask.ErrUnavailable) {
			t.Errorf("stale%d: %v", i, err)
		}
		cancel()
	}
	fresh := make(chan error, 1)
	go func() {
		_, err := connection.Do(t.Context(), connection.On(nc), &nats.Msg{Subject: "askv1.acme.s1.ask.fresh"}, 0)
		fresh <- err
	}()
	mend()
	m := <-heard
	if m.Subject != "askv1.acme.s1.ask.fresh" {
		t.Errorf("%s was sent", m.Subject)
	}
	if err := m.Respond([]byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := <-fresh; err != nil {
		t.Error(err)
	}
}

func TestAClosedConnectionIsSaid(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	_, heard := broker(t, b)
	line := b.Line()
	for name, away := range map[string]bool{"on the way": false, "while it is away": true} {
		nc := line.Agent("acme", "s1")
		mend := func() {}
		if away {
			mend = line.Block()
			natstest.Eventually(t, "the connection is lost", nc.IsReconnecting)
		}
		done := make(chan error, 1)
		go func() {
			_, err := connection.Do(t.Context(), connection.On(nc), &nats.Msg{Subject: "askv1.acme.s1.wait.a1"}, time.Hour)
			done <- err
		}()
		if !away {
			<-heard
		}
		nc.Close()
		if err := <-done; !errors.Is(err, nats.ErrConnectionClosed) {
			t.Errorf("%s: %v", name, err)
		}
		mend()
	}
}

// Nothing goes on with a broker of another protocol number. One that says none is
// believed.
func TestABrokerOfAnotherProtocolNumberIsRefused(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	_, heard := broker(t, b)
	nc := b.Agent("acme", "s1")
	for said, refused := range map[string]bool{"": false, wire.ProtocolText(): false, "1": true, "x\n": true} {
		done := make(chan error, 1)
		go func() {
			_, err := connection.Do(t.Context(), connection.On(nc), &nats.Msg{Subject: "askv1.acme.s1.get.a1"}, 0)
			done <- err
		}()
		reply := nats.NewMsg("")
		if reply.Data = []byte("{}"); said != "" {
			reply.Header.Set(wire.HeaderProtocol, said)
		}
		if err := (<-heard).RespondMsg(reply); err != nil {
			t.Fatal(err)
		}
		err := <-done
		if !refused && err != nil || refused && (!errors.Is(err, connection.ErrProtocol) || !errors.Is(err, ask.ErrForbidden) || !strings.Contains(err.Error(), "this program speaks protocol "+wire.ProtocolText())) {
			t.Errorf("a broker that says %q: %v", said, err)
		}
	}
}
