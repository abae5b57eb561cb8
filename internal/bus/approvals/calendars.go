package approvals

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/approvals/oncall"
	"github.com/askbus/askbus/pkg/ask"
)

// Calendar says when an office is open: hours by weekday in its time zone, without
// the holidays. The steps of an ask that names it count only these hours.
type Calendar struct {
	Name     string              `json:"name"`
	TimeZone string              `json:"time_zone"`
	Hours    map[string][]string `json:"hours"`         // by weekday, or several as "mon-fri": "09:00-17:30" each; one past midnight belongs to the day on which it begins
	Holidays []string            `json:"holidays"`      // days such as "2026-12-25"
	ICal     string              `json:"holidays_ical"` // https address of a calendar: it is closed during each of its events
	Refresh  string              `json:"refresh"`       // how often that is read; default 12h

	zone    *time.Location
	days    [7][]hours // by weekday, Sunday first
	source  oncall.Source
	version string
}

// hours are minutes of a day: from one on, until before the other.
type hours struct{ from, to int }

// Bounds of calendars.
const (
	maxCalendars = 100
	maxHolidays  = 1000
	maxDayHours  = 6 // of one weekday

	defaultHolidays = 12 * time.Hour
)

func (f *File) checkCalendars(fault func(string, ...any)) {
	checkName := named(fault)
	for i := range f.Calendars {
		c, at := &f.Calendars[i], fmt.Sprintf("calendars[%d]", i)
		checkName(at, c.Name)
		if c.TimeZone == "" {
			fault("%s.time_zone: is missing; give one such as Europe/Berlin", at)
		}
		zone := checkZone(at+".time_zone", c.TimeZone, fault)
		if c.zone, _ = time.LoadLocation(zone); c.zone == nil {
			c.zone = time.UTC
		}
		c.checkHours(at+".hours", fault)
		if len(c.Holidays) > maxHolidays {
			fault("%s.holidays: %d days; give at most %d", at, len(c.Holidays), maxHolidays)
		}
		for j, day := range c.Holidays {
			c.Holidays[j] = strings.TrimSuffix(day, "T00:00:00Z") // as YAML reads it without quotes
			if _, err := time.Parse(time.DateOnly, c.Holidays[j]); err != nil {
				fault("%s.holidays[%d]: %.40q is not a day such as 2026-12-25", at, j, day)
			}
		}
		switch every := checkRefresh(at+".refresh", c.Refresh, fault); {
		case c.ICal != "":
			checkAddress(at+".holidays_ical", c.ICal, fault)
			if c.Refresh == "" {
				every = defaultHolidays
			}
			c.source = oncall.Source{ICal: c.ICal, Zone: zone, Every: every}
		case c.Refresh != "":
			fault("%s.refresh: is of holidays_ical", at)
		}
		c.version = digest(c)
	}
}

var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} //nolint:gochecknoglobals // a constant

func (c *Calendar) checkHours(at string, fault func(string, ...any)) {
	for name, list := range c.Hours {
		first, last, several := strings.Cut(strings.ToLower(strings.TrimSpace(name)), "-")
		if !several {
			last = first
		}
		from, to := slices.Index(weekdays, first), slices.Index(weekdays, last)
		if from < 0 || to < 0 {
			fault("%s: %.40q is not a weekday, or a range of them: use sun, mon, tue, wed, thu, fri, sat, or such as mon-fri", at, name)
			continue
		}
		var of []hours
		for i, text := range list {
			h, ok := readHours(text)
			if !ok {
				fault("%s.%s[%d]: %.40q is not a time such as 09:00-17:30, at most 24 hours from 00:00 to 24:00", at, name, i, text)
				continue
			}
			of = append(of, h)
		}
		for day := from; ; day = (day + 1) % 7 {
			if c.days[day] = append(c.days[day], of...); len(c.days[day]) > maxDayHours {
				fault("%s.%s: %s has more than %d times", at, name, weekdays[day], maxDayHours)
			}
			if day == to {
				break
			}
		}
	}
	if !slices.ContainsFunc(c.days[:], func(d []hours) bool { return len(d) > 0 }) {
		fault("%s: has no open hours; give some, such as mon-fri: [\"09:00-17:30\"]", at)
	}
}

// readHours reads "09:00-17:30", "22:00-06:00" or "00:00-24:00".
func readHours(s string) (h hours, ok bool) {
	from, to, _ := strings.Cut(s, "-")
	var begins, ends bool
	h.from, begins = minutes(strings.TrimSpace(from))
	h.to, ends = minutes(strings.TrimSpace(to))
	if begins && ends && h.to <= h.from { // past midnight
		ends = h.to != h.from
		h.to += 24 * 60
	}
	return h, begins && ends && h.from < 24*60
}

