package card

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
)

// ago formats a time in the past.
func ago(w *lang.Language, d time.Duration) string {
	if d < 10*time.Second {
		return w.Say("just now")
	}
	return w.Say("%s ago", span(w, d))
}

// until formats a time in the future.
func until(w *lang.Language, d time.Duration) string {
	if d <= 0 {
		return w.Say("now")
	}
	return w.Say("in %s", span(w, nearest(d)))
}

// clock formats a time of day, with the day if it is not today.
func clock(w *lang.Language, at, now time.Time) string {
	if at.Format(time.DateOnly) != now.Format(time.DateOnly) {
		return at.Format(w.Say("2 Jan 15:04"))
	}
	return at.Format("15:04")
}

// left is the time that is left, with seconds in the last hour.
func left(w *lang.Language, d time.Duration) string {
	words := ""
	if d = max(0, d).Truncate(time.Second); d < time.Hour {
		words = fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
	} else {
		words = span(w, nearest(d))
	}
	return w.Say("%s left", words)
}

// nearest rounds the time that is left to the unit in which [span] shows it: of 1 h 59 min are left 2 h,
// not 1 h.
func nearest(d time.Duration) time.Duration {
	const day = 24 * time.Hour
	for _, unit := range []struct{ of, below time.Duration }{{time.Second, time.Minute}, {time.Minute, time.Hour}, {time.Hour, 2 * day}} {
		if r := d.Round(unit.of); r < unit.below {
			return r
		}
	}
	return d.Round(day)
}

// span formats a duration in its largest unit. The inbox's page.js formats durations in the same
// way.
func span(l *lang.Language, d time.Duration) string {
	switch {
	case d < time.Minute:
		return l.Say("%d s", max(0, int(d.Seconds())))
	case d < time.Hour:
		return l.Say("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return l.Say("%d h", int(d.Hours()))
	}
	return l.Say("%d days", int(d.Hours()/24))
}

// limits describes the limits of an answer.
func limits(w *lang.Language, q *ask.Question) string {
	l := &q.Limits
	if l.Message != "" {
		return line(l.Message)
	}
	switch q.Kind {
	case ask.KindChoice:
		if q.Multiple {
			return items(w, q)
		}
	case ask.KindText:
		switch {
		case l.MinLength > 0 && l.MaxLength > 0:
			return w.Say("%s to %s characters.", strconv.Itoa(l.MinLength), strconv.Itoa(l.MaxLength))
		case l.MinLength > 1:
			return w.Say("At least %s characters.", strconv.Itoa(l.MinLength))
		case l.MaxLength > 0:
			return w.Say("At most %s characters.", strconv.Itoa(l.MaxLength))
		}
	case ask.KindNumber:
		return numberLimits(w, l)
	case ask.KindDate:
		switch {
		case l.MinDate != "" && l.MaxDate != "":
			return line(w.Say("%s to %s.", l.MinDate, l.MaxDate))
		case l.MinDate != "":
			return line(w.Say("%s or later.", l.MinDate))
		case l.MaxDate != "":
			return line(w.Say("%s or earlier.", l.MaxDate))
		}
	case ask.KindBoolean:
	}
	return ""
}

func numberLimits(w *lang.Language, l *ask.Limits) string {
	kind := w.Say("A number")
	if l.Integer {
		kind = w.Say("A whole number")
	}
	switch {
	case l.Min != nil && l.Max != nil:
		return w.Say("%s from %s to %s.", kind, number(*l.Min), number(*l.Max))
	case l.Min != nil:
		return w.Say("%s, at least %s.", kind, number(*l.Min))
	case l.Max != nil:
		return w.Say("%s, at most %s.", kind, number(*l.Max))
	}
	return w.Say("%s.", kind)
}

func items(w *lang.Language, q *ask.Question) string {
	least, most := q.MinItems, q.MaxItems
	if least == 0 && !q.Optional {
		least = 1
	}
	switch {
	case most > 0 && least == most:
		return w.Say("Choose %d.", most)
	case most > 0 && least > 0:
		return w.Say("Choose %d to %d.", least, most)
	case most > 0:
		return w.Say("Choose up to %d.", most)
	case least > 1:
		return w.Say("Choose at least %d.", least)
	}
	return w.Say("Choose as many as fit.")
}

// actor names the person who acted, and the surface: "Mei on Slack".
func actor(l *lang.Language, by ask.By, you string) string {
	name := cmp.Or(by.Called(l.Tag), l.Say("somebody"))
	if you != "" && by.Principal == you {
		by.Name = l.Say("you")
		name = by.Called(l.Tag)
	}
	if by.Responder == "" {
		return name
	}
	return l.Say("%s %s|who, where", name, ask.SurfaceWordsIn(l.Tag, by.Responder))
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
