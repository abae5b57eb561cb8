package email

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// form is what was typed into an ask's page. The fields of the i-th question begin with "q" and i; the value of an option
// is "=" and its id, so that an option can have the id "other".
type form struct{ url.Values }

const chosenOther = "other"

// Field returns the name of a question's field.
func (f form) Field(n int, part string) string { return "q" + strconv.Itoa(n) + part }

// Has reports whether an option of a question is chosen.
func (f form) Has(n int, id string) bool { return slices.Contains(f.Values[f.Field(n, "")], "="+id) }

// Other reports whether Other is chosen.
func (f form) Other(n int) bool { return slices.Contains(f.Values[f.Field(n, "")], chosenOther) }

// Text returns what was typed into a part of a question.
func (f form) Text(n int, part string) string { return f.Get(f.Field(n, part)) }

// choose chooses the n-th option of the only question, without sending anything.
func (f form) choose(a *ask.Ask, n int) {
	if len(a.Questions) != 1 || n < 0 {
		return
	}
	switch q := &a.Questions[0]; {
	case q.Kind == ask.KindChoice && n < len(q.Options):
		f.Set(f.Field(0, ""), "="+q.Options[n].ID)
	case q.Kind == ask.KindBoolean && n < 2:
		f.Set(f.Field(0, ""), "="+[]string{"true", "false"}[n])
	}
}

// reply turns the form into a reply. It only reports values that a reply cannot hold; [ask.Ask.Check] reports the rest.
func (f form) reply(a *ask.Ask) (r ask.Reply, faults []ask.Fault) {
	for i := range a.Questions {
		q := &a.Questions[i]
		ans := ask.Answer{QuestionID: q.ID, Notes: strings.TrimSpace(f.Text(i, "note"))} // a vote's reason
		typed := strings.ReplaceAll(f.Text(i, "text"), "\r\n", "\n")
		switch q.Kind {
		case ask.KindChoice:
			for _, v := range f.Values[f.Field(i, "")] {
				if id, ok := strings.CutPrefix(v, "="); ok && id != "" {
					ans.Selected = append(ans.Selected, id)
				}
			}
			// Text beside Other counts if Other or nothing is chosen: there are no scripts.
			if q.Other() && (f.Other(i) || len(ans.Selected) == 0) {
				ans.Other = strings.TrimSpace(typed)
			}
		case ask.KindText:
			ans.Text = typed
		case ask.KindNumber:
			text := strings.TrimSpace(typed)
			if text == "" {
				break
			}
			n, ok := ask.ParseNumber(text)
			if !ok {
				fault := ask.NewFault("", ask.FaultTypedNoNumber, ask.Clip(text, 80))
				fault.QuestionID = q.ID
				faults = append(faults, fault)
				continue
			}
			ans.Number = &n
		case ask.KindBoolean:
			if yes := f.Has(i, "true"); yes || f.Has(i, "false") {
				ans.Boolean = &yes
			}
		case ask.KindDate:
			ans.Date = strings.TrimSpace(typed)
		}
		if !ans.Empty() {
			r.Answers = append(r.Answers, ans)
		}
	}
	return r, faults
}
