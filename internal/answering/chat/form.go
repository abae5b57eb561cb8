package chat

import (
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
)

// Names of a form's fields. The first three are followed by the number of a question, from 0.
const (
	FieldAnswer = "q" // numbers of options, or [ChosenOther]; words, a number or a date
	FieldOther  = "o" // an answer of one's own
	FieldNote   = "n"
	FieldSure   = "sure"   // "true" confirms a destructive option
	FieldReason = "reason" // of declining
)

// ChosenOther is the value of the option for an answer of one's own, in chats that list it with the others.
const ChosenOther = "other"

// Fields are what a person filled in, for chats whose forms have one text for each field: the options that were chosen
// are their numbers with commas between them.
type Fields map[string]string

// Field returns the name of a question's field.
func Field(kind string, question int) string { return kind + strconv.Itoa(question) }

// Sure reports whether a destructive option was confirmed.
func (f Fields) Sure() bool { return f[FieldSure] == "true" }

// Read returns the answers, and what is wrong with them by field.
func (f Fields) Read(l *lang.Language, a *ask.Ask) (answers []ask.Answer, faults map[string]string) {
	faults = map[string]string{}
	for i := range a.Questions {
		q := &a.Questions[i]
		field := Field(FieldAnswer, i)
		given, other := strings.TrimSpace(f[field]), strings.TrimSpace(f[Field(FieldOther, i)])
		ans := ask.Answer{QuestionID: q.ID, Notes: strings.TrimSpace(f[Field(FieldNote, i)])}
		switch q.Kind {
		case ask.KindChoice:
			if len(q.Options) == 0 {
				given, other = "", given+other
			}
			ans.Selected, ans.Other = Chosen(q, given), other
			if other == "" && slices.Contains(strings.Split(given, ","), ChosenOther) {
				faults[Field(FieldOther, i)] = l.Say("This question needs an answer.")
			}
			if other != "" && !q.Multiple && len(ans.Selected) > 0 {
				faults[Field(FieldOther, i)] = l.Say("Choose an option or write an answer of your own, not both.")
			}
		case ask.KindBoolean:
			if given == "0" || given == "1" {
				ans.Boolean = new(given == "0")
			}
		case ask.KindNumber:
			if given == "" {
				break
			}
			number, ok := ask.ParseNumber(given)
			if !ok {
				faults[field] = l.Say("Type a number such as 3 or 2.5.")
				continue
			}
			ans.Number = &number
		case ask.KindDate:
			ans.Date = given
		case ask.KindText:
			ans.Text = f[field]
		default:
			continue
		}
		switch {
		case ans.Empty() && q.Optional:
			ans.Skipped = true
		case ans.Empty() && faults[field]+faults[Field(FieldOther, i)] == "":
			faults[field] = l.Say("This question needs an answer.")
		}
		answers = append(answers, ans)
	}
	return answers, faults
}

// Chosen returns the ids of the options with these numbers.
func Chosen(q *ask.Question, numbers string) (ids []string) {
	for number := range strings.SplitSeq(numbers, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(number))
		if err == nil && n >= 0 && n < len(q.Options) && !slices.Contains(ids, q.Options[n].ID) {
			ids = append(ids, q.Options[n].ID)
		}
	}
	return ids
}
