package ask

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Check validates a reply against this ask. It returns the answers in the order
// of the questions, with the missing ones marked as skipped. If an option that
// cancels the whole ask was chosen, it returns that option instead, and the
// other questions need no answer. The error is an [*Error] with [ErrInvalid];
// its faults name the questions, so that a surface can ask only those again.
// Check does not decide who may answer: see [Ask.Allows].
func (a *Ask) Check(r Reply) ([]Answer, *CancelledBy, error) {
	var f faults
	given := make(map[string]Answer, len(r.Answers))
	for i, ans := range r.Answers {
		at := "/answers/" + strconv.Itoa(i)
		q := a.Question(ans.QuestionID)
		if q == nil {
			f.add(at+"/question_id", "is %q; the questions are %s", clip(ans.QuestionID), a.questionIDs())
			continue
		}
		if _, twice := given[q.ID]; twice {
			f = append(f, Fault{at + "/question_id", q.ID, fmt.Sprintf("%q is answered twice; answer each question once", clip(q.ID))})
			continue
		}
		for _, message := range q.check(&ans) {
			f = append(f, Fault{at, q.ID, message})
		}
		given[q.ID] = ans
	}
	f.length("/response", r.Response, MaxLong)
	if len(f) == 0 {
		if by := a.cancelledBy(r.Answers); by != nil {
			return nil, by, nil
		}
	}
	answers := make([]Answer, 0, len(a.Questions))
	for i := range a.Questions {
		q := &a.Questions[i]
		ans := given[q.ID]
		ans.QuestionID = q.ID
		if ans.Empty() {
			ans.Skipped = true
			if !q.Optional && strings.TrimSpace(r.Response) == "" {
				f = append(f, Fault{"/answers", q.ID, fmt.Sprintf("question %q needs an answer", clip(q.ID))})
			}
		}
		answers = append(answers, ans)
	}
	if err := InvalidError("answer", f); err != nil {
		return nil, nil, err
	}
	return answers, nil, nil
}

func (a *Ask) cancelledBy(answers []Answer) *CancelledBy {
	for _, ans := range answers {
		q := a.Question(ans.QuestionID)
		for _, id := range ans.Selected {
			if o := q.Option(id); o != nil && o.Cancels {
				return &CancelledBy{QuestionID: q.ID, OptionID: o.ID}
			}
		}
	}
	return nil
}

func (a *Ask) questionIDs() string {
	ids := make([]string, len(a.Questions))
	for i := range a.Questions {
		ids[i] = clip(a.Questions[i].ID)
	}
	return strings.Join(ids, ", ")
}

// check lists what is wrong with one answer, in sentences. It also clears blank
// text in the answer. Whether an empty answer is allowed is decided by
// [Ask.Check].
func (q *Question) check(ans *Answer) []string {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }

	if strings.TrimSpace(ans.Other) == "" {
		ans.Other = ""
	}
	if strings.TrimSpace(ans.Text) == "" {
		ans.Text = ""
	}
	if q.Kind == KindText && ans.Text == "" {
		ans.Text, ans.Other = ans.Other, "" // a choice without options is a text question
	}
	if utf8.RuneCountInString(ans.Notes) > MaxText {
		say("the note has more than %d characters", MaxText)
	}
	if ans.Empty() {
		return wrong
	}
	if ans.Skipped {
		say("is both skipped and answered; do one of the two")
	}
	for _, field := range q.foreignFields(ans) {
		say("has %s, but %q is a %s question; give %s", field, clip(q.ID), q.Kind, q.wants())
	}
	if len(wrong) > 0 {
		return wrong
	}
	switch q.Kind {
	case KindChoice:
		q.checkChoice(ans, say)
	case KindText:
		q.checkText(ans.Text, say)
	case KindNumber:
		q.checkNumber(*ans.Number, say)
	case KindDate:
		q.checkDate(ans.Date, say)
	case KindBoolean:
	default:
		say("question %q has kind %q, which this version does not support; answer it in a newer one", clip(q.ID), clip(string(q.Kind)))
	}
	return wrong
}

