package prompt_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/prompt"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/askbus/askbus/pkg/responder/respondertest"
)

// lineScreen is the prompt on a real bus, as "askbus answer" runs it.
type lineScreen struct {
	t      *testing.T
	r      *responder.Responder
	queue  *board.Board
	synced chan struct{}
}

func TestThePromptIsALiveScreen(t *testing.T) {
	t.Parallel()
	respondertest.RunLive(t, func(t *testing.T) respondertest.Screen {
		t.Helper()
		return &lineScreen{t: t, synced: make(chan struct{})}
	})
}

func (*lineScreen) Type() string { return "tui" }

func (s *lineScreen) Run(ctx context.Context, r *responder.Responder) error {
	s.r, s.queue = r, board.New(r, board.Options{})
	close(s.synced)
	return s.queue.Run(ctx)
}

// Waiting is the list that a person picks from.
func (s *lineScreen) Waiting(by ask.By) (keys []ask.Key) {
	<-s.synced
	heads, _ := s.queue.Pending(board.Filter{Viewer: board.Viewer{By: by}}, 0, 100)
	rows := make([]card.Row, len(heads))
	for i := range heads {
		rec := heads[i].Record()
		rows[i] = card.NewRow(&rec, card.Viewer{By: by}, time.Now())
		keys = append(keys, rows[i].Key)
	}
	var out bytes.Buffer
	if _, err := prompt.Pick(s.t.Context(), &out, prompt.Read(strings.NewReader("")), card.Viewer{By: by}, rows); err == nil {
		s.t.Error("something was picked")
	}
	for _, row := range rows {
		if !strings.Contains(out.String(), row.Heading) {
			s.t.Errorf("the list has no %q:\n%s", row.Heading, out.String())
		}
	}
	return keys
}

// Read is the prompt without input, or how the ask ended.
func (s *lineScreen) Read(by ask.By, k ask.Key) respondertest.Reading {
	<-s.synced
	rec, err := s.queue.Get(s.t.Context(), k)
	if err != nil {
		return respondertest.Reading{Key: k}
	}
	v := card.Viewer{By: by, Surface: s.Type()}
	view := card.New(&rec, v, time.Now())
	if rec.Outcome != nil || rec.State == ask.StateResolved {
		return respondertest.Reading{Key: k, Text: view.Text()}
	}
	said, _ := s.dialog(v, &rec, "")
	return respondertest.Reading{Key: k, Text: said, Open: view.May.Answer, Ref: &rec}
}

// Choose types an option at a prompt that was opened with the reading.
func (s *lineScreen) Choose(by ask.By, from respondertest.Reading, option string) string {
	rec, _ := from.Ref.(*ask.Record)
	v := card.Viewer{By: by, Surface: s.Type()}
	said, err := s.dialog(v, rec, option+"\n")
	if err != nil {
		said += err.Error() + v.Explain(rec, err, time.Now())
	}
	return said
}

func (s *lineScreen) dialog(v card.Viewer, rec *ask.Record, typed string) (string, error) {
	var out bytes.Buffer
	_, err := prompt.Decide(s.t.Context(), &out, 80, prompt.Read(strings.NewReader(typed)), s.r, rec, v)
	return out.String(), err
}
