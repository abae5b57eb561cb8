package ask

import "time"

// MaxSpans bounds the spans of [OpenHours].
const MaxSpans = 250

// OpenHours are the open hours of a calendar of the operator, as they were when
// the ask was asked, until its deadline: later changes of the calendar, or of the
// rules of its time zone, change nothing pending. Only the broker sets them.
type OpenHours struct {
	Name    string    `json:"name"`
	Version string    `json:"version"`         // changes with the calendar's content
	AsOf    time.Time `json:"as_of,omitzero"`  // its holidays could not be read since then
	Spans   []Span    `json:"spans,omitempty"` // in order and apart; their times have the offset of the calendar's zone
}

// Span is a time from From on, until before To.
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

func (s *Span) has(at time.Time) bool { return !at.Before(s.From) && at.Before(s.To) }

// add returns the time at which so many open hours have passed since from; none:
// there are not as many. It is always an open time: what is due at closing time
// comes at the next opening. nil is always open.
func (h *OpenHours) add(from time.Time, d time.Duration) (at time.Time, ok bool) {
	if h == nil {
		return from.Add(d), true
	}
	for i := range h.Spans {
		s := &h.Spans[i]
		if !from.Before(s.To) {
			continue
		}
		start := from
		if start.Before(s.From) {
			start = s.From
		}
		if left := s.To.Sub(start); d >= left {
			d -= left
			continue
		}
		return start.Add(d).In(s.From.Location()), true
	}
	return time.Time{}, false
}

// Resume returns when something that was due at a time, which was open, is done: at
// that time, or, if it has passed and it is closed now, at the next opening; none:
// never. nil is always open.
func (h *OpenHours) Resume(due, now time.Time) (at time.Time, ok bool) {
	if h == nil || !due.Before(now) {
		return due, true
	}
	for i := range h.Spans {
		if s := &h.Spans[i]; now.Before(s.To) {
			if s.has(now) {
				return due, true
			}
			return s.From, true
		}
	}
	return time.Time{}, false
}

// together reports whether two times are in one span.
func (h *OpenHours) together(x, y time.Time) bool {
	for i := range h.Spans {
		if s := &h.Spans[i]; s.has(x) {
			return s.has(y)
		}
	}
	return false
}

// StepDue returns when the next step of the ask is taken, as far as is known now,
// and whether it is: a step that was not taken in its open hours, such as during an
// outage, waits for the next ones.
func (a *Ask) StepDue(next *Next, now time.Time) (time.Time, bool) {
	at, ok := a.OpenHours.Resume(next.At, now)
	return at, ok && (a.Deadline.IsZero() || at.Before(a.Deadline))
}

// OtherHours reports whether a time is in other open hours than now: people then
// read the day and the time of day, and not how long it takes until then.
func (a *Ask) OtherHours(at, now time.Time) bool {
	return a.OpenHours != nil && at.After(now) && !a.OpenHours.together(at, now)
}

// Unreached returns the first step, from 1, of the first round of the ladder that
// is never taken, because the deadline or too few open hours come before; 0: each
// can be.
func (a *Ask) Unreached(asked time.Time) int {
	var e Escalated
	for n := 1; n <= len(a.Escalate); n++ {
		next, ok := a.NextStep(asked, &e)
		if !ok {
			return n
		}
		e.Steps = append(e.Steps, Step{N: n, At: next.At})
	}
	return 0
}

// clock formats a time of open hours for people who may be anywhere: "Mon 09:00
// UTC+01:00"; from a week ahead with the date.
func (w *wordsOfLadders) clock(at, now time.Time) string {
	day := w.weekdays[at.Weekday()]
	if at.Sub(now) >= 6*24*time.Hour {
		day = at.Format(w.date)
	}
	return day + at.Format(" 15:04 UTC-07:00")
}
