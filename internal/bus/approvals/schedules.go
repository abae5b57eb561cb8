package approvals

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/pkg/ask"
)

// Schedule says who is on call when: the people take turns of Every, the first
// from Start on.
type Schedule struct {
	Name   string    `json:"name"`
	Start  time.Time `json:"start"`
	Every  string    `json:"every"`  // in Go syntax, such as "168h"
	People []string  `json:"people"` // names of the list of people, or principals

	every time.Duration
	turns [][]string // principals
}

// Bounds of schedules.
const (
	maxSchedules = 100
	maxTurns     = 100
)

func (f *File) checkSchedules(fault func(string, ...any)) {
	names := map[string]bool{}
	for i := range f.Schedules {
		s, at := &f.Schedules[i], fmt.Sprintf("schedules[%d]", i)
		if !ask.ValidToken(s.Name) || names[s.Name] {
			fault("%s.name: %.80q is invalid or taken; use 1 to %d of A-Z a-z 0-9 _ -, each name once", at, s.Name, ask.MaxToken)
		}
		names[s.Name] = true
		if s.Start.IsZero() {
			fault("%s.start: is missing; give when the first turn begins, such as 2026-11-23T09:00:00+01:00", at)
		}
		var err error
		if s.every, err = time.ParseDuration(s.Every); err != nil || s.every < time.Minute {
			fault("%s.every: %.40q is not a turn of 1m or more, such as 168h", at, s.Every)
		}
		if n := len(s.People); n == 0 || n > maxTurns {
			fault("%s.people: %d turns; give 1 to %d", at, n, maxTurns)
			continue
		}
		for j, who := range s.People {
			principals := f.principals(who)
			if len(principals) == 0 {
				fault("%s.people[%d]: %.80q is neither a name of people nor the principal of a person, such as oidc:mei@example.com", at, j, who)
			}
			s.turns = append(s.turns, principals)
		}
	}
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

// OnCall returns the principals of who is on call now, for each entry
// "schedule:<name>" of a schedule that the file has. Before its start a schedule has nobody.
func (f *File) OnCall(now time.Time) map[string][]string {
	all := make(map[string][]string, len(f.Schedules))
	for i := range f.Schedules {
		s := &f.Schedules[i]
		var who []string
		if since := now.Sub(s.Start); since >= 0 {
			who = s.turns[int(since/s.every)%len(s.turns)]
		}
		all[schedulePrefix+s.Name] = who
	}
	return all
}

const schedulePrefix = "schedule:"

// IsSchedule reports whether an entry names a schedule.
func IsSchedule(entry string) bool { return strings.HasPrefix(entry, schedulePrefix) }
