package approvals

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/approvals/oncall"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/pkg/ask"
)

// Schedule says who is on call when: a rotation, in which the people take turns of
// Every, the first from Start on, by the clocks of TimeZone; or what an iCalendar address or PagerDuty says.
type Schedule struct {
	Name   string    `json:"name"`
	Start  time.Time `json:"start"`
	Every  string    `json:"every"`  // in Go syntax, such as "168h"
	People []string  `json:"people"` // names of the list of people, or principals

	ICal      string     `json:"ical"` // https address of a calendar
	PagerDuty *PagerDuty `json:"pagerduty"`
	TimeZone  string     `json:"time_zone"` // of a rotation, or of a calendar's days and its times without a zone; default UTC
	Refresh   string     `json:"refresh"`   // how often it is read; default 5m

	every  time.Duration
	turns  [][]string // principals
	source oncall.Source
}

// PagerDuty are schedules of PagerDuty.
type PagerDuty struct {
	Schedules []string `json:"schedules"`  // their ids, such as PI7DH85
	TokenFile string   `json:"token_file"` // file with a read-only API key
	API       string   `json:"api"`        // default https://api.pagerduty.com
}

// Bounds of schedules.
const (
	maxSchedules = 100
	maxTurns     = 100
	maxIDs       = 20

	defaultRefresh = 5 * time.Minute
	minRefresh     = time.Minute
	maxRefresh     = 24 * time.Hour
)

func (f *File) checkSchedules(fault func(string, ...any)) {
	checkName := named(fault)
	for i := range f.Schedules {
		s, at := &f.Schedules[i], fmt.Sprintf("schedules[%d]", i)
		checkName(at, s.Name)
		rotation := !s.Start.IsZero() || s.Every != "" || len(s.People) > 0
		switch {
		case s.ICal != "" && s.PagerDuty != nil || rotation && (s.ICal != "" || s.PagerDuty != nil):
			fault("%s: give one of start, every and people; ical; or pagerduty", at)
		case s.ICal != "" || s.PagerDuty != nil:
			s.checkSource(at, fault)
		default:
			s.checkRotation(f, at, fault)
		}
	}
}

func (s *Schedule) checkRotation(f *File, at string, fault func(string, ...any)) {
	if s.Start.IsZero() {
		fault("%s.start: is missing; give when the first turn begins, such as 2026-11-23T09:00:00+01:00; or give ical or pagerduty", at)
	}
	if s.Refresh != "" {
		fault("%s: refresh is of ical and pagerduty", at)
	}
	checkZone(at+".time_zone", s.TimeZone, fault)
	var err error
	if s.every, err = time.ParseDuration(s.Every); err != nil || s.every < time.Minute {
		fault("%s.every: %.40q is not a turn of 1m or more, such as 168h", at, s.Every)
	}
	if n := len(s.People); n == 0 || n > maxTurns {
		fault("%s.people: %d turns; give 1 to %d", at, n, maxTurns)
		return
	}
	for j, who := range s.People {
		principals := f.principals(who)
		if len(principals) == 0 {
			fault("%s.people[%d]: %.80q is neither a name of people nor the principal of a person, such as oidc:id.example.com#mei@example.com", at, j, who)
		}
		s.turns = append(s.turns, principals)
	}
}

func (s *Schedule) checkSource(at string, fault func(string, ...any)) {
	s.source = oncall.Source{ICal: s.ICal, Zone: checkZone(at+".time_zone", s.TimeZone, fault), Every: checkRefresh(at+".refresh", s.Refresh, fault)}
	if s.ICal != "" {
		checkAddress(at+".ical", s.ICal, fault)
		return
	}
	p := s.PagerDuty
	if n := len(p.Schedules); n == 0 || n > maxIDs {
		fault("%s.pagerduty.schedules: %d ids; give 1 to %d, such as PI7DH85", at, n, maxIDs)
	}
	for i, id := range p.Schedules {
		if !ask.ValidToken(id) {
			fault("%s.pagerduty.schedules[%d]: %.40q is not the id of a schedule, such as PI7DH85", at, i, id)
		}
	}
	if p.TokenFile == "" {
		fault("%s.pagerduty.token_file: is missing; give a file with a read-only API key", at)
	}
	if p.API != "" {
		checkAddress(at+".pagerduty.api", p.API, fault)
	}
	s.source.PagerDuty = oncall.PagerDuty{API: strings.TrimSuffix(p.API, "/"), Schedules: strings.Join(p.Schedules, ","), TokenFile: p.TokenFile}
}

func checkAddress(at, address string, fault func(string, ...any)) {
	if err := oncall.CheckURL(address); err != nil {
		fault("%s: %s", at, err)
	}
}

func checkZone(at, zone string, fault func(string, ...any)) string {
	if _, err := time.LoadLocation(zone); err != nil || zone == "Local" || len(zone) > ask.MaxToken {
		fault("%s: %.40q is not a time zone such as Europe/Berlin", at, zone)
	}
	return zone
}

func checkRefresh(at, refresh string, fault func(string, ...any)) time.Duration {
	if refresh == "" {
		return defaultRefresh
	}
	every, err := time.ParseDuration(refresh)
	if err != nil || every < minRefresh || every > maxRefresh {
		fault("%s: %.40q is not from %s to %s, such as 5m", at, refresh, minRefresh, maxRefresh)
	}
	return every
}

// principals returns those of somebody who is named by the list of people, or by
// a principal.
func (f *File) principals(who string) []string {
	if i := slices.IndexFunc(f.People, func(p Person) bool { return p.Name == who }); i >= 0 {
		return f.People[i].Principals
	}
	if strings.Contains(who, ":") && assertion.CheckAsker([]string{who}) == nil {
		return []string{who}
	}
	return nil
}

