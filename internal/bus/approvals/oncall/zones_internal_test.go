package oncall

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// outlook is a time zone as Outlook and Exchange write it.
func outlook(id, standard, daylight string, rules ...string) string {
	part := func(name, from, to, rule string) string {
		return "BEGIN:" + name + "\r\nDTSTART:16010101T030000\r\nTZOFFSETFROM:" + from + "\r\nTZOFFSETTO:" + to + "\r\n" + rule + "END:" + name + "\r\n"
	}
	if len(rules) == 0 {
		return "BEGIN:VTIMEZONE\r\nTZID:" + id + "\r\n" + part("STANDARD", standard, standard, "") + "END:VTIMEZONE\r\n"
	}
	return "BEGIN:VTIMEZONE\r\nTZID:" + id + "\r\n" + part("STANDARD", daylight, standard, "RRULE:FREQ=YEARLY;"+rules[0]+"\r\n") + part("DAYLIGHT", standard, daylight, "RRULE:FREQ=YEARLY;"+rules[1]+"\r\n") + "END:VTIMEZONE\r\n"
}

// A zone that the calendar defines is that of its hours, also after the clocks change.
func TestZonesThatACalendarDefines(t *testing.T) {
	t.Parallel()
	europe := []string{"BYDAY=-1SU;BYMONTH=10", "BYDAY=-1SU;BYMONTH=3"}
	for name, c := range map[string]struct {
		zone, want string
		id         string
	}{
		"Berlin":           {outlook("W. Europe Standard Time", "+0100", "+0200", europe...), "Europe/Berlin", "W. Europe Standard Time"},
		"a name in quotes": {outlook("(UTC+01:00) Amsterdam\\, Berlin", "+0100", "+0200", europe...), "Europe/Berlin", `"(UTC+01:00) Amsterdam, Berlin"`},
		"without summer":   {outlook("India Standard Time", "+0530", ""), "Asia/Kolkata", "India Standard Time"},
		"the west":         {outlook("Eastern Standard Time", "-0500", "-0400", "BYDAY=1SU;BYMONTH=11", "BYDAY=2SU;BYMONTH=3"), "America/New_York", "Eastern Standard Time"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			there, err := time.LoadLocation(c.want)
			if err != nil {
				t.Fatal(err)
			}
			weekly := event("UID:w", "SUMMARY:Mei", "DTSTART;TZID="+c.id+":20261005T030000", "DTEND;TZID="+c.id+":20261005T110000", "RRULE:FREQ=WEEKLY", "EXDATE;TZID="+c.id+":20261019T030000,20261026T030000")
			moved := event("UID:w", "SUMMARY:Jo", "RECURRENCE-ID;TZID="+c.id+":20261109T030000", "DTSTART;TZID="+c.id+":20261110T030000", "DTEND;TZID="+c.id+":20261110T110000")
			shifts, err := parseICal(calendar(c.zone, weekly, moved), time.UTC, time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range shifts {
				got = append(got, s.From.In(there).Format("0102T15 ")+s.To.In(there).Format("15 ")+s.Who[0].Name)
			}
			if want := "1005T03 11 Mei, 1012T03 11 Mei, 1102T03 11 Mei, 1110T03 11 Jo, 1116T03 11 Mei"; strings.Join(got, ", ") != want {
				t.Errorf("%s\nwant %s", strings.Join(got, ", "), want)
			}
		})
	}
}

// The made zone agrees with IANA's each hour of two years.
func TestAMadeZoneIsExact(t *testing.T) {
	t.Parallel()
	cal := outlook("W. Europe Standard Time", "+0100", "+0200", "BYDAY=-1SU;BYMONTH=10", "BYDAY=-1SU;BYMONTH=3")
	cal = strings.ReplaceAll(strings.Replace(cal, "BEGIN:DAYLIGHT\r\nDTSTART:16010101T030000", "BEGIN:DAYLIGHT\r\nDTSTART:16010101T020000", 1), "\r\n\r\n", "\r\n")
	at := berlin(t)
	for month := range 24 {
		hour := time.Date(2026, time.Month(1+month), 25, 0, 0, 0, 0, time.UTC)
		var events []string
		for n := range 24 * 8 {
			events = append(events, event(fmt.Sprint("UID:", n), "SUMMARY:Mei", "DTSTART;TZID=W. Europe Standard Time:"+hour.Add(time.Duration(n)*time.Hour).In(at).Format("20060102T150405"), "DURATION:PT1H"))
		}
		shifts, err := parseICal(calendar(append([]string{cal}, events...)...), time.UTC, hour.Add(-time.Hour), hour.Add(9*24*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, s := range shifts {
			seen[s.From.In(at).Format(time.DateTime)] = true
		}
		for n := range 24 * 8 {
			if when := hour.Add(time.Duration(n) * time.Hour).In(at).Format(time.DateTime); !seen[when] {
				t.Fatalf("%s is another hour", when)
			}
		}
	}
}

func TestZonesThatAreRefused(t *testing.T) {
	t.Parallel()
	good := outlook("X", "+0100", "+0200", "BYDAY=-1SU;BYMONTH=10", "BYDAY=-1SU;BYMONTH=3")
	from := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct{ zone, want string }{
		"not defined":       {"", "the file does not define it"},
		"no offset":         {"BEGIN:VTIMEZONE\r\nTZID:X\r\nEND:VTIMEZONE\r\n", "says no offset"},
		"a bad offset":      {strings.ReplaceAll(good, "+0200", "2"), "not an offset"},
		"a part lacks":      {strings.ReplaceAll(good, "TZOFFSETTO", "X-TO"), "lacks DTSTART"},
		"it recurs daily":   {strings.ReplaceAll(good, "FREQ=YEARLY", "FREQ=DAILY"), "does not recur yearly"},
		"too many parts":    {"BEGIN:VTIMEZONE\r\nTZID:X\r\n" + strings.Repeat("BEGIN:STANDARD\r\nEND:STANDARD\r\n", 21) + "END:VTIMEZONE\r\n", "more than"},
		"never in any year": {strings.ReplaceAll(good, "BYDAY=-1SU;BYMONTH=10", "BYMONTH=2;BYMONTHDAY=30"), ""},
	} {
		var err error
		synctest.Test(t, func(*testing.T) { // its clock stands still: recurring for ever takes seconds on a busy machine
			_, err = parseICal(calendar(c.zone, event("UID:w", "SUMMARY:Mei", "DTSTART;TZID=X:20261005T030000", "DURATION:PT1H")), time.UTC, from, from.AddDate(0, 1, 0))
		})
		if c.want == "" && err == nil {
			continue
		}
		if err == nil || c.want == "" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
