package hook_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/natstest"
	"github.com/askbus/askbus/internal/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// screen is another surface, which answers.
type screen struct {
	t        *testing.T
	r        *responder.Responder
	pending  chan ask.Record
	resolved chan ask.Record
}

func newScreen(t *testing.T, bus *natstest.Bus) *screen {
	t.Helper()
	r, err := responder.New(bus.Responder("web"), "web", responder.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, r: r, pending: make(chan ask.Record, 10), resolved: make(chan ask.Record, 10)}
	synced := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := r.Watch(ctx, func(e responder.Event) {
			switch e.Kind {
			case responder.Pending:
				s.pending <- e.Record
			case responder.Resolved:
				s.resolved <- e.Record
			case responder.Synced:
				select {
				case synced <- struct{}{}:
				default:
				}
			case responder.Offline, responder.Reset, responder.Changed:
			}
		})
		if err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	<-synced
	return s
}

// decide decides the next ask as the conversation says.
func (s *screen) decide(what string) {
	s.t.Helper()
	rec := s.next(s.pending)
	by := ask.By{Principal: "slack:T01/U02", Name: "Mei", Proof: "slack-signature"}
	if reason, ok := strings.CutPrefix(what, "decline: "); ok {
		if _, err := s.r.Cancel(s.t.Context(), rec.Ask.Key(), responder.Decline{Reason: reason, By: by}); err != nil {
			s.t.Error(err)
		}
		return
	}
	reply := ask.Reply{By: by}
	if response, ok := strings.CutPrefix(what, "response: "); ok {
		reply.Response = response
	} else {
		for i, ids := range strings.Fields(what) {
			reply.Answers = append(reply.Answers, ask.Answer{QuestionID: rec.Ask.Questions[i].ID, Selected: strings.Split(ids, ",")})
		}
	}
	if _, err := s.r.Answer(s.t.Context(), rec.Ask.Key(), reply); err != nil {
		s.t.Error(err)
	}
}

// ended waits for the next outcome.
func (s *screen) ended() string {
	s.t.Helper()
	o := s.next(s.resolved).Outcome
	words := string(o.Status)
	for _, ans := range o.Answers {
		words += " " + o.Ask.Question(ans.QuestionID).Words(ans)
	}
	if o.Response != "" {
		words += " response: " + o.Response
	}
	if o.Reason != "" {
		words += " because: " + o.Reason
	}
	if o.By != nil {
		words += " by " + o.By.Principal + " on " + o.By.Responder + " (" + o.By.Proof + ")"
	}
	return words
}

func (s *screen) next(from chan ask.Record) ask.Record {
	s.t.Helper()
	select {
	case rec := <-from:
		return rec
	case <-time.After(waittest.Limit):
		s.t.Fatal("the screen got no event")
		return ask.Record{}
	}
}
