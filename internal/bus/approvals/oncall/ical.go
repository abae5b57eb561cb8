package oncall

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/mail"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/emersion/go-ical"
	"github.com/teambition/rrule-go"
)

// parseICal returns the events of a calendar between two times, as shifts. at is
// the zone of days, and of times that have none.
func parseICal(data []byte, at *time.Location, from, to time.Time) (shifts []Shift, err error) {
	if n := bytes.Count(bytes.ToUpper(data), []byte("BEGIN:")); n > 4*maxEvents { // before the library goes down into each
		return nil, fmt.Errorf("it has %d components; the maximum is %d", n, 4*maxEvents)
	}
	defer func() { // the libraries read what anybody may have written into a calendar
		if r := recover(); r != nil {
			shifts, err = nil, fmt.Errorf("it cannot be read: %v", r)
		}
	}()
	cal, err := ical.NewDecoder(bytes.NewReader(data)).Decode()
	if err != nil {
		return nil, fmt.Errorf("it is not an iCalendar file: %w", err)
	}
	events := cal.Events()
	if len(events) > maxEvents {
		return nil, fmt.Errorf("it has %d events; the maximum is %d", len(events), maxEvents)
	}
	moved := map[string][]time.Time{} // by UID: the occurrences that an event of their own replaces
	defined, in := zonesOf(cal, from, to), make([]*time.Location, len(events))
	for i := range events {
		if in[i], err = defined.settle(&events[i], at); err != nil {
			name, _ := events[i].Props.Text(ical.PropSummary)
			return nil, fmt.Errorf("event %.80q: %w", name, err)
		}
		uid, instead := events[i].Props.Get(ical.PropUID), events[i].Props.Get(ical.PropRecurrenceID)
		if uid == nil || instead == nil {
			continue
		}
		when, err := instead.DateTime(in[i])
		if err != nil {
			return nil, fmt.Errorf("event %.80q: RECURRENCE-ID: %w", uid.Value, err)
		}
		moved[uid.Value] = append(moved[uid.Value], when)
	}
	end := time.Now().Add(expandLimit)
	for i := range events {
		e := &events[i]
		name, _ := e.Props.Text(ical.PropSummary)
		if status, _ := e.Status(); status == ical.EventCancelled {
			continue
		}
		starts, took, err := occurrences(e, moved, in[i], from, to)
		if err != nil {
			return nil, fmt.Errorf("event %.80q: %w", name, err)
		}
		who := whoIn(e, name)
		for _, start := range starts {
			shifts = append(shifts, Shift{From: start, To: took(start), Who: who})
		}
		if len(shifts) > maxShifts || time.Now().After(end) {
			return nil, fmt.Errorf("its events recur too often: the maximum is %d within %d days", maxShifts, int(ahead/(24*time.Hour)))
		}
	}
	sort.Slice(shifts, func(i, j int) bool {
		x, y := &shifts[i], &shifts[j]
		return cmp.Or(x.From.Compare(y.From), x.To.Compare(y.To)) < 0
	})
	return shifts, nil
}

// expandLimit is how long recurrences may take.
const expandLimit = 2 * time.Second

