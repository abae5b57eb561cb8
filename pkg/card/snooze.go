package card

import "time"

// Snooze is a time until which a person may snooze an ask.
type Snooze struct {
	Name  string // such as "15m" or "tomorrow"
	Words string
	Until time.Time
}

// Snoozes returns the snoozes to choose from. Mornings are those of the viewer's time zone.
func (v Viewer) Snoozes(now time.Time) []Snooze {
	now = v.zoned(now, now)
	morning := func(days int) time.Time {
		return time.Date(now.Year(), now.Month(), now.Day()+days, 9, 0, 0, 0, now.Location())
	}
	return []Snooze{
		{"15m", v.Say("15 minutes"), now.Add(15 * time.Minute)},
		{"1h", v.Say("1 hour"), now.Add(time.Hour)},
		{"4h", v.Say("4 hours"), now.Add(4 * time.Hour)},
		{"tomorrow", v.Say("tomorrow, 9:00"), morning(1)},
		{"monday", v.Say("Monday, 9:00"), morning((14-int(now.Weekday()))%7 + 1)},
	}
}
