package web

import (
	"net/url"
	"slices"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// The names of form fields: the part of an answer, a colon, the question's id.
// The value of an option is "=" and its id, so that an option can have the id
// "other".
const (
	fieldSelect  = "select:"
	fieldOther   = "other:"
	fieldText    = "text:"
	fieldNumber  = "number:"
	fieldBoolean = "boolean:"
	fieldDate    = "date:"
	fieldNote    = "note:"
	fieldFiles   = "files:" // references to uploaded files, as JSON

	fieldResponse = "response"
	fieldReason   = "reason"
	fieldWhy      = "why"  // of break-glass
	fieldSure     = "sure" // that this person decides alone
	fieldAnswerID = "answer_id"
	fieldLife     = "life"
	fieldMe       = "me"      // for whom the page was drawn
	fieldDone     = "done"    // in a URL: what this person has just decided
	fieldConfirm  = "confirm" // the destructive options that are chosen
	fieldHeld     = "held"    // the page holds this answer: heldCheck, then heldSend

	heldCheck = "check" // check it and go on; it is sent later
	heldSend  = "send"  // send it; the page has gone on

	chosenOther = "other"
	optionMark  = "="
)

// typed is a submitted form.
type typed struct{ values url.Values }

func (t typed) get(name string) string { return t.values.Get(name) }

func (t typed) has(name, value string) bool {
	return slices.Contains(t.values[name], value)
}

// apart separates the form of break-glass from that of an answer: what was chosen in it is no vote.
func (t typed) apart() (answer, alone typed) {
	if !t.values.Has(fieldWhy) {
		return t, typed{}
	}
	return typed{url.Values{}}, t
}

// reply turns a form into a reply. It only reports values that a reply cannot
// hold, such as a number that does not parse; [ask.Ask.Check] reports the rest.
func (t typed) reply(a *ask.Ask, by ask.By) (ask.Reply, []ask.Fault) {
	r := ask.Reply{AnswerID: t.get(fieldAnswerID), Response: strings.TrimSpace(normalLines(t.get(fieldResponse))), By: by}
	var faults []ask.Fault
	for i := range a.Questions {
		q := &a.Questions[i]
		ans, fault := t.answer(q)
		if fault != nil {
			fault.QuestionID = q.ID
			faults = append(faults, *fault)
			continue
		}
		if !ans.Empty() || ans.Notes != "" || ans.Files != nil {
			r.Answers = append(r.Answers, ans)
		}
	}
	return r, faults
}

func (t typed) answer(q *ask.Question) (ask.Answer, *ask.Fault) {
	ans := ask.Answer{QuestionID: q.ID, Notes: strings.TrimSpace(normalLines(t.get(fieldNote + q.ID))), Files: filesOf(t.get(fieldFiles + q.ID))}
	switch q.Kind {
	case ask.KindChoice:
		if t.choice(q, &ans) && ans.Other == "" {
			return ans, new(ask.NewFault("", ask.FaultOtherEmpty))
		}
	case ask.KindText:
		ans.Text = normalLines(t.get(fieldText + q.ID))
	case ask.KindNumber:
		text := strings.TrimSpace(t.get(fieldNumber + q.ID))
		if text == "" {
			break
		}
		n, ok := ask.ParseNumber(text)
		if !ok {
			return ans, new(ask.NewFault("", ask.FaultTypedNoNumber, ask.Clip(text, 80)))
		}
		ans.Number = &n
	case ask.KindBoolean:
		if said := t.get(fieldBoolean + q.ID); said == "true" || said == "false" {
			ans.Boolean = new(said == "true")
		}
	case ask.KindDate:
		ans.Date = strings.TrimSpace(t.get(fieldDate + q.ID))
	}
	return ans, nil
}

// choice reads the chosen options and reports whether Other is one of them.
func (t typed) choice(q *ask.Question, ans *ask.Answer) (other bool) {
	for _, v := range t.values[fieldSelect+q.ID] {
		if id, ok := strings.CutPrefix(v, optionMark); ok {
			ans.Selected = append(ans.Selected, id)
		} else if v == chosenOther {
			other = true
		}
	}
	// Text beside Other counts if Other or nothing is chosen: without scripts,
	// a person can type without selecting Other.
	if q.Other() && (other || len(ans.Selected) == 0) {
		ans.Other = strings.TrimSpace(t.get(fieldOther + q.ID))
	}
	return other && q.Other()
}

// normalLines converts the CRLF of form encoding to LF.
func normalLines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
