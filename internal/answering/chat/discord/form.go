package discord

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// Limits of a form.
const (
	maxFields  = 5
	maxTitle   = 45 // and a field's label
	maxHint    = 100
	maxGroup   = 10 // of radio buttons, of checkboxes
	maxSelect  = 25
	maxWritten = 4000
)

// Ids of the fields beside those of the questions, which field returns.
const (
	fieldOther = "other"
	fieldNote  = "note"
	fieldSure  = "sure"
	fieldWhy   = "why"
)

func field(n int) string { return "q" + strconv.Itoa(n) }

// valueOther is the value of an option for words of one's own; others have numbers.
const valueOther = "other"

// form is a form, as Discord takes it.
type form struct {
	ID         string      `json:"custom_id"`
	Title      string      `json:"title"`
	Components []component `json:"components"`
}

// plan is what a form has beside the questions.
type plan struct{ others, note, sure, fits bool }

// planOf plans the form of an ask. What does not fit one is answered in a browser.
func planOf(c *card.Card) (p plan) {
	some := func(is func(q *card.Question) bool) bool {
		return slices.ContainsFunc(c.Questions, func(q card.Question) bool { return is(&q) })
	}
	room := maxFields - len(c.Questions)
	take := func(wanted, needed bool) bool {
		if !wanted || room <= 0 && !needed {
			return false
		}
		room--
		return true
	}
	reason := c.Approval != nil && c.Approval.Reason != ""
	p.sure = take(chat.Destroys(c), true)
	p.note = take(reason, true)
	p.fits = room >= 0 && c.Withheld == "" && !some(func(q *card.Question) bool { return q.Unknown })
	p.others = take(some(func(q *card.Question) bool { return listed(q) && q.Other != nil }), false)
	p.note = p.note || take(len(c.Questions) == 1, false)
	return p
}

// answerForm returns the form with every question of an ask. Begun is what it holds already.
func answerForm(l *lang.Language, c *card.Card, key string, begun values) *form {
	p, f := planOf(c), &form{ID: controlID(key, doForm, 0), Title: short(l.Say("Answer"), maxTitle)}
	for i := range c.Questions {
		f.Components = append(f.Components, questionField(l, &c.Questions[i], p.others, begun[field(i)]))
	}
	if p.others {
		hint := l.Say("An answer of your own instead of the options, or beside them where several may be chosen.")
		if len(c.Questions) > 1 {
			hint = l.Say("A line for each question that you answer with “Other…”, in their order.")
		}
		f.Components = append(f.Components, written(l.Say("Other…"), hint, fieldOther, begun))
	}
	if p.note {
		label, hint := l.Say("Note"), ""
		if c.Approval != nil {
			label, hint = c.Approval.Note, c.Approval.Reason
		}
		f.Components = append(f.Components, written(label, hint, fieldNote, begun))
	}
	if p.sure {
		tick := component{Type: typeChecks, ID: fieldSure, Required: new(false), Options: []option{{Label: short(l.Say("Yes, I choose a destructive option"), maxHint), Value: "yes"}}}
		f.Components = append(f.Components, labelled(l.Say("Are you sure?"), l.Say("Only needed for an option that is marked destructive."), tick))
	}
	return f
}

// declineForm asks for the reason.
func declineForm(l *lang.Language, c *card.Card, key string) *form {
	return &form{ID: controlID(key, doDecline, 0), Title: short(l.Say("Decline"), maxTitle), Components: []component{
		written(l.Say("Why? The agent is told."), c.Notice("").Title, fieldWhy, nil),
	}}
}

func labelled(label, hint string, of component) component {
	return component{Type: typeLabel, Label: short(label, maxTitle), Description: short(hint, maxHint), Component: &of}
}

// written is a field for words, which may stay empty.
func written(label, hint, id string, begun values) component {
	return labelled(label, hint, component{Type: typeInput, Style: 2, ID: id, Required: new(false), MaxLength: maxWritten, Value: chat.ClipUnits(begun.one(id), maxWritten)})
}

// listed reports whether a form lists a question's options. Of a question with more, a number is typed.
func listed(q *card.Question) bool { return len(q.Options) > 0 && len(q.Options) < maxSelect }

