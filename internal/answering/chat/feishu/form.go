package feishu

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
)

// form holds the fields that a person sent, by name. What they hold is checked only here and by the bus: it comes from
// the person's client.
type form map[string]json.RawMessage

func (f form) text(name string, n int) (s string) {
	_ = json.Unmarshal(f[name+strconv.Itoa(n)], &s) // another type is as none
	return strings.TrimSpace(s)
}

// chosen returns the numbers of the chosen options of a question with so many.
func (f form) chosen(n, options int) (numbers []int) {
	var list []string
	if json.Unmarshal(f[fieldAnswer+strconv.Itoa(n)], &list) != nil {
		list = []string{f.text(fieldAnswer, n)}
	}
	for _, one := range list {
		if i, err := strconv.Atoi(one); err == nil && i >= 0 && i < options {
			numbers = append(numbers, i)
		}
	}
	for i := range min(options, maxChecks) {
		if f.ticked(fieldCheck + strconv.Itoa(n) + "_" + strconv.Itoa(i)) {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

func (f form) ticked(name string) (yes bool) {
	_ = json.Unmarshal(f[name], &yes) // another type is as none
	return yes
}

// read returns the answers, or in words what is wrong with the first faulty field.
func (f form) read(l *lang.Language, a *ask.Ask) (answers []ask.Answer, fault string) {
	for i := range a.Questions {
		ans, why := f.answer(l, &a.Questions[i], i)
		if why == "" && ans.Empty() && !a.Questions[i].Optional {
			why = l.Say("This question needs an answer.")
		}
		if why != "" && len(a.Questions) > 1 {
			why = strconv.Itoa(i+1) + ". " + why
		}
		if why != "" {
			return nil, why
		}
		ans.Skipped = ans.Empty()
		answers = append(answers, ans)
	}
	return answers, ""
}

func (f form) answer(l *lang.Language, q *ask.Question, n int) (ans ask.Answer, fault string) {
	ans = ask.Answer{QuestionID: q.ID, Notes: f.text(fieldNote, n)}
	typed := f.text(fieldAnswer, n)
	switch q.Kind {
	case ask.KindChoice:
		for _, i := range f.chosen(n, len(q.Options)) {
			ans.Selected = append(ans.Selected, q.Options[i].ID)
		}
		ans.Other = f.text(fieldOther, n)
		if len(q.Options) == 0 {
			ans.Other = typed
		}
		if ans.Other != "" && len(ans.Selected) > 0 && !q.Multiple {
			return ans, l.Say("Choose an option or write an answer of your own, not both.")
		}
	case ask.KindBoolean:
		for _, i := range f.chosen(n, 2) {
			ans.Boolean = new(i == 0)
		}
	case ask.KindNumber:
		if typed == "" {
			break
		}
		number, err := strconv.ParseFloat(typed, 64)
		if err != nil {
			return ans, l.Say("Type a number such as 3 or 2.5.")
		}
		ans.Number = &number
	case ask.KindDate:
		ans.Date, _, _ = strings.Cut(typed, " ") // "2026-11-25 +0800"
	case ask.KindText:
		ans.Text = typed
	}
	return ans, ""
}
