package web

import (
	"fmt"
	"html/template"
	"strconv"

	"github.com/askbus/askbus/pkg/ask"
)

// filterFrom is how many options are few enough to find one by eye.
const filterFrom = 12

// questionView is one question of the ask in focus.
type questionView struct {
	ID       string // of the element
	Number   int    // from 1
	Kind     string
	Chip     string
	Text     string
	Dir      string // the writing direction of the text
	Hint     string
	Fault    string
	Optional bool
	Multiple bool
	Long     bool // a text of several lines
	Filter   bool
	Unknown  bool
	Previews bool
	Options  []optionView
	Other    *optionView
	Earlier  []earlierView

	// Field names and what was typed in them.
	Field, Value     string
	OtherField       string
	NoteField, Note  string
	Yes, No, None    bool
	Placeholder      string
	MinDate, MaxDate string
	InputMode        string
}

// optionView is one choice.
type optionView struct {
	Value       string
	Key         string // what to press
	Label       string
	Description string
	Recommended bool
	Cancels     bool
	Chosen      bool
	Preview     template.HTML
	Text        string // a preview in plain text
	HasPreview  bool
	Shown       bool // its preview shows while nothing is chosen
}

func (s *Server) newQuestion(q *ask.Question, i int, form typed, faults []ask.Fault) questionView {
	v := questionView{
		ID: "q" + strconv.Itoa(i+1), Number: i + 1, Kind: string(q.Kind), Chip: q.Header, Text: q.Text, Dir: direction(q.Text),
		Optional: q.Optional, Placeholder: q.Placeholder,
		NoteField: fieldNote + q.ID, Note: form.get(fieldNote + q.ID),
	}
	for _, f := range faults {
		if f.QuestionID == q.ID && v.Fault == "" {
			v.Fault = sentence(q, f.Message)
		}
	}
	switch q.Kind {
	case ask.KindChoice:
		s.choice(&v, q, form)
	case ask.KindText:
		v.Field, v.Long = fieldText+q.ID, q.Limits.MaxLength == 0 || q.Limits.MaxLength > 120
		v.Hint = textHint(q.Limits)
	case ask.KindNumber:
		v.Field, v.Hint, v.InputMode = fieldNumber+q.ID, numberHint(q.Limits), "decimal"
		if q.Limits.Integer && q.Limits.Min != nil && *q.Limits.Min >= 0 {
			v.InputMode = "numeric"
		}
	case ask.KindBoolean:
		v.Field = fieldBoolean + q.ID
		v.Yes, v.No = form.has(v.Field, "true"), form.has(v.Field, "false")
	case ask.KindDate:
		v.Field, v.Hint, v.MinDate, v.MaxDate = fieldDate+q.ID, dateHint(q.Limits), q.Limits.MinDate, q.Limits.MaxDate
	default:
		v.Unknown = true
	}
	v.Value = form.get(v.Field)
	return v
}

func (s *Server) choice(v *questionView, q *ask.Question, form typed) {
	v.Field, v.OtherField, v.Multiple = fieldSelect+q.ID, fieldOther+q.ID, q.Multiple
	v.Filter, v.Previews = len(q.Options) > filterFrom, q.Previews()
	if q.Multiple {
		v.Hint = itemsHint(q)
	}
	shown := -1
	for i := range q.Options {
		o := &q.Options[i]
		ov := optionView{
			Value: optionMark + o.ID, Key: digit(i), Label: o.Label, Description: o.Description,
			Recommended: o.Recommended, Cancels: o.Cancels, Chosen: form.has(v.Field, optionMark+o.ID),
		}
		if p := o.Preview; p != nil {
			ov.HasPreview = true
			if p.Format == ask.PreviewMarkdown {
				ov.Preview = s.md.html(p.Body)
			} else {
				ov.Text = p.Body
			}
			if shown < 0 || o.Recommended && !q.Options[shown].Recommended {
				shown = i
			}
		}
		v.Options = append(v.Options, ov)
	}
	if shown >= 0 {
		v.Options[shown].Shown = true
	}
	if q.Other() {
		v.Other = &optionView{Value: chosenOther, Key: "o", Label: "Other", Chosen: form.has(v.Field, chosenOther), Text: form.get(v.OtherField)}
	}
}

// digit is the key of the i-th option, as on a number row.
func digit(i int) string {
	if i > 9 {
		return ""
	}
	return strconv.Itoa((i + 1) % 10)
}

func itemsHint(q *ask.Question) string {
	least, most := q.MinItems, q.MaxItems
	if least == 0 && !q.Optional {
		least = 1
	}
	switch {
	case most > 0 && least == most:
		return fmt.Sprintf("Choose %d.", most)
	case most > 0 && least > 0:
		return fmt.Sprintf("Choose %d to %d.", least, most)
	case most > 0:
		return fmt.Sprintf("Choose up to %d.", most)
	case least > 1:
		return fmt.Sprintf("Choose at least %d.", least)
	default:
		return "Choose as many as fit."
	}
}

func textHint(l ask.Limits) string {
	switch {
	case l.Message != "":
		return l.Message
	case l.MinLength > 0 && l.MaxLength > 0:
		return fmt.Sprintf("%d to %d characters.", l.MinLength, l.MaxLength)
	case l.MinLength > 1:
		return fmt.Sprintf("At least %d characters.", l.MinLength)
	case l.MaxLength > 0:
		return fmt.Sprintf("At most %d characters.", l.MaxLength)
	default:
		return ""
	}
}

func numberHint(l ask.Limits) string {
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	kind := "A number"
	if l.Integer {
		kind = "A whole number"
	}
	switch {
	case l.Message != "":
		return l.Message
	case l.Min != nil && l.Max != nil:
		return kind + " from " + number(*l.Min) + " to " + number(*l.Max) + "."
	case l.Min != nil:
		return kind + ", at least " + number(*l.Min) + "."
	case l.Max != nil:
		return kind + ", at most " + number(*l.Max) + "."
	default:
		return kind + "."
	}
}

func dateHint(l ask.Limits) string {
	switch {
	case l.Message != "":
		return l.Message
	case l.MinDate != "" && l.MaxDate != "":
		return l.MinDate + " to " + l.MaxDate + "."
	case l.MinDate != "":
		return l.MinDate + " or later."
	case l.MaxDate != "":
		return l.MaxDate + " or earlier."
	default:
		return ""
	}
}
