package dialect

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// screen collects warnings about parts of an ask that a foreign screen cannot
// show. Their pointers lead into the ask's own JSON.
type screen struct{ warnings []Warning }

func (s *screen) warn(pointer, message string) {
	s.warnings = append(s.warnings, Warning{Pointer: pointer, Message: message})
}

// text returns a question's text for a screen that has no place for an ask's
// title and context, which are put before the first question, or for the format
// of a typed answer.
func (s *screen) text(a *ask.Ask, i int, typed bool) string {
	q := &a.Questions[i]
	var parts []string
	if i == 0 && a.Title != "" {
		parts = append(parts, a.Title)
	}
	if i == 0 && a.Context != "" {
		parts = append(parts, a.Context)
	}
	parts = append(parts, q.Text)
	if !typed && (q.Kind == ask.KindNumber || q.Kind == ask.KindDate) {
		parts = append(parts, q.HowToIn(a.Language()))
		s.warn("/questions/"+strconv.Itoa(i)+"/kind", "is "+string(q.Kind)+", which this screen does not have; it is asked as text")
	}
	return strings.Join(parts, "\n\n")
}

// description returns an option's description, and says in words what the
// screen cannot mark.
func (s *screen) description(a *ask.Ask, o *ask.Option, preview, recommended bool) string {
	var parts []string
	if o.Recommended && !recommended && !saysRecommended(o.Label) {
		parts = append(parts, say(a, "Recommended."))
	}
	if o.Description != "" {
		parts = append(parts, o.Description)
	}
	if o.Cancels {
		parts = append(parts, say(a, "Ends the whole ask."))
	}
	text := strings.Join(parts, " ")
	if o.Preview != nil && !preview {
		text = strings.TrimSpace(text + "\n\n" + o.Preview.Body)
	}
	return text
}

// bounds warns about an ask that is larger than the dialect's own requests.
func (s *screen) bounds(a *ask.Ask, questions, options int) {
	if len(a.Questions) > questions {
		s.warn("/questions", "has "+strconv.Itoa(len(a.Questions))+" questions; the screen may expect at most "+strconv.Itoa(questions))
	}
	for i := range a.Questions {
		if n := len(a.Questions[i].Options); n > options || n == 1 {
			s.warn("/questions/"+strconv.Itoa(i)+"/options", "has "+strconv.Itoa(n)+" options; the screen may expect 2 to "+strconv.Itoa(options))
		}
	}
}

// header returns the header of a question as it was asked, or "Question N" for
// screens that need one.
func header(a *ask.Ask, i int) string {
	return recall(a, cmp.Or(a.Questions[i].Header, say(a, "Question %d", i+1)), i, "header")
}

// familyOptions writes the options of a question for a screen of this family.
func (s *screen) familyOptions(a *ask.Ask, question int, separator string, preview bool) []any {
	q, options := &a.Questions[question], []any{}
	if q.Kind == ask.KindBoolean {
		return append(options, ordered("label", say(a, "Yes"), "description", ""), ordered("label", say(a, "No"), "description", ""))
	}
	labels := shownLabels(q, separator)
	for i := range q.Options {
		o := &q.Options[i]
		shown := ordered("label", labels[i], "description", s.description(a, o, preview, false))
		if preview && o.Preview != nil {
			shown.set(previewName(a, question, i), o.Preview.Body)
		}
		options = append(options, shown)
	}
	return options
}
