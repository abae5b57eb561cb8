package ask

import (
	"cmp"
	"strconv"
	"time"
)

// Normalize fills in what an agent may leave out: ids by position (q1, o1),
// kinds, formats, the priority and the action at the deadline. It does not set
// the deadline; see [Ask.Due].
func (a *Ask) Normalize() {
	a.Priority = cmp.Or(a.Priority, PriorityNormal)
	a.AtDeadline = cmp.Or(a.AtDeadline, AtDeadlineExpire)
	for i := range a.Questions {
		a.Questions[i].normalize(i)
	}
	if a.Approval != nil && len(a.Questions) == 1 {
		a.Approval.normalize(&a.Questions[0])
	}
}

func (q *Question) normalize(i int) {
	q.ID = cmp.Or(q.ID, "q"+strconv.Itoa(i+1))
	if q.Kind == "" {
		q.Kind = KindText
		if len(q.Options) > 0 {
			q.Kind = KindChoice
		}
	}
	if q.Kind == KindChoice && len(q.Options) == 0 && !q.NoOther && !q.Multiple {
		q.Kind = KindText // without options a choice is free text
	}
	if len(q.Options) == 0 {
		q.Options = nil // an empty list is written as none
	}
	if q.Kind != KindChoice {
		q.NoOther = false
	}
	for j := range q.Options {
		o := &q.Options[j]
		o.ID = cmp.Or(o.ID, "o"+strconv.Itoa(j+1))
		if o.Preview != nil && o.Preview.Format == "" {
			o.Preview.Format = PreviewText
		}
	}
	if q.Default != nil && q.Kind == KindDate && q.Default.Date == "" {
		// JSON has no dates: a date default arrives as a string.
		q.Default.Date, q.Default.Text = q.Default.Text, ""
	}
}

// Due returns when the ask ends by itself: its deadline, else now plus its
// timeout, else now plus [MaxTimeout].
func (a *Ask) Due(now time.Time) time.Time {
	switch {
	case !a.Deadline.IsZero():
		return a.Deadline.UTC()
	case a.Timeout > 0:
		return now.Add(a.Timeout).UTC()
	default:
		return now.Add(MaxTimeout).UTC()
	}
}

// Defaults returns the answers that the ask declared for its deadline.
// Questions without a default are marked as skipped.
func (a *Ask) Defaults() []Answer {
	answers := make([]Answer, 0, len(a.Questions))
	for i := range a.Questions {
		q := &a.Questions[i]
		ans := Answer{QuestionID: q.ID, Skipped: true}
		if q.Default != nil {
			ans = *q.Default
			ans.QuestionID, ans.Skipped, ans.Notes = q.ID, false, ""
		}
		answers = append(answers, ans)
	}
	return answers
}
