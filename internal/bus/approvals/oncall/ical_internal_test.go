package oncall

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func calendar(events ...string) []byte {
	return []byte("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\n" + strings.Join(events, "") + "END:VCALENDAR\r\n")
}

func event(lines ...string) string {
	return "BEGIN:VEVENT\r\nDTSTAMP:20261101T000000Z\r\n" + strings.Join(lines, "\r\n") + "\r\nEND:VEVENT\r\n"
}

func berlin(t *testing.T) *time.Location {
	t.Helper()
	at, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// onCall returns who is on call at a time, by name or address.
func onCall(shifts []Shift, at time.Time) (who []string) {
	for _, c := range At(shifts, at) {
		if c.Email != "" {
			who = append(who, c.Email)
		} else {
			who = append(who, c.Name)
		}
	}
	return who
}

func TestWhoIsOnCallByACalendar(t *testing.T) {
	t.Parallel()
	at := berlin(t)
	weekly := event("UID:w", "SUMMARY:On call", "DTSTART;TZID=Europe/Berlin:20261005T090000", "DTEND;TZID=Europe/Berlin:20261012T090000", "RRULE:FREQ=WEEKLY;INTERVAL=2",
		"EXDATE;TZID=Europe/Berlin:20261019T090000,20261116T090000", "ATTENDEE;CN=Mei;PARTSTAT=ACCEPTED:MAILTO:Mei@Example.com", "ATTENDEE;PARTSTAT=DECLINED:mailto:no@example.com", "ATTENDEE;CUTYPE=RESOURCE:mailto:phone@example.com")
	moved := event("UID:w", "SUMMARY:Jo instead", "RECURRENCE-ID;TZID=Europe/Berlin:20261102T090000", "DTSTART;TZID=Europe/Berlin:20261102T090000", "DTEND;TZID=Europe/Berlin:20261109T090000", "ATTENDEE:mailto:jo@example.com")
	day := event("UID:d", "SUMMARY:Ana\\, tom@example.com", "DTSTART;VALUE=DATE:20261025", "DTEND;VALUE=DATE:20261026") // 25 hours long
	gone := event("UID:g", "SUMMARY:Eve", "STATUS:CANCELLED", "DTSTART:20261025T000000Z", "DTEND:20261030T000000Z")
	shifts, err := parseICal(calendar(weekly, moved, day, gone), at, time.Date(2026, 10, 1, 0, 0, 0, 0, at), time.Date(2026, 12, 20, 0, 0, 0, 0, at))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at   string
		want []string
	}{
		{"2026-10-05 08:59", nil},
		{"2026-10-05 09:00", []string{"mei@example.com"}},
		{"2026-10-12 08:59", []string{"mei@example.com"}},
		{"2026-10-12 09:00", nil},
		{"2026-10-19 12:00", nil}, // an exception
		{"2026-10-24 23:59", nil},
		{"2026-10-25 00:00", []string{"Ana", "tom@example.com"}},
		{"2026-10-25 23:59", []string{"Ana", "tom@example.com"}},
		{"2026-10-26 00:00", nil},
		{"2026-11-03 12:00", []string{"jo@example.com"}}, // replaced, after the clocks changed
		{"2026-11-16 12:00", nil},                        // the second exception of its line
		{"2026-11-30 08:59", nil},
		{"2026-11-30 09:00", []string{"mei@example.com"}},
	} {
		when, err := time.ParseInLocation("2006-01-02 15:04", c.at, at)
		if err != nil {
			t.Fatal(err)
		}
		if got := onCall(shifts, when); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.at, got, c.want)
		}
	}
}

// What a hostile calendar costs is bounded: no rule keeps a broker busy, and no
// depth exhausts its stack.
func TestCalendarsThatAreRefused(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	rule := func(rule string) []byte {
		return calendar(event("UID:1", "SUMMARY:x", "DTSTART:19700101T040000Z", "DTEND:19700101T050000Z", "RRULE:"+rule))
	}
	many := make([]string, maxEvents+1)
	for i := range many {
		many[i] = event(fmt.Sprint("UID:", i), "DTSTART:20261101T000000Z")
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"not a calendar":   {[]byte("<html>"), "not an iCalendar"},
		"empty":            {nil, "not an iCalendar"},
		"hours":            {rule("FREQ=HOURLY;INTERVAL=24;BYHOUR=5"), "within a day"},
		"seconds":          {rule("FREQ=SECONDLY"), "within a day"},
		"many a day":       {rule("FREQ=DAILY;BYHOUR=1,2,3,4,5,6,7,8;BYMINUTE=1,2,3,4,5,6,7"), "too often"},
		"backwards":        {rule("FREQ=DAILY;INTERVAL=-1"), "INTERVAL"},
		"events":           {calendar(many...), "5001 events"},
		"depth":            {[]byte(strings.Repeat("BEGIN:VEVENT\r\n", 400_000)), "components"},
		"ends before":      {calendar(event("UID:1", "DTSTART:20261101T000000Z", "DTEND:20251101T000000Z")), "before it begins"},
		"an unknown zone":  {calendar(event("UID:1", "DTSTART;TZID=W. Europe Standard Time:20261101T000000", "DTEND;TZID=W. Europe Standard Time:20261101T010000")), "time zone"},
		"without its time": {calendar(event("UID:1", "SUMMARY:x")), "DTSTART"},
	} {
		if _, err := parseICal(c.data, time.UTC, from, from.Add(ahead)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	synctest.Test(t, func(t *testing.T) { // whose clock stands still: the library reads it to year 9999, which takes seconds on a busy machine
		if shifts, err := parseICal(rule("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"), time.UTC, from, from.Add(ahead)); err != nil || len(shifts) != 0 {
			t.Errorf("a day that never comes: %v, %v", shifts, err)
		}
	})
}