// occurrences returns when an event begins between two times, and how long each
// takes. Days are counted in days, so that one on which the clocks change is whole.
func occurrences(e *ical.Event, moved map[string][]time.Time, at *time.Location, from, to time.Time) (starts []time.Time, end func(time.Time) time.Time, err error) {
	if e.Props.Get(ical.PropDateTimeStart) == nil {
		return nil, nil, errors.New("it has no DTSTART")
	}
	start, err := e.DateTimeStart(at)
	if err != nil {
		return nil, nil, fmt.Errorf("DTSTART: %w", err)
	}
	last, err := e.DateTimeEnd(at)
	if err != nil {
		return nil, nil, fmt.Errorf("DTEND: %w", err)
	}
	took := last.Sub(start)
	if took < 0 || took > 366*24*time.Hour {
		return nil, nil, errors.New("it ends before it begins, or after more than a year")
	}
	end = func(t time.Time) time.Time { return t.Add(took) }
	if e.Props.Get(ical.PropDateTimeStart).ValueType() == ical.ValueDate || len(e.Props.Get(ical.PropDateTimeStart).Value) == len("20060102") {
		days := int((took + 12*time.Hour) / (24 * time.Hour))
		end = func(t time.Time) time.Time { return t.AddDate(0, 0, days) }
	}
	set, err := recurrence(e, at)
	switch {
	case err != nil:
		return nil, nil, err
	case set == nil:
		starts = []time.Time{start}
	default:
		if uid := e.Props.Get(ical.PropUID); uid != nil {
			for _, instead := range moved[uid.Value] {
				set.ExDate(instead.In(start.Location()))
			}
		}
		starts = set.Between(from.Add(-took-24*time.Hour), to, true)
	}
	return slices.DeleteFunc(starts, func(t time.Time) bool { return !end(t).After(from) || !t.Before(to) }), end, nil
}

// recurrence returns when an event recurs; nil: it does not. Rules that the library
// takes endlessly, or with millions of times a day, are refused.
func recurrence(e *ical.Event, at *time.Location) (*rrule.Set, error) {
	if e.Props.Get(ical.PropRecurrenceID) != nil {
		return nil, nil //nolint:nilnil // one occurrence
	}
	for _, name := range []string{ical.PropRecurrenceDates, ical.PropExceptionDates} {
		props := e.Props.Values(name)
		e.Props.Del(name)
		for _, p := range props { // the library takes one date a line
			for value := range strings.SplitSeq(p.Value, ",") {
				e.Props.Add(&ical.Prop{Name: name, Params: p.Params, Value: strings.TrimSpace(value)})
			}
		}
	}
	rule, err := e.Props.RecurrenceRule()
	if err != nil {
		return nil, err
	}
	if rule != nil {
		times := max(1, len(rule.Byhour)) * max(1, len(rule.Byminute)) * max(1, len(rule.Bysecond))
		switch {
		case rule.Freq > rrule.DAILY:
			return nil, errors.New("RRULE: it recurs within a day; use FREQ=DAILY with BYHOUR")
		case times > 48 || len(rule.Bysetpos) > 100:
			return nil, errors.New("RRULE: it recurs too often within a day")
		case rule.Interval < 0 || rule.Interval > 1000:
			return nil, errors.New("RRULE: its INTERVAL is not from 1 to 1000")
		}
	}
	return e.RecurrenceSet(at)
}

// whoIn returns whom an event names: its attendees that have not declined, else
// those in its summary, separated by commas.
func whoIn(e *ical.Event, summary string) (who []Contact) {
	for _, p := range e.Props.Values(ical.PropAttendee) {
		if strings.EqualFold(p.Params.Get(ical.ParamParticipationStatus), "DECLINED") || strings.EqualFold(p.Params.Get(ical.ParamCalendarUserType), "RESOURCE") {
			continue
		}
		c := Contact{Name: strings.TrimSpace(p.Params.Get(ical.ParamCommonName))}
		if scheme, address, ok := strings.Cut(p.Value, ":"); ok && strings.EqualFold(scheme, "mailto") {
			c.Email = emailOf(address)
		}
		if len(who) < maxWho && c != (Contact{}) {
			who = append(who, c)
		}
	}
	if len(who) > 0 {
		return who
	}
	for name := range strings.SplitSeq(summary, ",") {
		if name = strings.TrimSpace(name); name != "" && len(who) < maxWho {
			who = append(who, Contact{Email: emailOf(name), Name: name})
		}
	}
	return who
}

// emailOf returns an e-mail address in lower case; empty: it is none.
func emailOf(s string) string {
	a, err := mail.ParseAddress(s)
	if err != nil || strings.ContainsAny(a.Address, " *") {
		return ""
	}
	return strings.ToLower(a.Address)
}
