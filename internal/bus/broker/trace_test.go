package broker_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// An agent's traceparent is the parent of every span until its ask is shown;
// the answer is another trace, and each links to the other. An end by the
// server's timer has a span as well.
func TestATraceFromAskToOutcome(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(spans))
	b := natstest.Start(t, natstest.Options{Broker: broker.Options{Tracing: provider}})
	c, err := client.New(b.Agent("acme", "s1"), client.Options{TracerProvider: provider})
	if err != nil {
		t.Fatal(err)
	}
	r, err := responder.New(b.Responder("chat"), "chat", responder.Options{TracerProvider: provider})
	if err != nil {
		t.Fatal(err)
	}
	working, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	seen := make(chan responder.Item, 10)
	go func() {
		done <- r.Work(working, func(ctx context.Context, it responder.Item) error {
			if it.Outcome == nil {
				if err := r.Receipt(ctx, it.Key, ask.Receipt{Life: it.Life, State: ask.ReceiptPosted}); err != nil {
					return err
				}
			}
			seen <- it
			return nil
		}, responder.WorkOptions{})
	}()
	const agents, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	ctx := client.WithTrace(t.Context(), parent)
	s := c.Session("acme", "s1")
	for _, id := range []string{"answered", "late"} {
		a := storage()
		if a.ID = id; id == "late" {
			a.Timeout = time.Second
		}
		if _, err := s.Ask(ctx, a); err != nil {
			t.Fatal(err)
		}
	}
	<-seen
	<-seen
	if _, err := r.Answer(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: "answered"}, pick("pg")); err != nil {
		t.Fatal(err)
	}
	if o, err := s.Wait(ctx, "answered"); err != nil || o.Status != ask.StatusAnswered {
		t.Fatal(o, err)
	}
	find := func(name, trace string) sdk.ReadOnlySpan {
		for _, s := range spans.Ended() {
			if s.Name() == "askbus "+name && (trace == "" || s.SpanContext().TraceID().String() == trace) {
				return s
			}
		}
		return nil
	}
	for _, name := range []string{"ask", "broker ask", "present", "broker receipt", "outcome answered", "outcome expired", "told answered"} {
		natstest.Eventually(t, name+" in the agent's trace", func() bool { return find(name, agents) != nil })
	}
	natstest.Eventually(t, "the retraction", func() bool { return find("retract", "") != nil })
	answer := find("broker answer", "")
	if answer == nil || answer.SpanContext().TraceID().String() == agents || len(answer.Links()) != 1 || answer.Links()[0].SpanContext.TraceID().String() != agents {
		t.Errorf("the answer is a trace of its own that links to the ask: %+v", answer)
	}
	if out := find("outcome answered", agents); len(out.Links()) != 1 || out.Links()[0].SpanContext.TraceID() != answer.SpanContext().TraceID() {
		t.Errorf("the outcome links to the answer: %+v", out.Links())
	}
	if find("answer", "").SpanContext().TraceID() != answer.SpanContext().TraceID() {
		t.Error("the surface's answer and the broker's are one trace")
	}
	if re := find("retract", ""); len(re.Links()) != 1 || re.SpanContext().TraceID().String() == agents {
		t.Errorf("the retraction links to the ask: %+v", re)
	}

	// Without a trace of the agent's, the whole ask is one all the same.
	asked, err := s.AskToWait(t.Context(), ask.Ask{ID: "untraced", Questions: storage().Questions})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Answer(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: "untraced"}, pick("pg")); err != nil {
		t.Fatal(err)
	}
	if _, err := asked.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	of := func(name string) string {
		for _, s := range spans.Ended() {
			if s.Name() == "askbus "+name && slices.Contains(s.Attributes(), attribute.String("askbus.ask_id", "untraced")) {
				return s.SpanContext().TraceID().String()
			}
		}
		return name + " has no span"
	}
	if told := of("told answered"); told != of("ask") {
		t.Errorf("the outcome is told in the trace %s, and the ask's is %s", told, of("ask"))
	}
	stop()
	<-done
}
