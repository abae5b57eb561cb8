package hook_test

import (
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
)

// screen is another surface, which answers. It keeps the events that the test has not asked for.
type screen struct {
	*natstest.Screen
	t    *testing.T
	kept map[board.EventKind][]ask.Record
}

func newScreen(t *testing.T, bus *natstest.Bus) *screen {
	t.Helper()
	return &screen{bus.Screen(), t, map[board.EventKind][]ask.Record{}}
}

// decide decides the next ask as the conversation says.
func (s *screen) decide(what string) {
	s.t.Helper()
	rec := s.next(board.Pending)
	by := ask.By{Principal: "slack:T01/U02", Name: "Mei", Proof: "slack-signature"}
	if reason, ok := strings.CutPrefix(what, "decline: "); ok {
		if _, err := s.Cancel(s.t.Context(), rec.Ask.Key(), responder.Decline{Reason: reason, By: by}); err != nil {
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
	if _, err := s.Answer(s.t.Context(), rec.Ask.Key(), reply); err != nil {
		s.t.Error(err)
	}
}

// ended waits for the next outcome.
func (s *screen) ended() string {
	s.t.Helper()
	o := s.next(board.Resolved).Outcome
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

// next returns the first event of a kind that was not returned yet.
func (s *screen) next(kind board.EventKind) ask.Record {
	s.t.Helper()
	for len(s.kept[kind]) == 0 {
		select {
		case e := <-s.Events:
			s.kept[e.Kind] = append(s.kept[e.Kind], e.Record)
		case <-time.After(waittest.Limit):
			s.t.Fatalf("the screen got no event of kind %d", kind)
		}
	}
	rec := s.kept[kind][0]
	s.kept[kind] = s.kept[kind][1:]
	return rec
}
