package chat

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/askbus/askbus/internal/answering/waiting"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// Bounds of what a digest says and counts.
const (
	digestNames   = 5 // of each list
	digestTenants = 20
	digestName    = 40 // characters of a name
	countTenants  = 1000
)

// maxDigestLine is the most characters of a line of a digest.
const maxDigestLine = 200

// Digest is what waiting for people cost in a week, and where that is posted.
type Digest struct {
	To  Target // the language is that of the place
	Key string // the same on every replica

	from, at time.Time
	all      *week
	tenants  map[string]*week // of a surface of all tenants
}

// week counts a week, and the one before.
type week struct{ this, before *waiting.Counter }

func newWeek(from, at time.Time) *week {
	return &week{waiting.NewPeriod(from, at), waiting.NewPeriod(from.AddDate(0, 0, -7), from)}
}

func (w *week) add(r *ask.Record) {
	w.this.Add(r)
	w.before.Add(r)
}

// counted counts the week before a time: of the surface's tenant, or of those whose figures people in the place may read.
func (s *Surface) counted(ctx context.Context, at time.Time) (*Digest, error) {
	ctx, cancel := context.WithTimeout(ctx, countFor*9/10) // then another replica may count
	defer cancel()
	routes, tenant := s.Routes(), s.Bus.Tenant()
	d := &Digest{To: s.weekly.target(routes), from: at.AddDate(0, 0, -7), at: at, tenants: map[string]*week{}}
	d.all = newWeek(d.from, at)
	for r, err := range s.Bus.All(ctx, responder.Query{Tenant: tenant, PageSize: 500}) {
		switch {
		case err != nil:
			return nil, err
		case !r.AskedAt.Before(at) || r.Outcome != nil && r.Outcome.At.Before(d.from.AddDate(0, 0, -7)): // of neither week
		case tenant != "":
			d.all.add(&r)
		case routes.shows(r.Ask.Tenant, d.To.Place()):
			d.all.add(&r)
			d.of(&r).add(&r)
		}
	}
	return d, ctx.Err()
}

// of returns the week of a record's tenant; beyond the bound all have one together.
func (d *Digest) of(r *ask.Record) *week {
	name := r.Ask.Tenant
	if d.tenants[name] == nil && len(d.tenants) >= countTenants {
		name = waiting.Others
	}
	if d.tenants[name] == nil {
		d.tenants[name] = newWeek(d.from, d.at)
	}
	return d.tenants[name]
}

// Lines returns the digest in a language, or, if it is empty, in that of the place; a title first. Names are other people's
// words. Several tenants have their totals, without the names of people and agents.
func (d *Digest) Lines(language string) []string {
	l := lang.Of(cmp.Or(language, d.To.Language))
	day := func(at time.Time) string { return card.Viewer{Lang: l.Tag, Zone: at.Location()}.Day(at) }
	s, before := d.all.this.Stats(), d.all.before.Stats()
	than := func(this, before string) string { return l.Say("%[1]s (the week before: %[2]s)", this, before) }
	lines := []string{
		l.Say("askbus, %[1]s to %[2]s", day(d.from), day(d.at)),
		l.Say("Agents waited: %s", than(hours(l, s.Waited), hours(l, before.Waited))),
		l.Say("Questions asked: %s", than(strconv.Itoa(s.Asked), strconv.Itoa(before.Asked))),
		l.Say("Answered by people: %s", than(strconv.Itoa(s.Answered), strconv.Itoa(before.Answered))),
		l.Say("Half of the answers came within: %s", than(half(l, s.Answered, s.Median), half(l, before.Answered, before.Median))),
	}
	if len(d.tenants) > 1 {
		return append(lines, d.byTenant(l)...)
	}
	if noisy := waiting.Noisiest(s.Agents); noisy.Asked > 0 {
		lines = append(lines, l.Say("%s asked most.", shortName(noisy.Name)))
	}
	lines = append(lines, list(l, l.Say("Who answered"), s.People, digestNames, func(one *waiting.Line) string {
		return l.Say("%[1]s: %[2]d answered, half within %[3]s", shortName(one.Name), one.Answered, half(l, one.Answered, one.Median))
	})...)
	waits := func(one *waiting.Line) string { return waits(l, one) }
	lines = append(lines, list(l, l.Say("Who waited"), s.Agents, digestNames, waits)...)
	return append(lines, list(l, l.Say("Whom the questions were for"), s.Teams, digestNames, waits)...)
}

// byTenant returns the totals of each tenant, who waited longest first.
func (d *Digest) byTenant(l *lang.Language) []string {
	var all []waiting.Line
	for _, name := range slices.Sorted(maps.Keys(d.tenants)) {
		if s := d.tenants[name].this.Stats(); s.Waited > 0 || s.Asked > 0 || s.Answered > 0 {
			all = append(all, waiting.Line{Name: name, Asked: s.Asked, Answered: s.Answered, Median: s.Median, Waited: s.Waited})
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Waited > all[j].Waited })
	return list(l, l.Say("Tenants"), all, digestTenants, func(one *waiting.Line) string { return waits(l, one) })
}

// list returns a heading and the first lines of a list; nothing without any.
func list(l *lang.Language, title string, all []waiting.Line, most int, line func(*waiting.Line) string) (lines []string) {
	if len(all) == 0 {
		return nil
	}
	lines = append(lines, title)
	for i := range all[:min(len(all), most)] {
		lines = append(lines, "• "+line(&all[i]))
	}
	if more := len(all) - most; more > 0 {
		lines = append(lines, l.Say("… and %d more", more))
	}
	return lines
}

func waits(l *lang.Language, one *waiting.Line) string {
	name := shortName(one.Name)
	if one.Name == waiting.Everybody {
		name = l.Say("everybody")
	}
	return l.Say("%[1]s: waited %[2]s, %[3]d asked, %[4]d answered", name, hours(l, one.Waited), one.Asked, one.Answered)
}

func shortName(name string) string { return ask.Clip(ask.CleanLine(name), digestName) }

// hours is the time of all agents, of which a tenth of an hour is little.
func hours(l *lang.Language, d waiting.Seconds) string {
	if time.Duration(d) < time.Hour {
		return l.Say("%d min", int(time.Duration(d).Minutes()))
	}
	return l.Say("%s h", fmt.Sprintf("%.1f", time.Duration(d).Hours()))
}

// half is the median to an answer.
func half(l *lang.Language, answered int, d waiting.Seconds) string {
	if answered == 0 {
		return "–"
	}
	var began time.Time
	return card.Viewer{Lang: l.Tag}.When(began, began.Add(time.Duration(d)), card.Since).Words
}
