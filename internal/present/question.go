package present

import (
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// FilterFrom is how many options are few enough to find one by eye.
const FilterFrom = 12

// Question is one question of a card.
type Question struct {
	ID       string // goes back to the bus; see [Question.Name]
	Number   int    // from 1
	Of       int    // how many there are
	Step     string // "1 of 4", or nothing for the only one
	Kind     ask.Kind
	Unknown  bool // a kind that is newer than this program
	Chip     string
	Text     string
	Brief    string   // the beginning of a text that is long, else empty
	Dir      string   // the writing direction of the text
	Marks    []string // what stands beside the question: optional, or required beside optional ones
	Hint     string   // how an answer must look
	HowTo    string   // what to type as a reply
	Optional bool
	Multiple bool
	Filter   bool // so many options that a filter helps
	Previews bool
	Options  []Option // for a yes-or-no question, these two
	Other    *Option
	None     *Option // "no answer", where one choice may be left out

	Placeholder string
	Long        bool // a text of several lines
	Limits      ask.Limits
}

// Option is one choice.
type Option struct {
	ID          string // goes back to the bus
	Key         string // what to press
	Label       string
	Description string
	Marks       []string // beside the label: recommended
	Note        string   // below it: what choosing it does beside
	Recommended bool
	Cancels     bool
	Preview     *Preview
	Shown       bool // its preview shows while nothing is chosen
}

// Ids of the options of a yes-or-no question.
const (
	Yes = "true"
	No  = "false"
)

func newQuestion(a *ask.Ask, i int, w *catalogue) Question {
	q, of := &a.Questions[i], len(a.Questions)
	someOptional := slices.ContainsFunc(a.Questions, func(q ask.Question) bool { return q.Optional })
	v := Question{
		ID: q.ID, Number: i + 1, Of: of, Kind: q.Kind, Chip: line(q.Header), Text: strings.TrimSpace(text(q.Text)), Dir: Direction(q.Text),
		Optional: q.Optional, Multiple: q.Multiple, Placeholder: line(q.Placeholder), Limits: q.Limits,
		Hint: w.limits(q), HowTo: text(w.howTo(q)),
	}
	v.Brief = brief(v.Text)
	if of > 1 {
		v.Step = fill(w.step, strconv.Itoa(i+1), strconv.Itoa(of))
	}
	switch {
	case q.Optional:
		v.Marks = []string{w.optional}
	case someOptional:
		v.Marks = []string{w.required}
	}
	none := &Option{Label: w.noAnswer}
	switch q.Kind {
	case ask.KindChoice:
		v.choice(q, w)
		if q.Optional && !q.Multiple {
			v.None = none
		}
	case ask.KindBoolean:
		v.Options = []Option{{ID: Yes, Key: "1", Label: w.yes}, {ID: No, Key: "2", Label: w.no}}
		if q.Optional {
			v.None = none
		}
	case ask.KindText:
		v.Long = q.Limits.MaxLength == 0 || q.Limits.MaxLength > 120
	case ask.KindNumber, ask.KindDate:
	default:
		v.Unknown, v.Hint, v.HowTo = true, "", fill(w.unknown, line(string(q.Kind)))
	}
	return v
}

func (v *Question) choice(q *ask.Question, w *catalogue) {
	v.Filter, v.Previews = len(q.Options) > FilterFrom, q.Previews()
	shown := -1
	for i := range q.Options {
		o := &q.Options[i]
		label, recommended := o.Caption()
		made := Option{
			ID: o.ID, Key: digit(i), Label: line(label), Description: text(strings.TrimSpace(o.Description)),
			Recommended: recommended, Cancels: o.Cancels, Preview: preview(o.Preview),
		}
		if recommended {
			made.Marks = append(made.Marks, w.recommended)
		}
		if o.Cancels {
			made.Note = w.cancels
		}
		if made.Preview != nil && (shown < 0 || recommended && !v.Options[shown].Recommended) {
			shown = i
		}
		v.Options = append(v.Options, made)
	}
	if shown >= 0 {
		v.Options[shown].Shown = true
	}
	if q.Other() {
		v.Other = &Option{Key: "o", Label: w.other}
	}
}

// digit is the key of the i-th option, as on a number row.
func digit(i int) string {
	if i > 9 {
		return ""
	}
	return strconv.Itoa((i + 1) % 10)
}

// Name is the question's id as people read and type it.
func (v *Question) Name() string { return line(v.ID) }

// said is one answer in a few words, or nothing when it was left out. The
// recommended mark of a label is not part of what somebody said.
func said(q *ask.Question, ans *ask.Answer, w *catalogue) string {
	if ans == nil {
		return ""
	}
	var parts []string
	for _, id := range ans.Selected {
		if o := q.Option(id); o != nil {
			id, _ = o.Caption()
		}
		parts = append(parts, line(id))
	}
	for _, typed := range []string{ans.Other, ans.Text, ans.Date} {
		if typed != "" {
			parts = append(parts, text(typed))
		}
	}
	if ans.Number != nil {
		parts = append(parts, number(*ans.Number))
	}
	switch {
	case ans.Boolean == nil:
	case *ans.Boolean:
		parts = append(parts, w.yes)
	default:
		parts = append(parts, w.no)
	}
	return strings.Join(parts, w.comma)
}
