package oncall

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/emersion/go-ical"
	"github.com/teambition/rrule-go"
)

// zones are the time zones that a calendar defines itself (VTIMEZONE), by their
// TZID: Outlook and Exchange call theirs "W. Europe Standard Time", or
// "Customized Time Zone". Names of IANA are taken from its database.
type zones struct {
	defined  map[string]*ical.Component
	made     map[string]*time.Location
	from, to time.Time // for which they are needed
	end      time.Time // when making them has taken too long
}

// Bounds of zones that are made of definitions.
const (
	maxZones = 20
	maxParts = 20 // STANDARD and DAYLIGHT of one
)

func zonesOf(cal *ical.Calendar, from, to time.Time) *zones {
	z := &zones{defined: map[string]*ical.Component{}, made: map[string]*time.Location{}, from: from, to: to, end: time.Now().Add(expandLimit)}
	for _, c := range cal.Children {
		if id, err := c.Props.Text(ical.PropTimezoneID); c.Name == ical.CompTimezone && err == nil {
			z.defined[id] = c
		}
	}
	return z
}

// settle makes an event independent of zones that only the calendar defines: the times
// of its start become times without a zone, in the zone that it returns, and others
// become UTC. at is the zone of times without one.
func (z *zones) settle(e *ical.Event, at *time.Location) (*time.Location, error) {
	start := at
	for _, name := range []string{ical.PropDateTimeStart, ical.PropDateTimeEnd, ical.PropRecurrenceID, ical.PropRecurrenceDates, ical.PropExceptionDates} {
		props := e.Props.Values(name)
		for i := range props {
			id := props[i].Params.Get(ical.ParamTimezoneID)
			if _, err := time.LoadLocation(id); err == nil {
				continue
			}
			zone, err := z.zone(id)
			if err != nil {
				return nil, fmt.Errorf("%s: time zone %.80q: %w", name, id, err)
			}
			props[i].Params.Del(ical.ParamTimezoneID)
			if name == ical.PropDateTimeStart {
				start = zone
			} else if props[i].Value, err = inUTC(props[i].Value, zone); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return start, nil
}

// inUTC returns local times of a zone, separated by commas, as times of UTC; days stay.
func inUTC(values string, zone *time.Location) (string, error) {
	all := strings.Split(values, ",")
	for i, value := range all {
		if value = strings.TrimSpace(value); len(value) == len("20060102") {
			continue
		}
		t, err := time.ParseInLocation("20060102T150405", value, zone)
		if err != nil {
			return "", err
		}
		all[i] = t.UTC().Format("20060102T150405Z")
	}
	return strings.Join(all, ","), nil
}

// zone returns the zone that the calendar defines.
func (z *zones) zone(id string) (*time.Location, error) {
	if at := z.made[id]; at != nil {
		return at, nil
	}
	c := z.defined[id]
	switch {
	case c == nil:
		return nil, errors.New("the file does not define it, and it is not one of IANA's, such as Europe/Berlin")
	case len(z.made) >= maxZones, len(c.Children) > maxParts:
		return nil, fmt.Errorf("the file uses more than %d zones of its own, or one of more than %d parts", maxZones, maxParts)
	}
	var all []change
	for _, part := range c.Children {
		changes, err := z.changes(part)
		switch {
		case err != nil:
			return nil, err
		case time.Now().After(z.end):
			return nil, errors.New("its definition recurs too often")
		}
		all = append(all, changes...)
	}
	if len(all) == 0 {
		return nil, errors.New("its definition says no offset")
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].at.Before(all[j].at) })
	at, err := time.LoadLocationFromTZData(id, tzData(all))
	if err == nil {
		z.made[id] = at
	}
	return at, err
}

// change is a moment at which the offset of a zone changes.
type change struct {
	at     time.Time
	offset int // seconds east of UTC
}

