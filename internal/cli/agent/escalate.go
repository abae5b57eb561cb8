package agent

import (
	"strings"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/pkg/ask"
)

func (f *askFlags) ladder(q *ask.Ask) error {
	if len(f.escalate) == 0 {
		if f.escalateRepeat != 0 || f.escalateWiden || f.escalateHours != "" {
			return cli.Usage("--escalate-repeat, --escalate-hours and --escalate-widen need --escalate")
		}
		return nil
	}
	q.Escalate, q.EscalateRepeat, q.EscalateHours = nil, f.escalateRepeat, f.escalateHours
	for _, s := range f.escalate {
		step, err := escalation(s)
		if err != nil {
			return err
		}
		step.Widen = f.escalateWiden && len(step.Tell) > 0
		q.Escalate = append(q.Escalate, step)
	}
	return nil
}

// escalation reads "10m:group:oncall,os:ana via slack,telegram": how long to wait,
// whom to tell, and on which surfaces. All but the first may be left out.
func escalation(s string) (step ask.Escalation, err error) {
	rest, via, has := strings.Cut(s, " via ")
	if has {
		step.Via = list(via)
	}
	after, tell, _ := strings.Cut(rest, ":")
	if step.After, err = time.ParseDuration(strings.TrimSpace(after)); err != nil {
		return step, cli.Usage(`--escalate %q: begin with how long to wait, such as 10m:group:oncall, or only 10m for a reminder`, s)
	}
	step.Tell = list(tell)
	return step, nil
}

// list splits at commas, without spaces and empty entries.
func list(s string) (all []string) {
	for entry := range strings.SplitSeq(s, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			all = append(all, entry)
		}
	}
	return all
}
