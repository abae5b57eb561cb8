package approvals_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/approvals"
)

func TestWhoIsOnCall(t *testing.T) {
	t.Parallel()
	f := parse(t, `
people: [ { name: Mei, principals: ["oidc:mei@example.com", "os:mei"] } ]
schedules:
  - { name: sre, start: "2026-11-23T09:00:00+01:00", every: 168h, people: [Mei, "os:jo"] }
`)
	start := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		at   time.Time
		want []string
	}{
		"before its start":   {start.Add(-time.Second), nil},
		"the first turn":     {start, []string{"oidc:mei@example.com", "os:mei"}},
		"its last moment":    {start.Add(168*time.Hour - 1), []string{"oidc:mei@example.com", "os:mei"}},
		"the next":           {start.Add(168 * time.Hour), []string{"os:jo"}},
		"and from the first": {start.Add(2 * 168 * time.Hour), []string{"oidc:mei@example.com", "os:mei"}},
	} {
		if got := f.OnCall(c.at)["schedule:sre"]; !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if _, known := f.OnCall(start)["schedule:ops"]; known {
		t.Error("a schedule that the file does not have")
	}
}

func TestSchedulesThatAreRefused(t *testing.T) {
	t.Parallel()
	_, err := approvals.Parse([]byte(`
schedules:
  - { name: "a b", every: 1s, people: [] }
  - { name: sre, start: "2026-11-23T09:00:00Z", every: 24h, people: [Mei] }
  - { name: sre, start: "2026-11-23T09:00:00Z", every: soon, people: ["os:jo"] }
`))
	if err == nil {
		t.Fatal("they are taken")
	}
	for _, want := range []string{"schedules[0].name", "schedules[0].start", "schedules[0].every", "schedules[0].people", "schedules[1].people[0]", "schedules[2].name", "schedules[2].every"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not named: %v", want, err)
		}
	}
}
