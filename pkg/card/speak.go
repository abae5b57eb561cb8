package card

import (
	"strings"
	"time"

	"github.com/askbus/askbus/internal/process/lang"
)

// Say returns a message in this viewer's language.
func (v Viewer) Say(text string, args ...any) string { return lang.Of(v.Lang).Say(text, args...) }

// Say returns a message in this card's language.
func (c *Card) Say(text string, args ...any) string { return c.words.Say(text, args...) }

// Say returns a message in this end's language.
func (e *End) Say(text string, args ...any) string {
	if e.words == nil {
		return lang.Of(lang.English).Say(text, args...)
	}
	return e.words.Say(text, args...)
}

// Asks returns who asks: "builder asks".
func (c *Card) Asks() string { return c.words.Say("%s asks", c.Asker.Agent) }

// Others describes who else looks at an ask, one sentence per person. It omits the viewer.
func (v Viewer) Others(all ...Attention) []string {
	w := v.words()
	var words []string
	for i := range all {
		if v.is(&all[i].By) {
			continue
		}
		who := Name(all[i].By)
		if all[i].Answering {
			words = append(words, w.Say("%s is answering", who))
		} else {
			words = append(words, w.Say("%s is looking at this", who))
		}
	}
	return words
}

// Day formats a day with its weekday: "Monday, 2 January 2006".
func (v Viewer) Day(at time.Time) string {
	w, on := v.words(), v.zoned(at, at)
	return strings.Replace(on.Format(w.Say("Monday, 2 January 2006")), on.Weekday().String(), weekday(w, on.Weekday()), 1)
}

func shortDay(w *lang.Language, d time.Weekday) string {
	return [...]string{w.Say("Sun"), w.Say("Mon"), w.Say("Tue"), w.Say("Wed"), w.Say("Thu"), w.Say("Fri"), w.Say("Sat")}[d]
}

func weekday(w *lang.Language, d time.Weekday) string {
	return [...]string{w.Say("Sunday"), w.Say("Monday"), w.Say("Tuesday"), w.Say("Wednesday"), w.Say("Thursday"), w.Say("Friday"), w.Say("Saturday")}[d]
}