// questionField returns the field of a question's answer.
func questionField(l *lang.Language, q *card.Question, others bool, begun []string) component {
	label, hint := q.Plain(), q.Hint
	if q.Step != "" {
		label = q.Step + " · " + label
	}
	if chat.Units(label) > maxTitle {
		hint = q.Plain()
	}
	if !listed(q) {
		in := component{Type: typeInput, Style: 1, ID: field(q.Number - 1), Required: new(!q.Optional), MaxLength: maxWritten, Placeholder: short(q.Placeholder, maxHint)}
		if q.Kind == ask.KindText && q.Long {
			in.Style = 2
		}
		if q.Kind != ask.KindText && q.Placeholder == "" {
			in.Placeholder = short(q.HowTo, maxHint)
		}
		if len(begun) > 0 {
			in.Value = chat.ClipUnits(begun[0], maxWritten)
		}
		return labelled(label, hint, in)
	}
	var options []option
	for i := range q.Options {
		options = append(options, optionOf(i, &q.Options[i]))
	}
	if others && q.Other != nil {
		options = append(options, option{Label: short(l.Say("Other…"), maxHint), Value: valueOther})
	}
	for i := range options {
		options[i].Default = slices.Contains(begun, options[i].Value)
	}
	of := component{ID: field(q.Number - 1), Options: options, Required: new(!q.Optional)}
	switch {
	case len(options) > maxGroup, len(options) == 1 && !q.Multiple:
		of.Type, of.Placeholder = typeSelect, l.Say("Choose…")
		if q.Multiple {
			of.MaxValues = len(options)
		}
		if q.Optional {
			of.MinValues = new(0)
		}
	case q.Multiple:
		of.Type = typeChecks
		if q.Optional {
			of.MinValues = new(0)
		}
	default:
		of.Type = typeRadios
	}
	return labelled(label, hint, of)
}

func optionOf(i int, o *card.Option) option {
	label := strconv.Itoa(i+1) + ". " + card.InlinePlain(o.Label)
	if len(o.Marks) > 0 {
		label = short(label, maxHint-30) + " · " + strings.Join(o.Marks, " · ")
	}
	return option{Label: short(label, maxHint), Value: strconv.Itoa(i), Description: short(card.InlinePlain(o.Description), maxHint)}
}

// values are what a form holds, by field.
type values map[string][]string

// valuesOf reads what was sent: a label around each field.
func valuesOf(sent []component) values {
	v := values{}
	for i := range sent {
		of := sent[i].Component
		switch {
		case of == nil:
		case of.Value != "":
			v[of.ID] = []string{of.Value}
		default:
			v[of.ID] = of.Values
		}
	}
	return v
}

func (v values) one(id string) string {
	if all := v[id]; len(all) > 0 {
		return all[0]
	}
	return ""
}

// read returns the answers of a form, or why it has none.
func (v values) read(l *lang.Language, c *card.Card, a *ask.Ask) (answers []ask.Answer, why string) {
	own := v.own(c)
	for i := range c.Questions {
		shown, q := &c.Questions[i], &a.Questions[i]
		ans := ask.Answer{QuestionID: q.ID}
		if listed(shown) {
			for _, value := range v[field(i)] {
				n, err := strconv.Atoi(value)
				switch {
				case err != nil || n < 0 || n >= len(shown.Options):
				case q.Kind == ask.KindBoolean:
					ans.Boolean = new(shown.Options[n].ID == card.Yes)
				default:
					ans.Selected = append(ans.Selected, shown.Options[n].ID)
				}
			}
			ans.Other = own[i]
			switch {
			case q.Kind == ask.KindChoice && len(ans.Selected) == 0 && q.IsExact(ans.Other): // an option by its name or number
				if read, err := q.ParseReply(ans.Other); err == nil {
					ans.Selected, ans.Other = read.Selected, ""
				}
			case ans.Other != "" && !q.Multiple && len(ans.Selected) > 0:
				return nil, l.Say("Choose an option or write an answer of your own, not both.")
			case ans.Other == "" && slices.Contains(v[field(i)], valueOther):
				return nil, shown.Plain() + ": " + l.Say("A line for each question that you answer with “Other…”, in their order.")
			}
		} else {
			read, err := q.ParseReply(v.one(field(i)))
			if e, ok := errors.AsType[*ask.ReplyError](err); ok {
				return nil, shown.Plain() + ": " + e.In(c.Lang)
			}
			if ans = read; q.Kind == ask.KindText && !ans.Skipped {
				ans.Text = v.one(field(i)) // as it was written
			}
			ans.QuestionID = q.ID
		}
		if i == 0 {
			ans.Notes = strings.TrimSpace(v.one(fieldNote))
		}
		switch {
		case ans.Empty() && q.Optional:
			ans.Skipped = true
		case ans.Empty():
			return nil, shown.Plain() + ": " + l.Say("This question needs an answer.")
		}
		answers = append(answers, ans)
	}
	return answers, ""
}

// own returns the words of the person's own, by question: all of them for the only one that may have them, else a line
// for each that chose so.
func (v values) own(c *card.Card) map[int]string {
	words := strings.TrimSpace(v.one(fieldOther))
	var chose []int
	for i := range c.Questions {
		if slices.Contains(v[field(i)], valueOther) || len(c.Questions) == 1 {
			chose = append(chose, i)
		}
	}
	if len(chose) == 1 {
		return map[int]string{chose[0]: words}
	}
	own := map[int]string{}
	for l := range strings.SplitSeq(words, "\n") {
		if l = strings.TrimSpace(l); l != "" && len(own) < len(chose) {
			own[chose[len(own)]] = l
		}
	}
	return own
}
