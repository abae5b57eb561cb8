package broker

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/bus/approvals"
	"github.com/askbus/askbus/internal/bus/approvals/oncall"
	"github.com/askbus/askbus/internal/process/metrics"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/pkg/ask"
)

// duties is who is on call, as this broker knows.
type duties struct {
	file func() *approvals.File // nil: there is none
	kept *oncall.Keeper
	now  func() time.Time

	mu     sync.Mutex
	seen   string    // who was on call at the last sweep
	turn   uint64    // counts the changes, and the sweeps that could not write them all
	turned time.Time // when the last change was seen
}

func newDuties(opts *Options, now func() time.Time) *duties {
	d := &duties{file: opts.Approvals, now: now}
	if opts.Approvals != nil {
		d.kept = oncall.NewKeeper(func() map[string]oncall.Source { return opts.Approvals().Sources() }, opts.Logger)
	}
	return d
}

// all returns who is on call by each schedule.
func (d *duties) all() []approvals.Duty {
	if d.file == nil {
		return nil
	}
	return d.file().OnCall(d.now(), d.kept.Of)
}

// changed counts how often it has changed who is on call, and returns when that last
// was.
func (d *duties) changed() (turn uint64, turned time.Time) {
	now := d.now()
	var who strings.Builder
	for _, one := range d.all() {
		fmt.Fprintf(&who, "%q %q %t\n", one.Schedule, one.People, one.Unknown)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := who.String(); s != d.seen || d.turn == 0 {
		d.seen = s
		d.turn++
		d.turned = now
	}
	return d.turn, d.turned
}

// again makes the next sweep say in every ask who is on call: not every ask could be
// written.
func (d *duties) again() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turn++
}

// onCall returns who is on call now, by the operator's schedules. It is never nil:
// a schedule that the operator does not have has nobody.
func (b *Broker) onCall() []ask.Duty {
	all := []ask.Duty{}
	for _, d := range b.duties.all() {
		all = append(all, d.Duty)
	}
	return all
}

// onCallFor returns who is on call now, if the ask has to do with schedules.
func (b *Broker) onCallFor(s *lifecycle.State) []ask.Duty {
	if s.Ask == nil || len(s.Ask.Escalate) == 0 && len(s.Ask.Schedules()) == 0 {
		return nil
	}
	return b.onCall()
}

// duty returns who is on call by the schedule that an entry of a list names; nil:
// it names none.
func (b *Broker) duty(entry string) (d *ask.Duty, known bool) {
	name, _, ok := ask.ScheduleOf(entry)
	if !ok {
		return nil, false
	}
	all := b.onCall()
	if i := slices.IndexFunc(all, func(d ask.Duty) bool { return d.Schedule == name }); i >= 0 {
		return &all[i], true
	}
	return &ask.Duty{Schedule: name}, false
}

// checkSchedules refuses an ask that only somebody could decide who is on call by a
// schedule that this bus does not have.
func (b *Broker) checkSchedules(a *ask.Ask) error {
	var faults []ask.Fault
	a.EachSchedule(func(at, entry string) {
		if _, known := b.duty(entry); !known {
			faults = append(faults, ask.NewFault(at, ask.FaultNoSchedule, ask.Clip(entry, 80)))
		}
	})
	return ask.InvalidError("ask", faults)
}

// offDuty says of each schedule that names who may decide an ask why that is nobody
// now.
func (b *Broker) offDuty(a *ask.Ask) (told []string) {
	for _, name := range a.Schedules() {
		if d, _ := b.duty("schedule:" + name); len(d.People) == 0 {
			told = append(told, fmt.Sprintf("nobody is on call in %q now, so nobody decides this ask by that schedule until somebody is", name))
		}
	}
	return told
}

// scheduleNotes says which schedules and calendars cannot be read, and whom they name
// that nobody knows.
func (b *Broker) scheduleNotes() (notes []string) {
	for _, d := range b.duties.all() {
		notes = append(notes, d.Note()...)
	}
	if b.duties.file != nil {
		notes = append(notes, b.duties.file().CalendarNotes(b.duties.kept.Of)...)
	}
	return notes
}

// schedules returns the figures of those that are read elsewhere.
func (b *Broker) schedules() (all []metrics.Schedule) {
	if b.duties.file == nil {
		return nil
	}
	for name, source := range b.duties.file().Sources() {
		r := b.duties.kept.Of(source)
		all = append(all, metrics.Schedule{Name: name, Failing: r.Err != nil, Read: r.At})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

// keepDuties reads the schedules of elsewhere until ctx ends.
func (b *Broker) keepDuties(ctx context.Context) {
	if b.duties.kept != nil {
		b.duties.kept.Run(ctx)
	}
}
