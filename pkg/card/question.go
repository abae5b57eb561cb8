package card

import (
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
)

// filterFrom is the number of options from which a filter helps.
const filterFrom = 12

// Question is one question of a card.
type Question struct {
	ID       string // raw id; see [Question.Name]
	Number   int    // from 1
	Of       int    // number of questions
	Step     string // "1 of 4"; empty for the only one
	Kind     ask.Kind
	Unknown  bool // of an unknown, newer kind
	Chip     string
	Text     string
	Brief    string   // beginning of a long text, else empty
	Dir      string   // the writing direction of the text
	Marks    []string // such as optional, or required if others are optional
	Hint     string   // the limits of an answer
	HowTo    string   // what to type as a reply
	Optional bool
	Multiple bool
	Filter   bool // there are enough options for a filter
	Previews bool
	Shots    bool     // options have files, to be compared side by side
	Options  []Option // for a yes-or-no question, these two
	Other    *Option
	None     *Option // "no answer", if a single choice is optional

	Placeholder string
	Long        bool // multi-line text
	Limits      ask.Limits
}

// Option is one choice.
type Option struct {
	ID          string // raw id
	Key         string // key to press
	Label       string
	Description string
	Marks       []string // such as recommended
	Note        string   // other effects of choosing it
	Recommended bool
	Cancels     bool
	Destructive bool // it is sent only after a second, different key or click
	Withheld    bool // it cannot be chosen here; see [Card.Withhold]
	Preview     *Preview
	File        *File
	Shown       bool // its preview is shown while nothing is chosen
}

// Ids of the options of a yes-or-no question.
const (
	Yes = "true"
	No  = "false"
)

func newQuestion(a *ask.Ask, i int, w *lang.Language) Question {
	q, of := &a.Questions[i], len(a.Questions)
	someOptional := slices.ContainsFunc(a.Questions, func(q ask.Question) bool { return q.Optional })
	v := Question{
		ID: q.ID, Number: i + 1, Of: of, Kind: q.Kind, Chip: line(q.Header), Text: strings.TrimSpace(text(q.Text)), Dir: direction(q.Text),
		Optional: q.Optional, Multiple: q.Multiple, Placeholder: line(q.Placeholder), Limits: q.Limits,
		Hint: limits(w, q), HowTo: text(q.HowToIn(w.Tag)),
	}
	v.Brief = brief(v.Text)
	if of > 1 {
		v.Step = w.Say("%[1]s of %[2]s", strconv.Itoa(i+1), strconv.Itoa(of))
	}
	switch {
	case q.Optional:
		v.Marks = []string{w.Say("optional")}
	case someOptional:
		v.Marks = []string{w.Say("required")}
	}
	none := &Option{Label: w.Say("No answer")}
	switch q.Kind {
	case ask.KindChoice:
		v.choice(q, a.Key(), w)
		if q.Optional && !q.Multiple {
			v.None = none
		}
	case ask.KindBoolean:
		v.Options = []Option{{ID: Yes, Key: "1", Label: w.Say("Yes")}, {ID: No, Key: "2", Label: w.Say("No")}}
		if q.Optional {
			v.None = none
		}
	case ask.KindText:
		v.Long = q.Limits.MaxLength == 0 || q.Limits.MaxLength > 120
	case ask.KindNumber, ask.KindDate:
	default:
		v.Unknown, v.Hint, v.HowTo = true, "", w.Say("This question is of the kind “%s”, which this version does not know yet. Reply to the whole ask in your own words, or answer it where a newer askbus runs.", line(string(q.Kind)))
	}
	return v
}

func (v *Question) choice(q *ask.Question, k ask.Key, w *lang.Language) {
	v.Filter, v.Previews = len(q.Options) > filterFrom, q.Previews()
	shown := -1
	for i := range q.Options {
		o := &q.Options[i]
		label, recommended := o.Caption()
		made := Option{
			ID: o.ID, Key: digit(i), Label: line(label), Description: text(strings.TrimSpace(o.Description)),
			Recommended: recommended, Cancels: o.Cancels, Destructive: o.Destructive, Preview: preview(o.Preview),
		}
		if o.File != nil {
			made.File, v.Shots = new(newFile(k, o.File)), true
		}
		if recommended {
			made.Marks = append(made.Marks, w.Say("recommended"))
		}
		if o.Destructive {
			made.Marks = append(made.Marks, w.Say("destructive"))
		}
		if o.Cancels {
			made.Note = w.Say("Ends the whole ask without an answer.")
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
		v.Other = &Option{Key: "o", Label: w.Say("Other")}
	}
}

// digit returns the key of the i-th option, as on a number row.
func digit(i int) string {
	if i > 9 {
		return ""
	}
	return strconv.Itoa((i + 1) % 10)
}

// Name returns the question's id for people.
func (v *Question) Name() string { return line(v.ID) }

// said summarizes an answer, or returns "" if there is none. It drops the recommended mark of
// labels.
func said(q *ask.Question, ans *ask.Answer, w *lang.Language) string {
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
		parts = append(parts, w.Say("Yes"))
	default:
		parts = append(parts, w.Say("No"))
	}
	return strings.Join(parts, w.Say(", "))
}
