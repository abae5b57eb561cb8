package broker_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/approvals"
	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/pkg/ask"
)

// taken waits until a step of this ask is written, and returns all that were.
func (s *stepping) taken(t *testing.T, id string, n int) []ask.Step {
	t.Helper()
	for {
		select {
		case m := <-s.questions:
			k, _, _, ok := cloudevent.Republished(m)
			if !ok || k.ID != id {
				continue
			}
			q, err := cloudevent.ReadAsked(m, k)
			if err != nil {
				t.Fatal(err)
			}
			if e := q.Escalated(); e != nil && len(e.Steps) >= n {
				return e.Steps
			}
		case <-t.Context().Done():
			t.Fatalf("step %d of %s is not taken", n, id)
		}
	}
}

// An office that opens in two hours, for two hours each day: a step waits for that,
// also one that an outage made late, and an edit of the file changes nothing pending.
func TestStepsWaitForOpenHours(t *testing.T) {
	t.Parallel()
	s := newStepping(t)
	opens := time.Now().UTC().Add(2 * time.Hour).Truncate(time.Minute)
	const calendar = `calendars: [ { name: office, time_zone: UTC, hours: { mon-sun: [%q] } } ]`
	var f atomic.Pointer[approvals.File]
	f.Store(policies(t, fmt.Sprintf(calendar, opens.Format("15:04")+"-"+opens.Add(2*time.Hour).Format("15:04"))))
	opts := broker.Options{Approvals: f.Load}
	_, stop := s.broker(opts)
	c := newClient(t, s.Bus, "s1")
	a := ladder("office")
	a.EscalateHours, a.Timeout = "office", 72*time.Hour
	st, err := c.Ask(t.Context(), a)
	if err != nil || strings.Contains(strings.Join(st.Warnings, "\n"), "never taken") {
		t.Fatal(st.Warnings, err)
	}
	rec, err := c.Get(t.Context(), "office")
	if err != nil || rec.Ask.OpenHours == nil || rec.Ask.OpenHours.Name != "office" || len(rec.Ask.OpenHours.Spans) != 3 || !rec.Ask.OpenHours.Spans[0].From.Equal(opens) {
		t.Fatalf("%+v, %v", rec.Ask.OpenHours, err)
	}
	if !strings.Contains(rec.Waits("", time.Now()), opens.Add(10*time.Minute).Format("Mon 15:04")+" UTC+00:00") {
		t.Errorf("the agent is told: %q", rec.Waits("", time.Now()))
	}
	// A control is due at each time, and behind it in the sweep: once its step is taken, the office's would be.
	control := func(id string) {
		t.Helper()
		if _, err := c.Ask(t.Context(), ladder(id)); err != nil {
			t.Fatal(err)
		}
	}
	untouched := func(when string, n int) {
		t.Helper()
		if rec, err := c.Get(t.Context(), "office"); err != nil || rec.Escalated != nil && len(rec.Escalated.Steps) != n || rec.Escalated == nil && n > 0 {
			t.Fatalf("%s: %+v, %v", when, rec.Escalated, err)
		}
	}
	control("c1")
	s.ahead.Store(int64(time.Hour))
	s.taken(t, "c1", 1)
	untouched("before the opening", 0)

	f.Store(policies(t, fmt.Sprintf(calendar, "00:00-24:00"))) // nothing pending changes
	if st, err := c.Ask(t.Context(), a); err != nil || st.Created {
		t.Errorf("asked again: %+v, %v", st, err)
	}
	s.ahead.Store(int64(2*time.Hour + 11*time.Minute))
	if steps := s.taken(t, "office", 1); steps[0].At.Before(opens.Add(10 * time.Minute)) {
		t.Errorf("%+v", steps)
	}
	stop() // the second is due in these hours, and missed
	s.ahead.Store(int64(5 * time.Hour))
	s.broker(opts)
	control("c2")
	s.ahead.Add(int64(11 * time.Minute))
	s.taken(t, "c2", 1)
	untouched("missed, after closing time", 1)
	s.ahead.Store(int64(26*time.Hour + time.Minute))
	if steps := s.taken(t, "office", 2); steps[1].At.Before(opens.Add(24 * time.Hour)) {
		t.Errorf("%+v", steps)
	}
}

func TestCalendarsOfAnAsk(t *testing.T) {
	t.Parallel()
	s := newStepping(t)
	f := policies(t, `calendars:
  - { name: office, time_zone: UTC, hours: { mon-sun: ["00:00-24:00"] }, holidays_ical: "http://127.0.0.1:1/x.ics" }`)
	br, _ := s.broker(broker.Options{Approvals: func() *approvals.File { return f }})
	c := newClient(t, s.Bus, "s1")
	a := ladder("a1")
	a.EscalateHours = "paris"
	_, err := c.Ask(t.Context(), a)
	if e, ok := errors.AsType[*ask.Error](err); !ok || len(e.Faults) != 1 || e.Faults[0].Code != ask.FaultNoCalendar || e.Faults[0].Pointer != "/escalate_hours" {
		t.Errorf("an unknown calendar: %v", err)
	}
	a.EscalateHours, a.Timeout = "office", 15*time.Minute
	st, err := c.Ask(t.Context(), a)
	told := strings.Join(st.Warnings, "\n")
	if err != nil || !strings.Contains(told, "step 2 of escalate (/escalate/1) is never taken, nor is one after it: the ask ends before as many open hours of office") ||
		!strings.Contains(told, "the holidays of calendar office (/escalate_hours) cannot be read") {
		t.Errorf("%s, %v", told, err)
	}
	for notes := ""; !strings.Contains(notes, "the holidays of calendar office cannot be read, and never were"); notes = strings.Join(br.Notes(), "\n") {
		if t.Context().Err() != nil {
			t.Fatal(notes)
		}
	}
	a.ID, a.EscalateHours = "a2", ""
	if st, err = c.Ask(t.Context(), a); err != nil || !strings.Contains(strings.Join(st.Warnings, "\n"), "step 2 of escalate (/escalate/1) is never taken, nor is one after it: the ask ends before; give") {
		t.Errorf("without a calendar: %q, %v", st.Warnings, err)
	}
}
