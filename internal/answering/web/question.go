package web

import (
	"context"
	"strconv"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
)

// questionView is one question of the ask in focus and its part of the form.
type questionView struct {
	*card.Question
	Element string // id of the element
	Fault   string
	Invalid bool // the fault is of the answer; else it is of the vote's reason
	Options []optionView
	Other   *optionView
	None    *optionView
	Earlier []card.Earlier
	Wide    bool // its previews need the full width
	Two     bool // there are two previews to compare

	// Field names and their submitted values.
	Field, Value    string
	OtherField      string
	NoteField, Note string
	FilesField      string
	Files           string // references as JSON
	NoteLabel       string // of an ask that several people decide; the note is then the vote's reason
	NoteHint        string // why it is needed; empty: it is not
	InputMode       string
}

// optionView is one option and its value in the form.
type optionView struct {
	*card.Option
	Value  string
	Chosen bool
	HTML   template.HTML // a preview in Markdown
	Text   string        // submitted beside Other
}

func (s *Server) newQuestion(ctx context.Context, me board.Viewer, q *card.Question, form typed, again []card.Again) questionView {
	v := questionView{
		Question: q, Element: "q" + strconv.Itoa(q.Number),
		NoteField: fieldNote + q.ID, Note: form.get(fieldNote + q.ID),
		FilesField: fieldFiles + q.ID, Files: form.get(fieldFiles + q.ID),
	}
	for _, one := range again {
		if one.Question == q {
			v.Fault = one.Why
		}
	}
	switch q.Kind {
	case ask.KindChoice:
		s.choice(ctx, me, &v, form)
	case ask.KindText:
		v.Field = fieldText + q.ID
	case ask.KindNumber:
		v.Field, v.InputMode = fieldNumber+q.ID, "decimal"
		if q.Limits.Integer && q.Limits.Min != nil && *q.Limits.Min >= 0 {
			v.InputMode = "numeric"
		}
	case ask.KindBoolean:
		v.Field = fieldBoolean + q.ID
		for i := range q.Options {
			o := &q.Options[i]
			v.Options = append(v.Options, optionView{Option: o, Value: o.ID, Chosen: form.has(v.Field, o.ID)})
		}
	case ask.KindDate:
		v.Field = fieldDate + q.ID
	}
	if q.None != nil {
		v.None = &optionView{Option: q.None}
	}
	v.Value = form.get(v.Field)
	return v
}

func (s *Server) choice(ctx context.Context, me board.Viewer, v *questionView, form typed) {
	q := v.Question
	v.Field, v.OtherField = fieldSelect+q.ID, fieldOther+q.ID
	shown := 0
	for i := range q.Options {
		o := &q.Options[i]
		ov := optionView{Option: o, Value: optionMark + o.ID, HTML: s.html(ctx, me, o.Preview)}
		ov.Chosen = form.has(v.Field, ov.Value)
		v.Wide = v.Wide || o.Preview != nil && o.Preview.Diff()
		v.Options = append(v.Options, ov)
		shown += min(1, len(ov.HTML))
	}
	v.Two = shown > 1
	if q.Other != nil {
		v.Other = &optionView{Option: q.Other, Value: chosenOther, Chosen: form.has(v.Field, chosenOther), Text: form.get(v.OtherField)}
	}
}