// foreignFields names the value fields of ans that belong to another kind of
// question.
func (q *Question) foreignFields(ans *Answer) []string {
	var fields []string
	for _, v := range []struct {
		name  string
		given bool
		kind  Kind
	}{
		{"selected", len(ans.Selected) > 0, KindChoice},
		{"other", ans.Other != "", KindChoice},
		{"text", ans.Text != "", KindText},
		{"number", ans.Number != nil, KindNumber},
		{"boolean", ans.Boolean != nil, KindBoolean},
		{"date", ans.Date != "", KindDate},
	} {
		if v.given && v.kind != q.Kind {
			fields = append(fields, v.name)
		}
	}
	return fields
}

func (q *Question) wants() string {
	switch {
	case q.Kind == KindChoice && q.Other():
		return "selected or other"
	case q.Kind == KindChoice:
		return "selected"
	default:
		return string(q.Kind)
	}
}

func (q *Question) checkChoice(ans *Answer, say func(string, ...any)) {
	for i, id := range ans.Selected {
		if q.Option(id) == nil {
			say("option %q does not exist; the options are %s", clip(id), q.optionIDs())
		} else if slices.Contains(ans.Selected[:i], id) {
			say("option %q is chosen twice", clip(id))
		}
	}
	n := len(ans.Selected)
	if ans.Other != "" {
		n++
		if q.NoOther {
			say("Other text is not allowed here; choose from %s", q.optionIDs())
		} else if utf8.RuneCountInString(ans.Other) > MaxText {
			say("the Other text has more than %d characters", MaxText)
		}
	}
	switch {
	case !q.Multiple && n > 1:
		say("%d answers are given; choose one", n)
	case q.Multiple && n < q.MinItems:
		say("%s; choose at least %d", chosen(n), q.MinItems)
	case q.Multiple && q.MaxItems > 0 && n > q.MaxItems:
		say("%s; choose at most %d", chosen(n), q.MaxItems)
	}
}

func chosen(n int) string {
	if n == 1 {
		return "1 is chosen"
	}
	return strconv.Itoa(n) + " are chosen"
}

func (q *Question) optionIDs() string {
	var ids []string
	for i := range q.Options {
		if i == 10 {
			ids = append(ids, "…")
			break
		}
		ids = append(ids, clip(q.Options[i].ID))
	}
	return strings.Join(ids, ", ")
}

func (q *Question) checkText(text string, say func(string, ...any)) {
	n, most := utf8.RuneCountInString(text), q.Limits.MaxLength
	if most == 0 {
		most = MaxLong
	}
	switch {
	case n < q.Limits.MinLength:
		say("%s", q.limit("has %d characters; write at least %d", n, q.Limits.MinLength))
	case n > most:
		say("%s", q.limit("has %d characters; write at most %d", n, most))
	}
	if q.Limits.Pattern == "" {
		return
	}
	re, err := regexp.Compile(q.Limits.Pattern)
	if err != nil {
		say("the question's pattern is broken: %v", err)
	} else if !re.MatchString(text) {
		say("%s", q.limit("does not match %s", q.Limits.Pattern))
	}
}

func (q *Question) checkNumber(n float64, say func(string, ...any)) {
	l := q.Limits
	switch {
	case !finite(n):
		say("is not a finite number")
	case l.Integer && n != math.Trunc(n):
		say("%s", q.limit("is %v; give a whole number", n))
	case l.Min != nil && n < *l.Min:
		say("%s", q.limit("is %v; give at least %v", n, *l.Min))
	case l.Max != nil && n > *l.Max:
		say("%s", q.limit("is %v; give at most %v", n, *l.Max))
	}
}

func (q *Question) checkDate(s string, say func(string, ...any)) {
	if _, err := time.Parse(time.DateOnly, s); err != nil {
		say("is %q; give a date such as 2026-11-20", clip(s))
		return
	}
	switch l := q.Limits; { // full-dates order as strings
	case l.MinDate != "" && s < l.MinDate:
		say("%s", q.limit("is %s; give %s or later", s, l.MinDate))
	case l.MaxDate != "" && s > l.MaxDate:
		say("%s", q.limit("is %s; give %s or earlier", s, l.MaxDate))
	}
}

// limit returns the message for a broken limit: the asker's own, if there is
// one.
func (q *Question) limit(format string, args ...any) string {
	if q.Limits.Message != "" {
		return q.Limits.Message
	}
	return fmt.Sprintf(format, args...)
}
