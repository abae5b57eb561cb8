package teams

import (
	"cmp"
	"strconv"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// fields adds a question's inputs: the answer, and an answer of one's own. None is marked as required: clients would
// then demand an answer also of who declines.
func (d *drawing) fields(q *card.Question) {
	answer := element{ID: chat.Field(chat.FieldAnswer, q.Number-1), Label: title(q.Chip, 60), Placeholder: title(q.Placeholder, 150), Spacing: "Small"}
	answer.Label = cmp.Or(answer.Label, d.Say("Answer"))
	switch q.Kind {
	case ask.KindChoice, ask.KindBoolean:
		for i, o := range q.Options {
			label := title(card.InlinePlain(o.Label), 200)
			if q.Kind == ask.KindChoice {
				label = strconv.Itoa(i+1) + ". " + label
			}
			if o.Recommended {
				label = "⭐ " + label
			}
			answer.Choices = append(answer.Choices, choice{label, strconv.Itoa(i)})
		}
		answer.Type, answer.Several, answer.Wrap, answer.Style, answer.Placeholder = "Input.ChoiceSet", q.Multiple, true, "expanded", ""
		if len(q.Options) > compact {
			answer.Style = "compact"
		}
	case ask.KindNumber:
		answer.Type = "Input.Number"
		if l := q.Limits; l.Min != nil {
			answer.Min = *l.Min
		}
		if l := q.Limits; l.Max != nil {
			answer.Max = *l.Max
		}
	case ask.KindDate:
		answer.Type = "Input.Date"
		if q.Limits.MinDate != "" {
			answer.Min = q.Limits.MinDate
		}
		if q.Limits.MaxDate != "" {
			answer.Max = q.Limits.MaxDate
		}
	case ask.KindText:
		answer.Type, answer.Multiline, answer.MaxLength = "Input.Text", q.Long, maxWords
	default:
		return
	}
	if answer.Type != "Input.ChoiceSet" || len(answer.Choices) > 0 {
		d.body = append(d.body, answer)
	}
	if q.Other != nil {
		d.body = append(d.body, element{Type: "Input.Text", ID: chat.Field(chat.FieldOther, q.Number-1), Label: q.Other.Label, Multiline: true, MaxLength: maxWords, Spacing: "Small"})
	}
}

// rest returns what ends a form: a note, and what confirms a destructive option.
func (d *drawing) rest() (all []element) {
	if len(d.Questions) == 1 || d.Approval != nil {
		note := element{Type: "Input.Text", ID: chat.Field(chat.FieldNote, 0), Label: d.Say("Note"), Multiline: true, MaxLength: maxWords}
		if d.Approval != nil {
			note.Label = d.Approval.Note // how the votes stand says that it is needed
		}
		all = append(all, note)
	}
	if chat.Destroys(d.Card) {
		all = append(all, element{Type: "Input.Toggle", ID: chat.FieldSure, Title: d.Say("Yes, I choose a destructive option")})
	}
	return all
}

// end adds the last fields, and the button that sends a form.
func (d *drawing) end(s *sheet, more ...element) {
	d.body = append(d.body, more...)
	send := d.Say("Send")
	if d.Approval != nil {
		send = d.Approval.Send
	}
	s.Actions = []action{execute(send, "positive", target{Ref: d.ref, Do: doSend})}
}
