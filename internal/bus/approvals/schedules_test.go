package approvals_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/approvals"
	"github.com/askbus/askbus/internal/bus/approvals/oncall"
)

func TestWhoIsOnCall(t *testing.T) {
	t.Parallel()
	f := parse(t, `
people: [ { name: Mei, principals: ["oidc:id.example.com#mei@example.com", "os:mei"] } ]
schedules:
  - { name: sre, start: "2026-11-23T09:00:00+01:00", every: 168h, people: [Mei, "os:jo"] }
`)
	zoned := parse(t, `schedules: [ { name: sre, start: "2026-03-26T09:00:00+01:00", every: 24h, time_zone: Europe/Berlin, people: ["os:mei", "os:jo"] } ]`)
	for at, want := range map[string]string{
		"2026-03-26T08:59:59+01:00": "", "2026-03-26T09:00:00+01:00": "os:mei", "2026-03-28T09:00:00+01:00": "os:mei",
		"2026-03-29T08:59:59+02:00": "os:mei", "2026-03-29T09:00:00+02:00": "os:jo", // a turn of 23 hours
		"2026-10-24T09:00:00+02:00": "os:mei", "2026-10-25T08:59:59+01:00": "os:mei", "2026-10-25T09:00:00+01:00": "os:jo", // and of 25
	} {
		now, err := time.Parse(time.RFC3339, at)
		if got := zoned.OnCall(now, nil); err != nil || strings.Join(got[0].People, " ") != want {
			t.Errorf("%s: %v, %v; want %s", at, got[0].People, err, want)
		}
	}
	start := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		at   time.Time
		want []string
	}{
		"before its start":   {start.Add(-time.Second), nil},
		"the first turn":     {start, []string{"oidc:id.example.com#mei@example.com", "os:mei"}},
		"its last moment":    {start.Add(168*time.Hour - 1), []string{"oidc:id.example.com#mei@example.com", "os:mei"}},
		"the next":           {start.Add(168 * time.Hour), []string{"os:jo"}},
		"and from the first": {start.Add(2 * 168 * time.Hour), []string{"oidc:id.example.com#mei@example.com", "os:mei"}},
	} {
		if got := f.OnCall(c.at, nil); len(got) != 1 || got[0].Schedule != "sre" || !slices.Equal(got[0].People, c.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestSchedulesThatAreRefused(t *testing.T) {
	t.Parallel()
	_, err := approvals.Parse([]byte(`
schedules:
  - { name: "a b", every: 1s, people: [] }
  - { name: sre, start: "2026-11-23T09:00:00Z", every: 24h, people: [Mei] }
  - { name: sre, start: "2026-11-23T09:00:00Z", every: soon, people: ["os:jo"] }
  - { name: both, start: "2026-11-23T09:00:00Z", every: 24h, people: ["os:jo"], ical: "https://example.com/x.ics" }
  - { name: plain, ical: "http://example.com/x.ics", time_zone: Berlin, refresh: 1s }
  - { name: pd, pagerduty: { schedules: [] } }
  - { name: zone, start: "2026-11-23T09:00:00Z", every: 24h, people: ["os:jo"], refresh: 5m }
  - { name: zone2, start: "2026-11-23T09:00:00Z", every: 24h, people: ["os:jo"], time_zone: Berlin }
policies:
  - { name: p, otherwise: { approval: { any_of: [ { from: ["schedule:sre", "schedule:ops"] } ] } } }
`))
	if err == nil {
		t.Fatal("they are taken")
	}
	for _, want := range []string{
		"schedules[0].name", "schedules[0].start", "schedules[0].every", "schedules[0].people", "schedules[1].people[0]", "schedules[2].name", "schedules[2].every",
		"schedules[3]: give one of", "schedules[4].ical: use https", "schedules[4].time_zone", "schedules[4].refresh", "schedules[5].pagerduty.schedules:", "schedules[5].pagerduty.token_file", "schedules[6]: refresh", "schedules[7].time_zone",
		`policies[0].otherwise.approval.any_of.0.from.1: "schedule:ops" is none of the schedules`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not named: %v", want, err)
		}
	}
}

func TestPeopleOfASchedule(t *testing.T) {
	t.Parallel()
	f := parse(t, `
people:
  - { name: Mei, principals: ["oidc:id.example.com#Mei@example.com", "slack:T01/U02"] }
  - { name: Jo, principals: ["os:jo", "mailto:jo@example.com"] }
schedules:
  - { name: sre, ical: "https://example.com/x.ics" }
`)
	now := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	shift := func(who ...oncall.Contact) oncall.Shift {
		return oncall.Shift{From: now.Add(-time.Hour), To: now.Add(time.Hour), Who: who}
	}
	for name, c := range map[string]struct {
		read      oncall.Reading
		want      []string
		strangers []string
		unknown   bool
		asOf      bool
	}{
		"an address in any letter case":   {oncall.Reading{At: now, Shifts: []oncall.Shift{shift(oncall.Contact{Email: "mei@example.com"})}}, []string{"oidc:id.example.com#Mei@example.com", "slack:T01/U02"}, nil, false, false},
		"an address for e-mail":           {oncall.Reading{At: now, Shifts: []oncall.Shift{shift(oncall.Contact{Email: "jo@example.com", Name: "Mei"})}}, []string{"os:jo", "mailto:jo@example.com"}, nil, false, false},
		"a name":                          {oncall.Reading{At: now, Shifts: []oncall.Shift{shift(oncall.Contact{Name: "jo"}, oncall.Contact{Name: "Eve"})}}, []string{"os:jo", "mailto:jo@example.com"}, []string{"Eve"}, false, false},
		"a name beside a foreign address": {oncall.Reading{At: now, Shifts: []oncall.Shift{shift(oncall.Contact{Email: "eve@example.com", Name: "Mei"})}}, []string{"mailto:eve@example.com"}, []string{"eve@example.com"}, false, false},
		"never read":                      {oncall.Reading{Err: errors.New("x")}, nil, nil, true, false},
		"read before":                     {oncall.Reading{At: now, Err: errors.New("x"), Shifts: []oncall.Shift{shift(oncall.Contact{Name: "Jo"})}}, []string{"os:jo", "mailto:jo@example.com"}, nil, false, true},
	} {
		d := f.OnCall(now, func(oncall.Source) oncall.Reading { return c.read })[0]
		if !slices.Equal(d.People, c.want) || !slices.Equal(d.Strangers, c.strangers) || d.Unknown != c.unknown || d.AsOf.IsZero() == c.asOf {
			t.Errorf("%s: %+v", name, d)
		}
		if notes := d.Note(); (len(notes) > 0) != (c.read.Err != nil || len(c.strangers) > 0) {
			t.Errorf("%s: %q", name, notes)
		}
	}
}
