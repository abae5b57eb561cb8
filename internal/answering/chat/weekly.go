package chat

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// weekly is when and where a chat gets its weekly digest.
type weekly struct {
	day          time.Weekday
	hour, minute int
	zone         *time.Location
	place        Target // zero: the default of the routes
}

// newWeekly reads the settings of the digest; nil: none is posted.
func newWeekly(typ string, o *Options, ids *IDs) (*weekly, error) {
	env := "ASKBUS_" + strings.ToUpper(typ) + "_DIGEST"
	if o.Digest == "" {
		if o.DigestPlace != "" {
			return nil, fmt.Errorf(`%s: %s_PLACE also needs %s, such as "mon 09:00 Europe/Berlin"`, typ, env, env)
		}
		return nil, nil //nolint:nilnil // no digest
	}
	w, err := parseWeekly(o.Digest)
	if err != nil {
		return nil, fmt.Errorf(`%s: %s is %q: %w; give a day, a time and a time zone, such as "mon 09:00 Europe/Berlin"`, typ, env, ask.Clip(o.Digest, 60), err)
	}
	is := func(form string) bool {
		ok, err := regexp.MatchString(form, o.DigestPlace)
		return ok && err == nil
	}
	switch {
	case o.DigestPlace == "":
	case is(ids.Channel):
		w.place.Channel = o.DigestPlace
	case is(ids.Person):
		w.place.Person = o.DigestPlace
	default:
		return nil, fmt.Errorf("%s: %s_PLACE is %q: give an id of the form %s or %s", typ, env, ask.Clip(o.DigestPlace, 40), ids.Channel, ids.Person)
	}
	return w, nil
}

// parseWeekly reads "mon 09:00 Europe/Berlin"; without a zone it is UTC.
func parseWeekly(text string) (*weekly, error) {
	parts := strings.Fields(text)
	if len(parts) < 2 || len(parts) > 3 {
		return nil, errors.New("these are not two or three words")
	}
	names := []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}
	day := strings.ToLower(parts[0])
	i := slices.IndexFunc(names, func(name string) bool { return day == name || day == name[:3] })
	if i < 0 {
		return nil, fmt.Errorf("%q is not a day of the week", parts[0])
	}
	at, err := time.Parse("15:04", parts[1])
	if err != nil {
		return nil, fmt.Errorf("%q is not a time of day", parts[1])
	}
	w := &weekly{day: time.Weekday(i), hour: at.Hour(), minute: at.Minute(), zone: time.UTC}
	if len(parts) == 3 {
		// "Local" is another zone on every machine.
		if w.zone, err = time.LoadLocation(parts[2]); err != nil || parts[2] == "Local" {
			return nil, fmt.Errorf("%q is not a time zone", parts[2])
		}
	}
	return w, nil
}

// last returns when the digest was due last. A time that the clocks skip is due an hour before or after it, one that they
// repeat is due once.
func (w *weekly) last(now time.Time) time.Time {
	now = now.In(w.zone)
	back := (int(now.Weekday()) - int(w.day) + 7) % 7
	on := func(back int) time.Time {
		return time.Date(now.Year(), now.Month(), now.Day()-back, w.hour, w.minute, 0, 0, w.zone)
	}
	if at := on(back); !at.After(now) {
		return at
	}
	return on(back + 7)
}

// target returns where a digest is posted, in the language of the place.
func (w *weekly) target(routes *Routes) Target {
	to := Target{Channel: routes.Default.Channel, Person: routes.Default.Person, Language: routes.Default.Language}
	if w.place.Place() == "" {
		return to
	}
	to.Channel, to.Person = w.place.Channel, w.place.Person
	for i := range routes.Rules {
		if rule := &routes.Rules[i].To; rule.Place() == to.Place() && rule.Language != "" {
			to.Language = rule.Language
			break
		}
	}
	return to
}

// shows reports whether people in a place may read figures of a tenant. One whose asks a rule sends to a place of its own
// is counted nowhere else, and nobody else is counted there.
func (r *Routes) shows(tenant, place string) bool {
	others := false
	for i := range r.Rules {
		rule := &r.Rules[i]
		if rule.Match.Tenant == "" {
			continue
		}
		if like(rule.Match.Tenant, tenant) {
			return rule.To.Place() == place
		}
		others = others || rule.To.Place() == place
	}
	return !others
}