// contact returns the principals of somebody whom a calendar or PagerDuty names:
// those of the person in the list of people who has that e-mail address in one of
// them, or that name; else the address itself, as "mailto:<address>", and then
// linked is false.
func (f *File) contact(c oncall.Contact) (principals []string, linked bool) {
	if c.Email != "" {
		for i := range f.People {
			for _, p := range f.People[i].Principals {
				if strings.EqualFold(address(p), c.Email) {
					return f.People[i].Principals, true
				}
			}
		}
	}
	if i := slices.IndexFunc(f.People, func(p Person) bool { return c.Name != "" && strings.EqualFold(p.Name, c.Name) }); i >= 0 && c.Email == "" {
		return f.People[i].Principals, true
	}
	if c.Email != "" && assertion.CheckAsker([]string{"mailto:" + c.Email}) == nil {
		return []string{"mailto:" + c.Email}, false
	}
	return nil, false
}

// address returns what a principal has after its kind, and one of OpenID after its provider.
func address(principal string) string {
	kind, rest, _ := strings.Cut(principal, ":")
	if _, value, named := strings.Cut(rest, "#"); named && kind == ask.ProofOIDC {
		return value
	}
	return rest
}

// Duty is who is on call by a schedule at a time.
type Duty struct {
	ask.Duty

	// Strangers are those whom it names and the list of people does not have.
	Strangers []string
	Err       error // why it cannot be read
}

// Note says what an operator should know of it, a line each: that it cannot be read,
// and whom nobody in the list of people is.
func (d *Duty) Note() (notes []string) {
	switch {
	case d.Err != nil && d.Unknown:
		notes = append(notes, fmt.Sprintf("schedule %s cannot be read, and never was since this process began, so nobody is on call by it: %s", d.Schedule, d.Err))
	case d.Err != nil:
		notes = append(notes, fmt.Sprintf("schedule %s cannot be read; what it said stays in effect, as of %s: %s", d.Schedule, d.AsOf.Format(time.RFC3339), d.Err))
	}
	if len(d.Strangers) > 0 {
		notes = append(notes, fmt.Sprintf("schedule %s names %s, who are not in the list of people: those with an e-mail address can decide with that address as their principal, the others cannot", d.Schedule, strings.Join(d.Strangers, ", ")))
	}
	return notes
}

// OnCall returns who is on call now by each schedule that the file has; read
// returns what a source said last. Before its start a rotation has nobody.
func (f *File) OnCall(now time.Time, read func(oncall.Source) oncall.Reading) []Duty {
	all := make([]Duty, 0, len(f.Schedules))
	for i := range f.Schedules {
		s := &f.Schedules[i]
		d := Duty{Duty: ask.Duty{Schedule: s.Name}}
		if s.source == (oncall.Source{}) {
			d.People = s.turn(now)
			all = append(all, d)
			continue
		}
		r := read(s.source)
		d.Unknown, d.Err = r.At.IsZero(), r.Err
		if r.Err != nil && !d.Unknown {
			d.AsOf = r.At.UTC().Truncate(time.Second)
		}
		for _, c := range oncall.At(r.Shifts, now) {
			principals, linked := f.contact(c)
			if !linked {
				d.Strangers = append(d.Strangers, cmp.Or(c.Email, c.Name))
			}
			for _, p := range principals {
				if !slices.Contains(d.People, p) && len(d.People) < ask.MaxOnCall {
					d.People = append(d.People, p)
				}
			}
		}
		all = append(all, d)
	}
	return all
}

// turn returns whose turn it is in a rotation. Turns are as long by the clocks of its
// zone: where these change, a turn of a day has 23 or 25 hours.
func (s *Schedule) turn(now time.Time) []string {
	if now.Before(s.Start) {
		return nil
	}
	zone, err := time.LoadLocation(s.TimeZone)
	if err != nil { // it was there when the file was read
		zone = time.UTC
	}
	wall := func(t time.Time) time.Time {
		t = t.In(zone)
		return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	}
	return s.turns[int(max(0, wall(now).Sub(wall(s.Start)))/s.every)%len(s.turns)]
}

// Sources returns where schedules and calendars are read, by a name for people.
func (f *File) Sources() map[string]oncall.Source {
	all := map[string]oncall.Source{}
	for i := range f.Schedules {
		if s := &f.Schedules[i]; s.source != (oncall.Source{}) {
			all["schedule "+s.Name] = s.source
		}
	}
	for i := range f.Calendars {
		if c := &f.Calendars[i]; c.source != (oncall.Source{}) {
			all["holidays of calendar "+c.Name] = c.source
		}
	}
	return all
}

// checkNamed checks that the file has the schedules that its policies name.
func (f *File) checkNamed(fault func(string, ...any)) {
	check := func(at string, p *ask.Approval) {
		named := ask.Ask{Approval: p}
		named.EachSchedule(func(pointer, entry string) {
			name, _, _ := ask.ScheduleOf(entry)
			if !slices.ContainsFunc(f.Schedules, func(s Schedule) bool { return s.Name == name }) {
				fault("%s%s: %.80q is none of the schedules of this file", at, strings.ReplaceAll(pointer, "/", "."), entry)
			}
		})
	}
	for i := range f.Policies {
		p, at := &f.Policies[i], fmt.Sprintf("policies[%d]", i)
		for j := range p.Rules {
			if p.Rules[j].approval != nil {
				check(fmt.Sprintf("%s.rules[%d]", at, j), p.Rules[j].approval)
			}
		}
		if p.Otherwise != nil && p.Otherwise.approval != nil {
			check(at+".otherwise", p.Otherwise.approval)
		}
	}
}
