package broker

import (
	"slices"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/pkg/ask"
)

// An agent that asks again is told what stays as it was, and nothing else.
func TestWhatStaysOfAnAskIsSaid(t *testing.T) {
	t.Parallel()
	now := time.Now()
	first := ask.Ask{ID: "a", Callback: "builder", Timeout: time.Hour, Questions: []ask.Question{{ID: "q", Text: "Go?"}}}
	first.Normalize()
	s := lifecycle.New(first, now)
	for name, c := range map[string]struct {
		change func(*ask.Ask)
		want   []string
	}{
		"the same":                      {func(*ask.Ask) {}, nil},
		"nothing said":                  {func(a *ask.Ask) { a.Callback, a.Timeout = "", 0 }, nil},
		"another callback":              {func(a *ask.Ask) { a.Callback = "other" }, []string{`this ask was asked before; the callback "other" is not called: it has "builder"`}},
		"another priority and deadline": {func(a *ask.Ask) { a.Priority, a.Timeout = ask.PriorityUrgent, 2*time.Hour }, []string{"this ask was asked before; its deadline stays " + s.Deadline.UTC().Format(time.RFC3339), "this ask was asked before; its priority stays normal"}},
	} {
		again := first
		c.change(&again)
		if got := warnings(&again, &s, now); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	s.Ask.Callback = ""
	if got := warnings(&first, &s, now); !slices.Equal(got, []string{`this ask was asked before; the callback "builder" is not called: it has none`}) {
		t.Errorf("without a callback: %q", got)
	}
}
