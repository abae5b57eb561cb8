package approvals_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/approvals"
	"github.com/askbus/askbus/internal/bus/approvals/oncall"
	"github.com/google/go-cmp/cmp"
)

func TestOpenHours(t *testing.T) {
	t.Parallel()
	const daily = `hours: { mon-fri: ["09:00-17:00"] }`
	for name, c := range map[string]struct {
		calendar, from, until string
		read                  []oncall.Shift
		want                  []string
	}{
		"a week": {
			`time_zone: Europe/Berlin, hours: { mon-thu: ["09:00-12:30", "13:30-18:00"], fri: ["09:00-15:00"] }`, "2026-11-26T11:00:00Z", "2026-11-30T23:00:00Z", nil,
			[]string{"2026-11-26T09:00:00+01:00 12:30", "2026-11-26T13:30:00+01:00 18:00", "2026-11-27T09:00:00+01:00 15:00", "2026-11-30T09:00:00+01:00 12:30", "2026-11-30T13:30:00+01:00 18:00"},
		},
		"the clocks go back": { // on Sunday, 1 November
			`time_zone: America/New_York, ` + daily, "2026-10-30T20:00:00Z", "2026-11-02T23:00:00Z", nil,
			[]string{"2026-10-30T09:00:00-04:00 17:00", "2026-11-02T09:00:00-05:00 17:00"},
		},
		"the clocks go forward within the hours": { // on Sunday, 29 March: seven hours
			`time_zone: Europe/Berlin, hours: { sun: ["00:00-08:00"] }`, "2026-03-28T20:00:00Z", "2026-03-29T23:00:00Z", nil,
			[]string{"2026-03-29T00:00:00+01:00 08:00"},
		},
		"past midnight": {
			`time_zone: UTC, hours: { fri: ["22:00-06:00"] }`, "2026-11-28T01:00:00Z", "2026-12-05T01:00:00Z", nil,
			[]string{"2026-11-27T22:00:00Z 06:00", "2026-12-04T22:00:00Z 01:00"},
		},
		"always": {
			`time_zone: UTC, hours: { mon-sun: ["00:00-24:00"] }`, "2026-11-28T01:00:00Z", "2026-12-05T02:00:00Z", nil,
			[]string{"2026-11-27T00:00:00Z 02:00"},
		},
		"times that meet or overlap": {
			`time_zone: UTC, hours: { sat: ["12:00-14:00", "09:00-12:00", "13:00-15:00"] }`, "2026-11-28T01:00:00Z", "2026-11-29T02:00:00Z", nil,
			[]string{"2026-11-28T09:00:00Z 15:00"},
		},
		"over the weekend by a range that wraps": {
			`time_zone: UTC, hours: { sat-mon: ["09:00-10:00"] }`, "2026-11-27T01:00:00Z", "2026-12-02T00:00:00Z", nil,
			[]string{"2026-11-28T09:00:00Z 10:00", "2026-11-29T09:00:00Z 10:00", "2026-11-30T09:00:00Z 10:00"},
		},
		"holidays": {
			`time_zone: Europe/Berlin, ` + daily + `, holidays: [2026-12-25, "2026-12-26"]`, "2026-12-24T07:00:00Z", "2026-12-28T23:00:00Z", nil,
			[]string{"2026-12-24T09:00:00+01:00 17:00", "2026-12-28T09:00:00+01:00 17:00"},
		},
		"a holiday after a night": {
			`time_zone: UTC, hours: { thu: ["22:00-06:00"] }, holidays: ["2026-12-25"]`, "2026-12-24T07:00:00Z", "2026-12-28T23:00:00Z", nil,
			[]string{"2026-12-24T22:00:00Z 00:00"},
		},
		"holidays that are read": {
			`time_zone: UTC, ` + daily + `, holidays_ical: "https://example.com/x.ics"`, "2026-12-24T07:00:00Z", "2026-12-25T23:00:00Z",
			[]oncall.Shift{{From: at("2026-12-24T12:00:00Z"), To: at("2026-12-24T13:00:00Z")}, {From: at("2026-12-25T00:00:00Z"), To: at("2026-12-26T00:00:00Z")}},
			[]string{"2026-12-24T09:00:00Z 12:00", "2026-12-24T13:00:00Z 17:00"},
		},
		"a day that the deadline ends": {
			`time_zone: UTC, ` + daily, "2026-11-27T16:00:00Z", "2026-11-30T09:10:00Z", nil,
			[]string{"2026-11-27T09:00:00Z 17:00", "2026-11-30T09:00:00Z 09:10"},
		},
		"closed until the deadline": {`time_zone: UTC, ` + daily, "2026-11-27T17:00:00Z", "2026-11-30T09:00:00Z", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := parse(t, `calendars: [ { name: office, `+c.calendar+` } ]`)
			open, ok := f.OpenHours("office", at(c.from), at(c.until), func(oncall.Source) oncall.Reading { return oncall.Reading{At: at(c.from), Shifts: c.read} })
			if !ok || open.Name != "office" || len(open.Version) != 12 || open.Unknown {
				t.Errorf("%+v, %t", open, ok)
			}
			var got []string
			for _, s := range open.Spans {
				got = append(got, s.From.Format(time.RFC3339)+s.To.Format(" 15:04"))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHolidaysThatCannotBeRead(t *testing.T) {
	t.Parallel()
	f := parse(t, `calendars: [ { name: office, time_zone: UTC, hours: { mon: ["09:00-17:00"] }, holidays_ical: "https://example.com/x.ics" } ]`)
	monday := at("2026-11-30T00:00:00Z")
	reading := oncall.Reading{Err: errors.New("example.com answered 500")}
	open, ok := f.OpenHours("office", monday, monday.Add(24*time.Hour), func(oncall.Source) oncall.Reading { return reading })
	if !ok || !open.Unknown || open.Err == nil || len(open.Spans) != 1 || !open.AsOf.IsZero() {
		t.Errorf("never read: %+v, %t", open, ok)
	}
	reading.At, reading.Shifts = monday.Add(-time.Hour), []oncall.Shift{{From: monday, To: monday.Add(12 * time.Hour)}}
	if open, _ = f.OpenHours("office", monday, monday.Add(24*time.Hour), func(oncall.Source) oncall.Reading { return reading }); open.Unknown || !open.AsOf.Equal(reading.At) || open.Spans[0].From.Hour() != 12 {
		t.Errorf("read before: %+v", open)
	}
	if notes := strings.Join(f.CalendarNotes(func(oncall.Source) oncall.Reading { return reading }), "\n"); !strings.Contains(notes, "as of 2026-11-29T23:00:00Z: example.com answered 500") {
		t.Error(notes)
	}
	if _, ok := f.OpenHours("other", monday, monday, nil); ok {
		t.Error("a calendar that it does not have")
	}
	if sources := f.Sources(); len(sources) != 1 || sources["holidays of calendar office"].Every != 12*time.Hour {
		t.Errorf("%+v", sources)
	}
}

func TestCalendarsThatAreRefused(t *testing.T) {
	t.Parallel()
	_, err := approvals.Parse([]byte(`
calendars:
  - { name: "a b", time_zone: Berlin, hours: { monday: ["09:00-17:00"] } }
  - { name: x, hours: { mon: ["9-17", "25:00-26:00", "09:00-09:00", "24:00-25:00"] }, holidays: ["25 Dec"], refresh: 1h }
  - { name: x, time_zone: UTC, hours: { mon: [] }, holidays_ical: "http://example.com", refresh: 1s }
  - { name: y, time_zone: UTC, hours: { mon-wed: ["00:00-01:00", "02:00-03:00", "04:00-05:00", "06:00-07:00"], tue: ["08:00-09:00", "10:00-11:00", "12:00-13:00"] } }
`))
	if err == nil {
		t.Fatal("they are taken")
	}
	for _, want := range []string{
		"calendars[0].name", "calendars[0].time_zone", `calendars[0].hours: "monday" is not a weekday`, "calendars[1].time_zone: is missing", "calendars[1].hours.mon[0]", "calendars[1].hours.mon[1]", "calendars[1].hours.mon[2]",
		"calendars[1].hours.mon[3]", "calendars[1].hours: has no open hours", "calendars[1].holidays[0]", "calendars[1].refresh: is of holidays_ical", "calendars[2].name", "calendars[2].hours: has no open hours",
		"calendars[2].holidays_ical: use https", "calendars[2].refresh", "tue has more than 6 times",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not named: %v", want, err)
		}
	}
}

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t
}
