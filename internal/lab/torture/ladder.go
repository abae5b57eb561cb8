package torture

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Ladder is how far an ask was escalated, as a party learned it.
type Ladder struct {
	Asked time.Duration   // to the millisecond
	After []time.Duration // of each step of one pass
	Most  int             // steps that it can take
	Steps []Step
	Seen  []int // the steps that wait once more, because somebody looked
}

// Step is a step that was taken.
type Step struct {
	N  int
	At time.Duration
}

// ladderOf converts the ladder of an ask; nil: it has none. start is the start of the run.
func ladderOf(a *ask.Ask, asked time.Time, e *ask.Escalated, start time.Time) *Ladder {
	if a == nil || len(a.Escalate) == 0 {
		return nil
	}
	l := &Ladder{Asked: asked.Sub(start), Most: len(a.Escalate) * (1 + a.EscalateRepeat)}
	for i := range a.Escalate {
		l.After = append(l.After, a.Escalate[i].After)
	}
	if e == nil {
		return l
	}
	for i := range e.Steps {
		l.Steps = append(l.Steps, Step{e.Steps[i].N, e.Steps[i].At.Sub(start)})
	}
	for i := range e.Seen {
		l.Seen = append(l.Seen, e.Seen[i].N)
	}
	return l
}

// wait returns how long a step waits after the one before it.
func (l *Ladder) wait(n int) time.Duration {
	after := l.After[(n-1)%len(l.After)]
	if slices.Contains(l.Seen, n) {
		return 2 * after
	}
	return after
}

// String says which steps were taken.
func (l *Ladder) String() string {
	var b strings.Builder
	for _, s := range l.Steps {
		fmt.Fprintf(&b, " (step %d at %.6fs)", s.N, s.At.Seconds())
	}
	for _, n := range l.Seen {
		fmt.Fprintf(&b, " (step %d waits)", n)
	}
	return b.String()
}

// escalate gives the ask a ladder, and lets it live long enough for some of its steps. What people do at a
// random moment they do from shortly before the first step on.
func (s *script) escalate(r *rand.Rand, life time.Duration) {
	s.ask.Timeout = ask.MinAfter + time.Second + span(r, life)
	for i := range 1 + r.IntN(2) {
		step := ask.Escalation{After: ask.MinAfter + span(r, time.Second)}
		if i == 0 {
			step.Tell = []string{"group:oncall"}
			step.Widen = len(s.ask.Audience) > 0 && r.IntN(2) == 0
		}
		s.ask.Escalate = append(s.ask.Escalate, step)
	}
	s.ask.EscalateRepeat = r.IntN(5)
	for i := range s.acts {
		if a := &s.acts[i]; !a.aimed {
			a.at = ask.MinAfter - 200*time.Millisecond + span(r, s.ask.Timeout-ask.MinAfter+time.Second)
		}
	}
}

// ladderLife returns by how much an ask with a ladder may outlive its first step; 0: the run is too short for
// ladders.
func ladderLife(o Options) time.Duration {
	return max(0, min(140*time.Second, o.For/2-ask.MinAfter))
}
