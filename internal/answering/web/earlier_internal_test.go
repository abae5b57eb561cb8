package web

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// slowHistory fails the first read, as when no broker answers; the second has
// an answer, and the others wait until their context ends.
type slowHistory struct {
	Asks
	reads int
	ended bool
}

func (h *slowHistory) List(ctx context.Context, _ responder.Query) (responder.Page, error) {
	switch h.reads++; h.reads {
	case 1:
		return responder.Page{}, ask.ErrUnavailable
	case 2:
		return responder.Page{Items: []ask.Record{{
			State: ask.StateResolved, Ask: ask.Ask{ID: "before", Questions: []ask.Question{{ID: "q", Text: "Go on?"}}},
			Outcome: &ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, By: &ask.By{Principal: "os:mei"}, Answers: []ask.Answer{{QuestionID: "q", Text: "yes"}}},
		}}}, nil
	}
	<-ctx.Done()
	h.ended = true
	return responder.Page{}, ctx.Err()
}

func TestAFailedReadOfEarlierAnswersIsRepeatedAndNoneOutlivesTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &slowHistory{}
		s := &Server{asks: h, memory: newMemory(), opts: Options{Logger: slog.New(slog.DiscardHandler)}}
		now := ask.Record{State: ask.StatePending, Life: "l1", Ask: ask.Ask{ID: "now", Questions: []ask.Question{{ID: "q", Text: "Go on?"}}}}
		read := func() [][]ask.Record {
			one := s.recollect(&now)
			<-one.done
			return one.records
		}
		if got := read(); len(got) != 0 {
			t.Errorf("no broker answers: %+v", got)
		}
		for range 2 { // the second time from memory
			if got := read(); len(got) != 1 || len(got[0]) != 1 || got[0][0].Ask.ID != "before" {
				t.Errorf("the broker is back: %+v", got)
			}
		}
		if h.reads != 2 {
			t.Errorf("%d reads", h.reads)
		}
		now.Life = "l2"
		_ = s.recollect(&now)
		synctest.Wait()
		began := time.Now()
		s.memory.close()
		if !h.ended || time.Since(began) > 0 {
			t.Errorf("close waited for its read: %v, for %s", h.ended, time.Since(began))
		}
		now.Life = "l3"
		_ = s.recollect(&now)
		synctest.Wait()
		if h.reads != 3 {
			t.Error("a read began after close")
		}
	})
}

// largeHistory has one page of large asks, all answered at length.
type largeHistory struct{ Asks }

func (largeHistory) List(context.Context, responder.Query) (responder.Page, error) {
	var p responder.Page
	for i := range 10 {
		long := strings.Repeat("x", ask.MaxLong-i)
		p.Items = append(p.Items, ask.Record{
			State: ask.StateResolved,
			Ask: ask.Ask{ID: fmt.Sprint("before", i), Context: long, Questions: []ask.Question{
				{ID: "q", Text: "Go on?", Options: []ask.Option{{ID: "y", Label: "Yes", Preview: &ask.Preview{Body: long}}, {ID: "n", Label: "No", Description: long}}},
				{ID: "r", Text: "Why?"},
			}},
			Outcome: &ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, By: &ask.By{Principal: "os:mei"}, Answers: []ask.Answer{{QuestionID: "q", Selected: []string{"y"}, Other: long, Notes: long}}},
		})
	}
	return p, nil
}

// What is remembered of asks is what is shown of them, and has few bytes.
func TestEarlierAnswersHaveFewBytes(t *testing.T) {
	t.Parallel()
	s := &Server{asks: largeHistory{}, memory: newMemory(), opts: Options{Logger: slog.New(slog.DiscardHandler)}}
	defer s.memory.close()
	for i := range 200 { // 12 MiB more every 64
		now := ask.Record{State: ask.StatePending, Life: fmt.Sprint("l", i), Ask: ask.Ask{ID: "now", Questions: []ask.Question{{ID: "q", Text: "Go on?"}}}}
		one := s.recollect(&now)
		<-one.done
		if len(one.records) != 1 || len(one.records[0]) != maxEarlier {
			t.Fatalf("%d: %d questions have earlier answers", i, len(one.records))
		}
		latest := one.records[0][0]
		if e, ok := card.NewEarlier(&latest, "Go on?", card.Viewer{}, time.Time{}); !ok || latest.Ask.ID != "before9" || !strings.HasPrefix(e.Words, "Yes, xxx") {
			t.Errorf("the latest is %s: %+v", latest.Ask.ID, e)
		}
		if q := latest.Ask.Questions; latest.Ask.Context != "" || len(q) != 1 || len(q[0].Options) != 1 || q[0].Options[0].Preview != nil {
			t.Errorf("more is remembered than is shown: %d questions", len(q))
		}
	}
	s.memory.running.Wait()
	size := 0
	for _, one := range s.memory.asked {
		for i := range one.records[0] {
			size += len(one.records[0][i].Outcome.Answers[0].Other)
		}
	}
	if size > maxRecall || s.memory.size < size || len(s.memory.asked) < 10 {
		t.Errorf("%d asks with %d bytes are remembered, counted as %d", len(s.memory.asked), size, s.memory.size)
	}
}
