// Package oncall reads from elsewhere when who is on call, and which days are
// holidays: from iCalendar addresses and from PagerDuty.
//
// It knows addresses and shifts, not people: which principals an e-mail address
// or a name has is for the approvals file to say. A [Keeper] holds what it read
// last, also while a source cannot be read, and says since when. Nobody but an
// operator's file names an address; agents cannot make it read anything.
package oncall

import (
	"context"
	"slices"
	"time"
)

// Source is where shifts are read. Exactly one of ICal and PagerDuty is set. It is
// comparable: a changed source is another one, unless only Every has changed.
type Source struct {
	ICal      string
	PagerDuty PagerDuty
	Zone      string // of days and of times without a zone, such as "Europe/Berlin"; empty: UTC
	Every     time.Duration
}

// Contact is somebody as a source names them.
type Contact struct {
	Email string // lower case; empty: unknown
	Name  string
}

// Shift is a time in which somebody is on call, or the time of an event that names
// nobody, such as a holiday.
type Shift struct {
	From, To time.Time
	Who      []Contact
}

// Bounds of what is read, and how far ahead: while a source cannot be read, what it
// said stays usable for that long.
const (
	maxEvents = 5_000
	maxShifts = 10_000
	maxWho    = 50
	behind    = 24 * time.Hour
	ahead     = 35 * 24 * time.Hour
)

// Fetch reads a source once.
func Fetch(ctx context.Context, s *Source, now time.Time) ([]Shift, error) {
	from, to := now.Add(-behind), now.Add(ahead)
	var shifts []Shift
	var err error
	if s.ICal != "" {
		var data []byte
		if data, err = get(ctx, s.ICal, nil); err == nil {
			shifts, err = parseICal(data, s.location(), from, to)
		}
	} else {
		shifts, err = s.PagerDuty.fetch(ctx, from, to)
	}
	return shifts, err
}

func (s *Source) location() *time.Location {
	if at, err := time.LoadLocation(s.Zone); err == nil {
		return at
	}
	return time.UTC
}

// At returns who is on call at a time.
func At(shifts []Shift, now time.Time) (who []Contact) {
	for i := range shifts {
		if shifts[i].From.After(now) || !now.Before(shifts[i].To) {
			continue
		}
		for _, c := range shifts[i].Who {
			if !slices.Contains(who, c) && len(who) < maxWho {
				who = append(who, c)
			}
		}
	}
	return who
}
