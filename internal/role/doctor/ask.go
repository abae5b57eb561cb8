package doctor

import (
	"context"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/process/finding"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// doctorSession is the session of the test ask.
const doctorSession = "doctor"

// askLimit bounds the test ask.
const askLimit = 15 * time.Second

// testAsk asks and answers a test ask. Only it is in the audience, the priority is low, and the ask
// expires by itself.
func testAsk(ctx context.Context, nc *nats.Conn, tenant string) finding.List {
	var l finding.List
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	began := time.Now()
	failed := func(step string, err error) finding.List {
		l.Say("test ask", finding.Broken, "%s failed after %s: %v", step, time.Since(began).Round(time.Millisecond), err)
		return l
	}
	c, err := client.New(nc, client.Options{})
	if err != nil {
		return failed("the client", err)
	}
	defer c.Close()
	r, err := responder.New(nc, subject.TypeOperator, responder.Options{})
	if err != nil {
		return failed("the responder", err)
	}
	user, _, err := connection.On(nc).Sender()
	if err != nil {
		return failed("reading the credential", err)
	}
	s := c.Session(tenant, doctorSession)
	asked, err := s.AskToWait(ctx, ask.Ask{
		Title: "askbus doctor", Agent: ask.Agent{Name: "askbus doctor"}, Priority: ask.PriorityLow, Audience: []string{assertion.OwnName(user)}, Timeout: time.Minute,
		Questions: []ask.Question{{ID: "ok", Kind: ask.KindBoolean, Text: "Does askbus work? (A check; it answers itself.)"}},
	})
	if err != nil {
		return failed("asking", err)
	}
	stored := time.Since(began)
	ended := make(chan error, 1)
	go func() {
		_, err := asked.Wait(ctx)
		ended <- err
	}()
	yes := true
	if _, err := r.Answer(ctx, ask.Key{Tenant: tenant, Session: doctorSession, ID: asked.ID}, ask.Reply{Answers: []ask.Answer{{QuestionID: "ok", Boolean: &yes}}}); err != nil {
		_, _ = s.Withdraw(ctx, asked.ID, "askbus doctor could not answer it")
		return failed("answering", err)
	}
	if err := <-ended; err != nil {
		return failed("learning the outcome", err)
	}
	l.Say("test ask", finding.Good, "stored after %s, answered, and the outcome received, after %s", stored.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	if len(asked.Present) > 0 {
		l.Say("people", finding.Good, "present: %s", strings.Join(asked.Present, ", "))
	} else {
		l.Say("people", finding.Missing, "nobody is at a live screen right now; posting surfaces such as Slack need nobody there")
	}
	return l
}