// changes returns when a part of a definition, STANDARD or DAYLIGHT, begins: its first
// time, and those of about four years.
func (z *zones) changes(part *ical.Component) (all []change, err error) {
	begins, from, to := part.Props.Get(ical.PropDateTimeStart), part.Props.Get(ical.PropTimezoneOffsetFrom), part.Props.Get(ical.PropTimezoneOffsetTo)
	if begins == nil || from == nil || to == nil {
		return nil, errors.New("its definition lacks DTSTART, TZOFFSETFROM or TZOFFSETTO")
	}
	before, err := offset(from.Value)
	if err != nil {
		return nil, err
	}
	after, err := offset(to.Value)
	if err != nil {
		return nil, err
	}
	wall := func(value string) (time.Time, error) { return time.Parse("20060102T150405", value) } // by the clock as it was before
	first, err := wall(begins.Value)
	if err != nil {
		return nil, fmt.Errorf("its definition: %w", err)
	}
	times := []time.Time{first}
	for _, p := range part.Props.Values(ical.PropRecurrenceDates) {
		for value := range strings.SplitSeq(p.Value, ",") {
			at, err := wall(strings.TrimSpace(value))
			if err != nil || len(times) > 1000 {
				return nil, errors.New("its definition: RDATE cannot be read, or has too many")
			}
			times = append(times, at)
		}
	}
	rule, err := part.Props.RecurrenceRule()
	if err != nil {
		return nil, err
	}
	if rule != nil {
		if rule.Freq != rrule.YEARLY || len(rule.Byhour)+len(rule.Byminute)+len(rule.Bysecond) > 0 || len(rule.Bysetpos) > 100 || rule.Interval < 0 || rule.Interval > 100 {
			return nil, errors.New("its definition does not recur yearly")
		}
		rule.Dtstart = first
		if years := z.from.Year() - 3 - first.Year(); years > 0 && rule.Count == 0 { // Outlook's begin in 1601, which is too far back for the library
			every := max(rule.Interval, 1)
			rule.Dtstart = first.AddDate((years+every-1)/every*every, 0, 0)
		}
		yearly, err := rrule.NewRRule(*rule)
		if err != nil {
			return nil, err
		}
		times = append(times, yearly.Between(z.from.AddDate(-2, 0, 0), z.to.AddDate(2, 0, 0), true)...)
	}
	for _, at := range times {
		all = append(all, change{at.Add(-time.Duration(before) * time.Second), after})
	}
	return all, nil
}

// offset reads "+0100" or "-033000".
func offset(s string) (seconds int, err error) {
	digits := strings.TrimLeft(s, "+-")
	n, err := strconv.Atoi((digits + "00")[:min(len(digits)+2, 6)])
	if err != nil || len(digits) != 4 && len(digits) != 6 || len(s) != len(digits)+1 {
		return 0, fmt.Errorf("its definition: %.20q is not an offset such as +0100", s)
	}
	seconds = n/10000*3600 + n/100%100*60 + n%100
	if s[0] == '-' {
		seconds = -seconds
	}
	return seconds, nil
}

// tzData writes changes as a file of IANA's database (RFC 8536), because that is what
// package time makes a zone of. Before the first change its offset counts as well.
func tzData(all []change) []byte {
	header := func(times, types, chars int) []byte {
		b := append([]byte("TZif2"), make([]byte, 15)...)
		for _, n := range []int{0, 0, 0, times, types, chars} {
			b = binary.BigEndian.AppendUint32(b, uint32(n)) //nolint:gosec // at most some thousands
		}
		return b
	}
	var offsets []int
	var index []byte
	for _, c := range all {
		i := slices.Index(offsets, c.offset)
		if i < 0 {
			i = len(offsets)
			offsets = append(offsets, c.offset)
		}
		index = append(index, byte(i)) //nolint:gosec // one for each part of a definition
	}
	const name = "LOC\x00"
	b := append(header(0, 0, 0), header(len(all), len(offsets), len(name))...)
	for _, c := range all {
		b = binary.BigEndian.AppendUint64(b, uint64(c.at.Unix())) //nolint:gosec // two's complement
	}
	b = append(b, index...)
	for _, o := range offsets {
		b = binary.BigEndian.AppendUint32(b, uint32(o)) //nolint:gosec // two's complement
		b = append(b, 0, 0)                             // not marked as daylight saving, its name the first
	}
	return append(append(b, name...), "\n\n"...)
}
