package chat

import (
	"strings"
	"testing"
	"time"
)

func TestSettingsOfADigest(t *testing.T) {
	t.Parallel()
	ids := &IDs{Channel: "^C[0-9]+$", Person: "^U[0-9]+$"}
	for text, want := range map[string]string{
		"mon 09:00 Europe/Berlin": "", "Friday 17:30": "", "SUN 00:00 Asia/Shanghai": "",
		"mon": "not two or three words; give a day, a time and a time zone", "mon 09:00 Europe Berlin": "not two or three words", "moon 09:00": "not a day of the week",
		"mon 9am": "not a time of day", "mon 25:00": "not a time of day", "mon 09:00 Berlin": "not a time zone", "mon 09:00 Local": "not a time zone",
	} {
		w, err := newWeekly("slack", &Options{Digest: text}, ids)
		if want == "" && (err != nil || w == nil) {
			t.Errorf("%q: %v", text, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "ASKBUS_SLACK_DIGEST is ")) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if w, err := newWeekly("slack", &Options{}, ids); w != nil || err != nil {
		t.Error(w, err)
	}
	for place, want := range map[string]string{"C1": "", "U1": "", "x": "ASKBUS_SLACK_DIGEST_PLACE is \"x\""} {
		_, err := newWeekly("slack", &Options{Digest: "mon 09:00", DigestPlace: place}, ids)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", place, err)
		}
	}
	if _, err := newWeekly("slack", &Options{DigestPlace: "C1"}, ids); err == nil || !strings.Contains(err.Error(), "also needs ASKBUS_SLACK_DIGEST,") {
		t.Error(err)
	}
}

// A digest is due once in each calendar week, also where clocks skip or repeat its time.
func TestADigestIsDueOnceAWeek(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"sun 02:30 Europe/Berlin", "sun 01:59 America/New_York", "mon 09:00 Europe/Berlin", "mon 00:00 Pacific/Auckland", "sun 23:59 UTC"} {
		w, err := parseWeekly(text)
		if err != nil {
			t.Fatal(err)
		}
		var before time.Time
		weeks := map[[2]int]time.Time{}
		begin := time.Date(2026, 1, 7, 0, 0, 0, 0, time.UTC)
		for now := begin; now.Before(begin.AddDate(1, 0, 0)); now = now.Add(5 * time.Minute) {
			at := w.last(now)
			if at.After(now) || at.Before(before) || now.Sub(at) > 7*24*time.Hour+time.Hour {
				t.Fatalf("%s: at %s it is %s, before that %s", text, now, at, before)
			}
			before = at
			if at.Weekday() != w.day {
				t.Fatalf("%s: %s", text, at)
			}
			year, week := at.ISOWeek()
			if one, ok := weeks[[2]int{year, week}]; ok && !one.Equal(at) {
				t.Fatalf("%s: %s and %s are in one week", text, one, at)
			}
			weeks[[2]int{year, week}] = at
		}
		if len(weeks) != 53 {
			t.Errorf("%s: %d weeks", text, len(weeks))
		}
	}
}

// Whom a rule gives a place of their own is counted there, and nowhere else.
func TestWhoseFiguresAPlaceShows(t *testing.T) {
	t.Parallel()
	r := &Routes{Default: Target{Channel: "C1"}, Rules: []Rule{
		{Match: Match{Tenant: "acme"}, To: Target{Channel: "C2", Language: "zh"}},
		{Match: Match{Tenant: "team-*"}, To: Target{Person: "U1"}},
		{Match: Match{Priority: []string{"urgent"}}, To: Target{Channel: "C3"}},
	}}
	for _, c := range []struct {
		place, tenants string
	}{{"C1", "beta"}, {"C2", "acme"}, {"U1", "team-x"}, {"C3", "beta"}, {"C9", "beta"}} {
		var shown []string
		for _, tenant := range []string{"acme", "beta", "team-x"} {
			if r.shows(tenant, c.place) {
				shown = append(shown, tenant)
			}
		}
		if got := strings.Join(shown, " "); got != c.tenants {
			t.Errorf("%s shows %q", c.place, got)
		}
	}
	if to := (&weekly{place: Target{Channel: "C2"}}).target(r); to.Channel != "C2" || to.Language != "zh" {
		t.Errorf("%+v", to)
	}
	if to := (&weekly{}).target(r); to.Channel != "C1" || to.Language != "" {
		t.Errorf("%+v", to)
	}
}
