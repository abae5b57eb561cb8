package ask_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/google/go-cmp/cmp"
)

// office is open on Friday from 9 to 12 and from 13 to 17, and on Monday from 9 to
// 17, in a zone of +01:00.
func office() *ask.OpenHours {
	return &ask.OpenHours{Name: "office", Version: "1", Spans: []ask.Span{{From: on(27, 9, 0), To: on(27, 12, 0)}, {From: on(27, 13, 0), To: on(27, 17, 0)}, {From: on(30, 9, 0), To: on(30, 17, 0)}}}
}

func on(day, hour, minute int) time.Time {
	return time.Date(2026, 11, day, hour, minute, 0, 0, time.FixedZone("", 3600))
}

func TestStepsInOpenHours(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		asked time.Time
		after time.Duration
		e     *ask.Escalated
		want  time.Time // zero: never
	}{
		"at once":                      {on(27, 9, 30), time.Hour, nil, on(27, 10, 30)},
		"asked before the opening":     {on(27, 3, 0), time.Hour, nil, on(27, 10, 0)},
		"over the break":               {on(27, 11, 30), time.Hour, nil, on(27, 13, 30)},
		"over the weekend":             {on(27, 16, 30), time.Hour, nil, on(30, 9, 30)},
		"asked at closing time":        {on(27, 17, 0), 10 * time.Minute, nil, on(30, 9, 10)},
		"due at closing time":          {on(27, 16, 0), time.Hour, nil, on(30, 9, 0)},
		"due at the end of a break":    {on(27, 11, 0), time.Hour, nil, on(27, 13, 0)},
		"one second before closing":    {on(27, 16, 0), time.Hour - time.Second, nil, on(27, 16, 59).Add(59 * time.Second)},
		"longer than two openings":     {on(27, 9, 0), 10 * time.Hour, nil, on(30, 12, 0)},
		"more than is open":            {on(27, 9, 0), 15 * time.Hour, nil, time.Time{}},
		"after the last":               {on(30, 17, 0), time.Minute, nil, time.Time{}},
		"paused over the weekend":      {on(27, 16, 0), 40 * time.Minute, &ask.Escalated{Seen: []ask.Seen{{N: 1}}}, on(30, 9, 20)},
		"the one before taken late":    {on(27, 9, 0), 20 * time.Minute, &ask.Escalated{Steps: []ask.Step{{N: 1, At: on(27, 16, 50)}}}, on(30, 9, 10)},
		"repeated":                     {on(27, 9, 0), 20 * time.Minute, &ask.Escalated{Steps: []ask.Step{{N: 1}, {N: 2, At: on(27, 16, 50)}}}, on(30, 9, 10)},
		"paused without open hours":    {on(30, 16, 0), 40 * time.Minute, &ask.Escalated{Seen: []ask.Seen{{N: 1}}}, time.Time{}},
		"the time is of another zone":  {on(27, 16, 30).UTC(), time.Hour, nil, on(30, 9, 30)},
		"a deadline before the reopen": {on(27, 16, 59), 2 * time.Hour, nil, on(30, 10, 59)},
	} {
		a := ask.Ask{Escalate: []ask.Escalation{{After: c.after}, {After: c.after}}, EscalateRepeat: 1, OpenHours: office(), Deadline: on(30, 17, 0)}
		next, ok := a.NextStep(c.asked, c.e)
		if ok == c.want.IsZero() || ok && !next.At.Equal(c.want) {
			t.Errorf("%s: %s, %t; want %s", name, next.At, ok, c.want)
		}
		if _, offset := next.At.Zone(); ok && offset != 3600 {
			t.Errorf("%s: %s is not in the calendar's zone", name, next.At)
		}
		if a.Deadline = c.want; ok {
			if _, ok := a.NextStep(c.asked, c.e); ok {
				t.Errorf("%s: it is taken at the deadline", name)
			}
		}
	}
}

