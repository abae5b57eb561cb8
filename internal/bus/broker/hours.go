package broker

import (
	"fmt"
	"time"

	"github.com/askbus/askbus/internal/bus/approvals"
	"github.com/askbus/askbus/internal/bus/approvals/oncall"
	"github.com/askbus/askbus/pkg/ask"
)

// openHours returns the open hours of a calendar from a time on, until another, and
// whether this bus has it.
func (d *duties) openHours(name string, from, until time.Time) (approvals.Open, bool) {
	if d.file == nil {
		return approvals.Open{}, false
	}
	return d.file().OpenHours(name, from, until, func(s oncall.Source) oncall.Reading { return d.kept.Of(s) })
}

// setOpenHours copies into a new ask the open hours of the calendar that it names,
// until its deadline. It refuses a calendar that this bus does not have.
func (b *Broker) setOpenHours(a *ask.Ask, now time.Time) error {
	if a.EscalateHours == "" {
		return nil
	}
	open, ok := b.duties.openHours(a.EscalateHours, now, a.Due(now))
	if !ok {
		return ask.InvalidError("ask", []ask.Fault{ask.NewFault("/escalate_hours", ask.FaultNoCalendar, ask.Clip(a.EscalateHours, 80))})
	}
	a.OpenHours = &open.OpenHours
	return nil
}

// unreached says which step of the ladder of a stored ask is never taken, and that
// holidays are not known. The hours are those that the ask has.
func (b *Broker) unreached(a *ask.Ask, asked time.Time) (told []string) {
	if n := a.Unreached(asked); n > 0 {
		why := "the ask ends before"
		if a.OpenHours != nil {
			why = fmt.Sprintf("the ask ends before as many open hours of %s have passed", a.OpenHours.Name)
		}
		told = append(told, fmt.Sprintf("step %d of escalate (/escalate/%d) is never taken, nor is one after it: %s; give a longer timeout, or a shorter after", n, n-1, why))
	}
	if a.OpenHours == nil {
		return told
	}
	if now, ok := b.duties.openHours(a.EscalateHours, asked, asked); ok && now.Unknown {
		told = append(told, fmt.Sprintf("the holidays of calendar %s (/escalate_hours) cannot be read, so this ask does not know them: %s", now.Name, reason(now.Err)))
	}
	return told
}

func reason(err error) string {
	if err == nil {
		return "this broker has just begun"
	}
	return err.Error()
}
