package ask

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of schedules.
const (
	MaxOnCall    = 30 // principals that are on call by one schedule
	MaxSchedules = 20 // entries of one ask that name schedules
)

// Duty is who is on call by a schedule of the operator.
type Duty struct {
	Schedule string
	People   []string  // principals
	AsOf     time.Time // set: the schedule could not be read since then
	// Unknown means that nobody knows: it has never been read. An ask that knew
	// who was on call then keeps what it knows.
	Unknown bool
}

// OnCall says that somebody was on call by a schedule.
type OnCall struct {
	Schedule string    `json:"schedule"`
	AsOf     time.Time `json:"as_of,omitzero"` // the schedule could not be read since then
}

// schedulePrefix begins an entry of an audience, of those who may vote, or of
// whom a step tells, that names a schedule: "schedule:sre". Behind it a broker
// lists who is on call, as "schedule:sre=os:mei" each. It does so again when that
// changes, so that every list shows who may decide now.
const schedulePrefix = "schedule:"

// ScheduleOf returns the schedule that an entry names; person is set in what a
// broker has added to it.
func ScheduleOf(entry string) (schedule, person string, ok bool) {
	rest, ok := strings.CutPrefix(entry, schedulePrefix)
	schedule, person, _ = strings.Cut(rest, "=")
	return schedule, person, ok
}

// collective reports whether an entry names people whose number nobody knows
// before they vote: a group or a schedule.
func collective(entry string) bool {
	return strings.HasPrefix(entry, "group:") || strings.HasPrefix(entry, schedulePrefix)
}

// Named returns a list with the principals of those who are on call, as if each
// was in it.
func Named(entries []string) []string {
	if !slices.ContainsFunc(entries, added) {
		return entries
	}
	all := slices.Clone(entries)
	for i, entry := range all {
		if _, person, ok := ScheduleOf(entry); ok && person != "" {
			all[i] = person
		}
	}
	return all
}

// added reports whether a broker has added an entry.
func added(entry string) bool { _, person, ok := ScheduleOf(entry); return ok && person != "" }

// Unresolved returns a list without what a broker has added: who is on call.
func Unresolved(entries []string) []string {
	if !slices.ContainsFunc(entries, added) {
		return entries
	}
	return slices.DeleteFunc(slices.Clone(entries), added)
}

// isNamed reports whether an entry of a list is about this person: it is one of
// their principals or groups, or a schedule by which they are on call, or were
// when they voted.
func isNamed(entry string, by By) bool {
	schedule, person, ok := ScheduleOf(entry)
	if ok {
		return person != "" && person == by.Principal || person == "" && slices.ContainsFunc(by.OnCall, func(on OnCall) bool { return on.Schedule == schedule })
	}
	return entry == by.Principal || slices.ContainsFunc(by.Groups, func(g string) bool { return entry == "group:"+g })
}

// lists returns all lists of people of an ask that may name schedules.
func (a *Ask) lists() (all []*[]string) {
	all = append(all, &a.Audience)
	if a.Approval == nil {
		return all
	}
	for i := range a.BreakGlass {
		all = append(all, &a.BreakGlass[i].From)
	}
	a.Approval.eachList("", func(_ string, list *[]string) { all = append(all, list) })
	return all
}

