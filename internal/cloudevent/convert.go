package cloudevent

import (
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

func (w *askJSON) ask() ask.Ask {
	a := ask.Ask{
		ID: w.ID, Title: w.Title, Context: w.Context, Priority: ask.Priority(w.Priority), Audience: w.Audience,
		RequireResponder: w.RequireResponder, Timeout: time.Duration(w.Timeout), AtDeadline: ask.AtDeadline(w.AtDeadline),
		Metadata: w.Metadata,
	}
	if w.Deadline != nil {
		a.Deadline = w.Deadline.UTC()
	}
	if w.Agent != nil {
		a.Agent = ask.Agent(*w.Agent)
	}
	for i := range w.Questions {
		a.Questions = append(a.Questions, w.Questions[i].question())
	}
	return a
}

func (w *questionJSON) question() ask.Question {
	q := ask.Question{
		ID: w.ID, Kind: ask.Kind(w.Kind), Text: w.Text, Header: w.Header, Multiple: w.Multiple,
		MinItems: w.MinItems, MaxItems: w.MaxItems, Placeholder: w.Placeholder,
		NoOther: w.AllowOther != nil && !*w.AllowOther, Optional: w.Required != nil && !*w.Required,
	}
	for _, o := range w.Options {
		option := ask.Option{ID: o.ID, Label: o.Label, Description: o.Description, Recommended: o.Recommended, Cancels: o.Cancels}
		if o.Preview != nil {
			option.Preview = &ask.Preview{Format: ask.PreviewFormat(o.Preview.Format), Body: o.Preview.Body}
		}
		q.Options = append(q.Options, option)
	}
	if w.Default != nil {
		q.Default = &w.Default.Answer
	}
	if l := w.Limits; l != nil {
		q.Limits = ask.Limits{Integer: l.Integer, MinLength: l.MinLength, MaxLength: l.MaxLength, Pattern: l.Pattern, Message: l.Message}
		if l.Min != nil {
			q.Limits.Min, q.Limits.MinDate = l.Min.number, l.Min.date
		}
		if l.Max != nil {
			q.Limits.Max, q.Limits.MaxDate = l.Max.number, l.Max.date
		}
	}
	return q
}

func wireAsk(a *ask.Ask) *askJSON {
	w := &askJSON{
		ID: a.ID, Title: a.Title, Context: a.Context, Priority: string(a.Priority), Audience: a.Audience,
		RequireResponder: a.RequireResponder, Timeout: duration(a.Timeout), AtDeadline: string(a.AtDeadline), Metadata: a.Metadata,
		Questions: make([]questionJSON, len(a.Questions)),
	}
	if !a.Deadline.IsZero() {
		w.Deadline = new(a.Deadline.UTC())
	}
	if a.Agent != (ask.Agent{}) {
		w.Agent = new(agentJSON(a.Agent))
	}
	for i := range a.Questions {
		w.Questions[i] = wireQuestion(&a.Questions[i])
	}
	return w
}

func wireQuestion(q *ask.Question) questionJSON {
	w := questionJSON{
		ID: q.ID, Kind: string(q.Kind), Header: q.Header, Text: q.Text, Multiple: q.Multiple, MinItems: q.MinItems,
		MaxItems: q.MaxItems, Placeholder: q.Placeholder, Required: new(!q.Optional),
	}
	if q.Kind == ask.KindChoice || q.NoOther || q.Kind == "" && len(q.Options) > 0 {
		w.AllowOther = new(!q.NoOther)
	}
	for _, o := range q.Options {
		option := optionJSON{ID: o.ID, Label: o.Label, Description: o.Description, Recommended: o.Recommended, Cancels: o.Cancels}
		if o.Preview != nil {
			option.Preview = &previewJSON{Format: string(o.Preview.Format), Body: o.Preview.Body}
		}
		w.Options = append(w.Options, option)
	}
	if q.Default != nil {
		w.Default = &valueJSON{*q.Default}
	}
	if l := q.Limits; l != (ask.Limits{}) {
		w.Limits = &limitsJSON{
			Integer: l.Integer, MinLength: l.MinLength, MaxLength: l.MaxLength, Pattern: l.Pattern, Message: l.Message,
			Min: wireBound(l.Min, l.MinDate), Max: wireBound(l.Max, l.MaxDate),
		}
	}
	return w
}

func wireBound(number *float64, date string) *boundJSON {
	if number == nil && date == "" {
		return nil
	}
	return &boundJSON{number, date}
}

func wireAnswers(answers []ask.Answer) []answerJSON {
	w := make([]answerJSON, len(answers))
	for i, a := range answers {
		w[i] = answerJSON(a)
	}
	return w
}

func answers(w []answerJSON) []ask.Answer {
	if len(w) == 0 {
		return nil
	}
	out := make([]ask.Answer, len(w))
	for i, a := range w {
		out[i] = ask.Answer(a)
	}
	return out
}

func (w *byJSON) by() *ask.By {
	if w == nil {
		return nil
	}
	return new(ask.By(*w))
}

func wireBy(b *ask.By) *byJSON {
	if b == nil {
		return nil
	}
	return new(byJSON(*b))
}

func wireReceipt(r ask.Receipt) receiptJSON {
	w := receiptJSON{Type: r.Type, Seq: r.Seq, State: string(r.State), Key: r.Key, Where: r.Where}
	if !r.At.IsZero() {
		w.At = new(r.At.UTC())
	}
	return w
}

func (w *receiptJSON) receipt() ask.Receipt {
	r := ask.Receipt{Type: w.Type, State: ask.ReceiptState(w.State), Seq: w.Seq, Key: w.Key, Where: w.Where}
	if w.At != nil {
		r.At = *w.At
	}
	return r
}