func TestAMissedStepWaitsForTheOpening(t *testing.T) {
	t.Parallel()
	a := ask.Ask{Escalate: []ask.Escalation{{After: 30 * time.Minute}}, OpenHours: office(), Deadline: on(30, 16, 0)}
	next := &ask.Next{N: 1, At: on(27, 11, 0)}
	for name, c := range map[string]struct{ now, want time.Time }{
		"not due yet":         {on(27, 10, 0), on(27, 11, 0)},
		"open":                {on(27, 11, 59), on(27, 11, 0)},
		"at the break":        {on(27, 12, 0), on(27, 13, 0)},
		"in the next hours":   {on(27, 13, 0), on(27, 11, 0)},
		"at the weekend":      {on(28, 11, 0), on(30, 9, 0)},
		"after the last":      {on(30, 17, 0), time.Time{}},
		"at the very opening": {on(30, 9, 0), on(27, 11, 0)},
	} {
		if at, ok := a.StepDue(next, c.now); ok == c.want.IsZero() || !at.Equal(c.want) {
			t.Errorf("%s: %s, %t; want %s", name, at, ok, c.want)
		}
	}
	if _, ok := a.StepDue(&ask.Next{At: on(30, 16, 30)}, on(28, 0, 0)); ok {
		t.Error("after the deadline")
	}
	a.Deadline = on(30, 9, 0)
	if _, ok := a.StepDue(next, on(28, 0, 0)); ok {
		t.Error("the next opening is the deadline")
	}
	a.OpenHours = nil
	if at, ok := a.StepDue(next, on(28, 0, 0)); !ok || !at.Equal(next.At) {
		t.Errorf("without a calendar: %s, %t", at, ok)
	}
}

func TestLaddersInOpenHoursInWords(t *testing.T) {
	t.Parallel()
	a := ask.Ask{Escalate: []ask.Escalation{{After: 30 * time.Minute, Tell: []string{"group:oncall"}}}, OpenHours: office(), Deadline: on(30, 16, 0)}
	a.OpenHours.Spans = append(a.OpenHours.Spans, ask.Span{From: on(30, 18, 0).AddDate(0, 0, 7), To: on(30, 19, 0).AddDate(0, 0, 7)})
	for name, c := range map[string]struct {
		asked, now time.Time
		lang, want string
	}{
		"these hours":       {on(27, 9, 0), on(27, 9, 10), "", "next: group oncall in 20 min"},
		"after the break":   {on(27, 11, 45), on(27, 11, 46), "", "next: group oncall, Fri 13:15 UTC+01:00"},
		"next week":         {on(27, 16, 50), on(27, 16, 50), "", "next: group oncall, Mon 09:20 UTC+01:00"},
		"closed, missed":    {on(27, 9, 0), on(28, 9, 10), "", "next: group oncall, Mon 09:00 UTC+01:00"},
		"in Chinese":        {on(27, 16, 50), on(27, 16, 50), "zh", "下一步：通知 组 oncall（周一 09:20 UTC+01:00）"},
		"never":             {on(30, 15, 45), on(30, 15, 46), "", "no further step"},
		"closed to the end": {on(30, 15, 10), on(30, 17, 0), "", "no further step"},
	} {
		if got := a.LadderWords(c.asked, nil, c.now, c.lang); got != c.want {
			t.Errorf("%s: %q; want %q", name, got, c.want)
		}
	}
	a.Deadline = on(30, 19, 0).AddDate(0, 0, 7)
	if got := a.LadderWords(on(30, 16, 50), nil, on(30, 16, 50), ""); got != "next: group oncall, 7 Dec 18:20 UTC+01:00" {
		t.Errorf("in a week: %q", got)
	}
}

func TestStepsThatAreNeverTaken(t *testing.T) {
	t.Parallel()
	a := ask.Ask{Escalate: []ask.Escalation{{After: time.Hour}, {After: time.Hour}, {After: 3 * time.Hour}}, Deadline: on(27, 15, 1)}
	for name, c := range map[string]struct {
		hours *ask.OpenHours
		asked time.Time
		want  int
	}{
		"each is taken":   {nil, on(27, 9, 59), 0},
		"the last is not": {nil, on(27, 10, 5), 3},
		"a break":         {office(), on(27, 9, 30), 3},
		"closed":          {office(), on(27, 0, 0), 0},
		"too late":        {office(), on(27, 14, 10), 1},
		"never open":      {&ask.OpenHours{}, on(27, 9, 0), 1},
	} {
		if a.OpenHours = c.hours; a.Unreached(c.asked) != c.want {
			t.Errorf("%s: %d; want %d", name, a.Unreached(c.asked), c.want)
		}
	}
}

func TestOpenHoursAreJSON(t *testing.T) {
	t.Parallel()
	a := ask.Ask{ID: "a1", EscalateHours: "office", OpenHours: office()}
	data, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var got ask.Ask
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a.OpenHours, got.OpenHours); diff != "" || got.EscalateHours != "office" {
		t.Errorf("%s: %s", data, diff)
	}
	if got := got.OpenHours.Spans[0].From.Format(time.RFC3339); got != "2026-11-27T09:00:00+01:00" {
		t.Error(got)
	}
}
