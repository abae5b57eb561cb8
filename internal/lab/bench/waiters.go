package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// Waiters is the result for very many waiting agents.
type Waiters struct {
	Machine   Machine `json:"machine"`
	Agents    int     `json:"agents"`
	Heap      float64 `json:"server_heap_bytes_each"`
	Delivered int     `json:"delivered"`
	Twice     int     `json:"twice"`
	Seconds   float64 `json:"seconds"` // from the first outcome to the last delivery
}

// Write prints the report.
func (w Waiters) Write(out io.Writer) error {
	return lines(out, "machine", w.Machine, "waiting agents", w.Agents, "server heap each", fmt.Sprintf("%.0f B", w.Heap),
		"outcomes delivered", w.Delivered, "delivered twice", w.Twice, "all delivered in", fmt.Sprintf("%.2f s", w.Seconds))
}

// perConnection is how many waiting agents share a connection, as behind a gateway.
const perConnection = 1000

// MeasureWaiters starts a server process and has n agents wait, each with pkg/client's
// subscription. Then it publishes an outcome for each as the streams do, so that it measures the
// delivery: storing takes as long as the cycle's rate says.
func MeasureWaiters(ctx context.Context, program Program, dir string, n int, plan Plan) (w Waiters, err error) {
	plan.fill()
	p, err := startBare(ctx, program, dir)
	if err != nil {
		return w, err
	}
	defer p.end()
	bed, err := p.bed("bench")
	if err != nil {
		return w, err
	}
	defer bed.Close()
	w = Waiters{Machine: ThisMachine(), Agents: n}
	c := &counter{got: make([]atomic.Int32, n), left: make(chan struct{})}
	c.waiting.Store(int64(n))
	conns := make([]*nats.Conn, (n+perConnection-1)/perConnection)
	inboxes := make([]chan *nats.Msg, len(conns))
	for i := range conns {
		if conns[i], err = bed.open(rights.Role{Name: rights.RoleGateway}); err != nil {
			return w, err
		}
		inboxes[i] = make(chan *nats.Msg, 2*perConnection)
		go c.count(inboxes[i])
	}
	before, err := p.heap(ctx)
	if err != nil {
		return w, err
	}
	plan.Progress("agents begin to wait")
	for i := range n {
		nc := conns[i/perConnection]
		if _, err := nc.ChanSubscribe(outcomeOf(i, "*"), inboxes[i/perConnection]); err != nil {
			return w, err
		}
		// A million at once would keep the server from answering pings.
		if i == n-1 || (i+1)%perConnection == 0 {
			if err := nc.FlushTimeout(time.Minute); err != nil {
				return w, err
			}
		}
	}
	after, err := p.heap(ctx)
	if err != nil {
		return w, err
	}
	w.Heap = float64(after-before) / float64(n)
	plan.Progress("outcomes")
	from, err := bed.open(rights.Role{Name: rights.RoleLedgerAdmin})
	if err != nil {
		return w, err
	}
	began := time.Now()
	if err := publishOutcomes(from, n); err != nil {
		return w, err
	}
	select {
	case <-c.left:
	case <-time.After(time.Minute):
	case <-ctx.Done():
		return w, ctx.Err()
	}
	w.Seconds = time.Since(began).Seconds()
	if err := backoff.Sleep(ctx, time.Second); err != nil { // a second delivery would arrive by then
		return w, err
	}
	for i := range c.got {
		switch times := c.got[i].Load(); {
		case times > 1:
			w.Twice++
			fallthrough
		case times == 1:
			w.Delivered++
		}
	}
	return w, nil
}

// counter counts the outcomes of each agent.
type counter struct {
	got     []atomic.Int32
	waiting atomic.Int64
	left    chan struct{} // closed when every agent got an outcome
}

// count counts the outcomes that a connection receives, until the process ends.
func (c *counter) count(inbox <-chan *nats.Msg) {
	for m := range inbox {
		k, _, ok := subject.ParseOut(m.Subject)
		i, err := strconv.Atoi(strings.TrimPrefix(k.Session, "w"))
		if ok && err == nil && i < len(c.got) && c.got[i].Add(1) == 1 && c.waiting.Add(-1) == 0 {
			close(c.left)
		}
	}
}

// publishOutcomes publishes one outcome per agent, as a stream republishes it.
func publishOutcomes(nc *nats.Conn, n int) error {
	body := bytes.Repeat([]byte("x"), 1200)
	for i := range n {
		m := &nats.Msg{
			Subject: outcomeOf(i, "deploy"),
			Header: nats.Header{
				"Nats-Stream": {subject.Stream(0)}, "Nats-Subject": {subject.LedgerOutcome(0, ask.Key{Tenant: "bench", Session: "w" + strconv.Itoa(i), ID: "deploy"})},
				"Nats-Last-Sequence": {"0"}, "ce-type": {"dev.askbus.ask.resolved.v1"},
			}, Data: body,
		}
		if err := nc.PublishMsg(m); err != nil {
			return err
		}
	}
	return nc.FlushTimeout(time.Minute)
}

// outcomeOf returns the subject of the outcomes of an agent's ask.
func outcomeOf(agent int, id string) string {
	return fmt.Sprintf("%s.bench.w%d.%s.%s", subject.Out, agent, id, subject.Outcome)
}
