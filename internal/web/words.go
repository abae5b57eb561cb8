package web

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/askbus/askbus/pkg/ask"
)

// span says a length of time in the one unit that matters. static/app.js says
// it in the same words when it ticks.
func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	default:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	}
}

// ago says how long something is past.
func ago(d time.Duration) string {
	if d < 10*time.Second {
		return "just now"
	}
	return span(d) + " ago"
}

// until says how far something is ahead.
func until(d time.Duration) string {
	if d <= 0 {
		return "now"
	}
	return "in " + span(d)
}

// moment is a time that the page ticks.
type moment struct {
	At    string // RFC 3339
	Words string
	Style string // since, ago, until or clock: how app.js goes on
}

func since(at, now time.Time) moment {
	return moment{At: stamp(at), Words: span(now.Sub(at)), Style: "since"}
}

func agoOf(at, now time.Time) moment {
	return moment{At: stamp(at), Words: ago(now.Sub(at)), Style: "ago"}
}

func untilOf(at, now time.Time) moment {
	return moment{At: stamp(at), Words: until(at.Sub(now)), Style: "until"}
}

// clock is a time of day, with the day when it is another one.
func clock(at, now time.Time) moment {
	at = at.In(now.Location())
	words := at.Format("15:04")
	if at.Format(time.DateOnly) != now.Format(time.DateOnly) {
		words = at.Format("2 Jan 15:04")
	}
	return moment{At: stamp(at), Words: words, Style: "clock"}
}

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// said is one answer in a few words, or "" when the question was left out.
func said(q *ask.Question, ans *ask.Answer) string {
	if ans == nil {
		return ""
	}
	var parts []string
	for _, id := range ans.Selected {
		if o := q.Option(id); o != nil {
			parts = append(parts, o.Label)
		} else {
			parts = append(parts, id)
		}
	}
	for _, text := range []string{ans.Other, ans.Text, ans.Date} {
		if text != "" {
			parts = append(parts, text)
		}
	}
	if ans.Number != nil {
		parts = append(parts, strconv.FormatFloat(*ans.Number, 'f', -1, 64))
	}
	if ans.Boolean != nil {
		parts = append(parts, map[bool]string{true: "Yes", false: "No"}[*ans.Boolean])
	}
	return strings.Join(parts, ", ")
}

// gist is a whole outcome in a few words.
func gist(a *ask.Ask, o *ask.Outcome) string {
	switch o.Status {
	case ask.StatusCancelled:
		if c := o.CancelledBy; c != nil {
			if q := a.Question(c.QuestionID); q != nil && q.Option(c.OptionID) != nil {
				return q.Option(c.OptionID).Label
			}
		}
		return "Declined"
	case ask.StatusWithdrawn:
		return "Withdrawn by the agent"
	case ask.StatusAborted:
		return "Ended by an operator"
	case ask.StatusExpired:
		if len(o.Answers) == 0 {
			return "Nobody answered in time"
		}
	case ask.StatusAnswered:
	}
	var parts []string
	for i := range a.Questions {
		q := &a.Questions[i]
		words := said(q, o.Answer(q.ID))
		if words == "" {
			continue
		}
		if q.Header != "" && len(a.Questions) > 1 {
			words = q.Header + ": " + words
		}
		parts = append(parts, words)
	}
	if o.Response != "" {
		parts = append(parts, "“"+o.Response+"”")
	}
	if len(parts) == 0 {
		return "Answered"
	}
	if o.Status == ask.StatusExpired {
		return "Nobody answered; default: " + clip(strings.Join(parts, " · "), 160)
	}
	return clip(strings.Join(parts, " · "), 200)
}

// who names the person behind an outcome, from the view of the one who looks.
func who(by *ask.By, me ask.By) string {
	switch {
	case by == nil:
		return ""
	case by.Principal == me.Principal:
		return "you"
	case by.Name != "":
		return by.Name
	default:
		return by.Principal
	}
}

// surface says where somebody answered, in words.
func surface(typ string) string {
	switch typ {
	case "web":
		return "the web inbox"
	case "cli", "tui":
		return "the terminal"
	case "slack":
		return "Slack"
	case "native":
		return "the agent's own dialog"
	default:
		return typ
	}
}

// audience says who may decide.
func audience(entries []string) string {
	names := make([]string, len(entries))
	for i, entry := range entries {
		if group, ok := strings.CutPrefix(entry, "group:"); ok {
			names[i] = "group " + group
		} else {
			names[i] = entry
		}
	}
	return list(names, "or")
}

func list(items []string, word string) string {
	switch n := len(items); n {
	case 0:
		return ""
	case 1:
		return items[0]
	default:
		return strings.Join(items[:n-1], ", ") + " " + word + " " + items[n-1]
	}
}

// sentence makes a fault's message one that stands alone beside its question.
func sentence(q *ask.Question, message string) string {
	if message == q.Limits.Message {
		return message
	}
	for _, verb := range []string{"is ", "has ", "does "} {
		if strings.HasPrefix(message, verb) {
			return "Your answer " + message + "."
		}
	}
	if strings.HasSuffix(message, " needs an answer") {
		return "This one needs an answer."
	}
	return strings.ToUpper(message[:min(1, len(message))]) + message[min(1, len(message)):] + "."
}

// direction is the way a text runs, by its first letter.
func direction(text string) string {
	for _, r := range text {
		if unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Adlam) {
			return "rtl"
		}
		if unicode.IsLetter(r) {
			return "ltr"
		}
	}
	return "ltr"
}

func clip(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return string(runes[:most-1]) + "…"
}
