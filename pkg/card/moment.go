package card

import "time"

// Moment is a time in words that a live surface updates as time passes, by its style.
type Moment struct {
	At    time.Time
	Words string
	Style Style
}

// Style is how a moment is formatted.
type Style string

// The styles of moments.
const (
	Since Style = "since" // "5 min"
	Ago   Style = "ago"   // "5 min ago", "just now"
	Until Style = "until" // "in 40 min", "now"
	Left  Style = "left"  // "4:32 left", "2 h left": until an urgent ask ends
	Clock Style = "clock" // "10:02", "3 Nov 10:02" on another day; with "UTC" or "UTC+01:00" where the viewer's zone is unknown
	OnDay Style = "day"   // "Mon 10:02", "3 Nov 10:02" from a week ahead; with "UTC" or "UTC+01:00" where the viewer's zone is unknown
)

// Stamp returns the time in RFC 3339.
func (m Moment) Stamp() string { return m.At.UTC().Format(time.RFC3339) }

// live returns a style for times that a live surface updates. A card that several people read is posted, and nobody draws
// it again as time passes: there it is a time of day.
func (v Viewer) live(s Style) Style {
	if v.Shared {
		return Clock
	}
	return s
}

// zone names a time's zone.
func zone(at time.Time) string {
	if _, offset := at.Zone(); offset == 0 {
		return " UTC"
	}
	return at.Format(" UTC-07:00")
}

// onDay formats a time with its day. Without the viewer's zone it is that of the time.
func (v Viewer) onDay(at, now time.Time) string {
	w, zone := v.words(), zone(at)
	if v.Zone != nil {
		at, zone = at.In(v.Zone), ""
	}
	if at.Sub(now) >= 6*24*time.Hour {
		return at.Format(w.Say("2 Jan 15:04")) + zone
	}
	return shortDay(w, at.Weekday()) + at.Format(" 15:04") + zone
}

// When formats a time for this viewer.
func (v Viewer) When(at, now time.Time, style Style) Moment {
	w, m := v.words(), Moment{At: at, Style: style}
	switch style {
	case Since:
		m.Words = span(w, now.Sub(at))
	case Ago:
		m.Words = ago(w, now.Sub(at))
	case Until:
		m.Words = until(w, at.Sub(now))
	case Left:
		m.Words = left(w, at.Sub(now))
	case Clock:
		m.Words = clock(w, v.zoned(at, now), v.zoned(now, now))
		if v.Zone == nil { // perhaps the viewer is in another zone than this process
			m.Words += zone(v.zoned(at, now))
		}
	case OnDay:
		m.Words = v.onDay(at, now)
	}
	return m
}