func minutes(s string) (int, bool) {
	hour, minute, _ := strings.Cut(s, ":")
	h, err := strconv.ParseUint(hour, 10, 6)
	m, wrong := strconv.ParseUint(minute, 10, 6)
	n := int(h*60 + m)
	return n, err == nil && wrong == nil && m < 60 && n <= 24*60 && len(minute) == 2
}

// Open are the open hours of a calendar for one ask.
type Open struct {
	ask.OpenHours

	// Unknown means that its holidays at another address were never read.
	Unknown bool
	Err     error // why they cannot be read
}

// OpenHours returns the open hours of the calendar with this name from a time on,
// until another; read returns what a source said last. ok is false if the file has
// no such calendar. f may be nil.
func (f *File) OpenHours(name string, from, until time.Time, read func(oncall.Source) oncall.Reading) (o Open, ok bool) {
	if f == nil {
		return o, false
	}
	i := slices.IndexFunc(f.Calendars, func(c Calendar) bool { return c.Name == name })
	if i < 0 {
		return o, false
	}
	c := &f.Calendars[i]
	o.Name, o.Version = c.Name, c.version
	var holidays []oncall.Shift
	if c.source != (oncall.Source{}) {
		r := read(c.source)
		holidays, o.Err, o.Unknown = r.Shifts, r.Err, r.At.IsZero()
		if r.Err != nil && !o.Unknown {
			o.AsOf = r.At.UTC().Truncate(time.Second)
		}
	}
	o.Spans = c.spans(from, until, holidays)
	return o, true
}

// spans returns the open hours, the first of them as a whole.
func (c *Calendar) spans(from, until time.Time, holidays []oncall.Shift) (all []ask.Span) {
	y, m, d := from.In(c.zone).Date()
	for n := -1; ; n++ { // hours of the day before may go past midnight
		midnight := time.Date(y, m, d+n, 0, 0, 0, 0, c.zone)
		if !midnight.Before(until) {
			break
		}
		for _, h := range c.days[midnight.Weekday()] {
			// By the clock on the wall: on a day on which the clocks change, too.
			s := ask.Span{From: time.Date(y, m, d+n, 0, h.from, 0, 0, c.zone), To: time.Date(y, m, d+n, 0, h.to, 0, 0, c.zone)}
			if s.To.After(until) {
				s.To = until.In(c.zone)
			}
			if s.From.Before(s.To) {
				all = append(all, s)
			}
		}
	}
	all = joined(all)
	for _, day := range c.Holidays {
		if at, err := time.ParseInLocation(time.DateOnly, day, c.zone); err == nil {
			all = without(all, at, at.AddDate(0, 0, 1))
		}
	}
	for i := range holidays {
		all = without(all, holidays[i].From, holidays[i].To)
	}
	all = slices.DeleteFunc(all, func(s ask.Span) bool { return !s.To.After(from) })
	return all[:min(len(all), ask.MaxSpans)]
}

// joined sorts spans and joins those that meet.
func joined(spans []ask.Span) (all []ask.Span) {
	sort.Slice(spans, func(i, j int) bool { return spans[i].From.Before(spans[j].From) })
	for _, s := range spans {
		if n := len(all); n > 0 && !s.From.After(all[n-1].To) {
			if s.To.After(all[n-1].To) {
				all[n-1].To = s.To
			}
			continue
		}
		all = append(all, s)
	}
	return all
}

// without takes the time from one time until another out of the spans.
func without(spans []ask.Span, from, to time.Time) []ask.Span {
	meets := func(s ask.Span) bool { return s.From.Before(to) && from.Before(s.To) }
	if !slices.ContainsFunc(spans, meets) {
		return spans
	}
	var all []ask.Span
	for _, s := range spans {
		if !meets(s) {
			all = append(all, s)
			continue
		}
		if s.From.Before(from) {
			all = append(all, ask.Span{From: s.From, To: from.In(s.From.Location())})
		}
		if to.Before(s.To) {
			all = append(all, ask.Span{From: to.In(s.From.Location()), To: s.To})
		}
	}
	return all
}

// CalendarNotes says which calendars' holidays cannot be read.
func (f *File) CalendarNotes(read func(oncall.Source) oncall.Reading) (notes []string) {
	for i := range f.Calendars {
		c := &f.Calendars[i]
		if c.source == (oncall.Source{}) {
			continue
		}
		switch r := read(c.source); {
		case r.Err != nil && r.At.IsZero():
			notes = append(notes, fmt.Sprintf("the holidays of calendar %s cannot be read, and never were since this process began, so its ladders do not know them: %s", c.Name, r.Err))
		case r.Err != nil:
			notes = append(notes, fmt.Sprintf("the holidays of calendar %s cannot be read; what was read stays in effect, as of %s: %s", c.Name, r.At.UTC().Format(time.RFC3339), r.Err))
		}
	}
	return notes
}