// Schedules returns the schedules that say who may decide the ask, each once.
func (a *Ask) Schedules() (all []string) {
	if len(a.Audience) == 0 && a.Approval == nil {
		return nil
	}
	for _, list := range a.lists() {
		for _, entry := range *list {
			if name, _, ok := ScheduleOf(entry); ok && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// OnDuty returns the ask with who is on call by each schedule that it names: the
// ask itself if that has not changed. A schedule that is not in duties has nobody.
func (a *Ask) OnDuty(duties []Duty) *Ask {
	if len(a.Schedules()) == 0 {
		return a
	}
	next := a.cloneLists()
	changed := false
	for _, list := range next.lists() {
		if to := onDuty(*list, duties); !slices.Equal(to, *list) {
			*list, changed = to, true
		}
	}
	if !changed {
		return a
	}
	return next
}

// onDuty returns a list with who is on call.
func onDuty(entries []string, duties []Duty) []string {
	of := func(schedule string) *Duty {
		if i := slices.IndexFunc(duties, func(d Duty) bool { return d.Schedule == schedule }); i >= 0 {
			return &duties[i]
		}
		return nil
	}
	to := make([]string, 0, len(entries))
	for _, entry := range entries {
		schedule, person, ok := ScheduleOf(entry)
		d := of(schedule)
		switch {
		case !ok:
			to = append(to, entry)
		case person != "":
			if d != nil && d.Unknown {
				to = append(to, entry)
			}
		default:
			to = append(to, entry)
			if d == nil || d.Unknown {
				continue
			}
			for i, who := range d.People {
				if i < MaxOnCall {
					to = append(to, schedulePrefix+schedule+"="+who)
				}
			}
		}
	}
	return to
}

// cloneLists returns a copy whose lists can be changed.
func (a *Ask) cloneLists() *Ask {
	next := *a
	next.BreakGlass = slices.Clone(a.BreakGlass)
	if a.Approval != nil {
		p := a.Approval.clone()
		p.And = slices.Clone(p.And)
		for i := range p.And {
			p.And[i] = p.And[i].clone()
		}
		next.Approval = &p
	}
	return &next
}

func (p *Approval) clone() Approval {
	next := *p
	if p.Deny != nil {
		next.Deny = new(*p.Deny)
	}
	next.AnyOf = slices.Clone(p.AnyOf)
	for i := range next.AnyOf {
		next.AnyOf[i].AllOf = slices.Clone(next.AnyOf[i].AllOf)
	}
	return next
}

// WithOnCall returns somebody with the schedules of the ask by which they, or whom
// they stand in for, are on call, as its lists say.
func (a *Ask) WithOnCall(by By, duties []Duty) By {
	if len(a.Schedules()) == 0 {
		return by
	}
	if by.For != nil {
		away := *by.For
		away.OnCall = a.onCall(away.Principal, duties)
		by.For = &away
		return by
	}
	by.OnCall = a.onCall(by.Principal, duties)
	return by
}

func (a *Ask) onCall(principal string, duties []Duty) (all []OnCall) {
	for _, list := range a.lists() {
		for _, entry := range *list {
			schedule, person, ok := ScheduleOf(entry)
			if !ok || person != principal || slices.ContainsFunc(all, func(on OnCall) bool { return on.Schedule == schedule }) {
				continue
			}
			on := OnCall{Schedule: schedule}
			if i := slices.IndexFunc(duties, func(d Duty) bool { return d.Schedule == schedule }); i >= 0 {
				on.AsOf = duties[i].AsOf
			}
			all = append(all, on)
		}
	}
	return all
}

// validateSchedules checks the entries of lists that name schedules. Who is on call
// is for the broker to say.
func (a *Ask) validateSchedules(f *faults) {
	n := 0
	a.EachSchedule(func(at, entry string) {
		n++
		if name, _, _ := ScheduleOf(entry); entry != schedulePrefix+name || !ValidToken(name) {
			f.add(at, FaultBadSchedule, clip(entry))
		}
	})
	if n > MaxSchedules {
		f.add("/audience", FaultTooMany, n, "schedules", MaxSchedules)
	}
}

// EachSchedule calls f with each entry that names a schedule, and where it is, in
// the lists that say who may decide the ask.
func (a *Ask) EachSchedule(f func(at, entry string)) {
	each := func(at string, entries []string) {
		for i, entry := range entries {
			if _, _, ok := ScheduleOf(entry); ok {
				f(at+"/"+strconv.Itoa(i), entry)
			}
		}
	}
	each("/audience", a.Audience)
	if a.Approval != nil {
		a.Approval.eachList("/approval", func(at string, list *[]string) { each(at, *list) })
	}
}

// eachList calls f with each list of people of an approval, and where it is.
func (p *Approval) eachList(at string, f func(at string, list *[]string)) {
	for i := range p.AnyOf {
		alt, at := &p.AnyOf[i], at+"/any_of/"+strconv.Itoa(i)
		f(at+"/from", &alt.From)
		for j := range alt.AllOf {
			f(at+"/all_of/"+strconv.Itoa(j)+"/from", &alt.AllOf[j].From)
		}
	}
	if p.Deny != nil {
		f(at+"/deny/from", &p.Deny.From)
	}
	for i := range p.And {
		p.And[i].eachList(at+"/and/"+strconv.Itoa(i), f)
	}
}
