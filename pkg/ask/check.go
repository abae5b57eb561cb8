package ask

import (
	"cmp"
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
			f.add(at+"/question_id", FaultUnknownQuestion, clip(ans.QuestionID), a.questionIDs())
			continue
		}
		if _, twice := given[q.ID]; twice {
			f.addIn(q.ID, at+"/question_id", FaultAnsweredTwice, clip(q.ID))
			continue
		}
		for _, fault := range q.check(&ans) {
			fault.Pointer = at
			f = append(f, fault)
		}
		given[q.ID] = ans
	}
	f.length("/response", r.Response, MaxLong)
	f.files(r.AllFiles(), "/answers")
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
				f.addIn(q.ID, "/answers", FaultNoAnswer, clip(q.ID))
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

// Destructive returns the chosen options that are marked destructive, which a surface sends only after a second, different
// key or click.
func (a *Ask) Destructive(answers []Answer) (chosen []*Option) {
	for i := range answers {
		q := a.Question(answers[i].QuestionID)
		if q == nil {
			continue
		}
		for _, id := range answers[i].Selected {
			if o := q.Option(id); o != nil && o.Destructive {
				chosen = append(chosen, o)
			}
		}
	}
	return chosen
}

func (a *Ask) questionIDs() string {
	ids := make([]string, len(a.Questions))
	for i := range a.Questions {
		ids[i] = clip(a.Questions[i].ID)
	}
	return strings.Join(ids, ", ")
}

// check lists what is wrong with one answer, without pointers. It also clears
// blank text in the answer. Whether an empty answer is allowed is decided by
// [Ask.Check].
func (q *Question) check(ans *Answer) faults {
	var wrong faults
	say := func(code FaultCode, args ...any) { wrong.addIn(q.ID, "", code, args...) }
	limit := func(code FaultCode, args ...any) { // the asker's own words, if there are any
		f := NewFault("", code, args...)
		f.QuestionID = q.ID
		if q.Limits.Message != "" {
			f.Args[ArgMessage], f.Message = q.Limits.Message, q.Limits.Message
		}
		wrong = append(wrong, f)
	}

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
		say(FaultNoteTooLong, MaxText)
	}
	if ans.Empty() {
		return wrong
	}
	if ans.Skipped {
		say(FaultSkippedAndAnswered)
	}
	for _, field := range q.foreignFields(ans) {
		say(FaultWrongField, field, clip(q.ID), q.Kind, q.wants())
	}
	if len(wrong) > 0 {
		return wrong
	}
	switch q.Kind {
	case KindChoice:
		q.checkChoice(ans, say)
	case KindText:
		q.checkText(ans.Text, say, limit)
	case KindNumber:
		q.checkNumber(*ans.Number, say, limit)
	case KindDate:
		q.checkDate(ans.Date, say, limit)
	case KindBoolean:
	default:
		say(FaultUnknownKind, clip(q.ID), clip(string(q.Kind)))
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
		return "selected, other"
	case q.Kind == KindChoice:
		return "selected"
	default:
		return string(q.Kind)
	}
}

func (q *Question) checkChoice(ans *Answer, say func(FaultCode, ...any)) {
	for i, id := range ans.Selected {
		if q.Option(id) == nil {
			say(FaultUnknownOption, clip(id), q.optionIDs())
		} else if slices.Contains(ans.Selected[:i], id) {
			say(FaultChosenTwice, clip(id))
		}
	}
	n := len(ans.Selected)
	if ans.Other != "" {
		n++
		if q.NoOther {
			say(FaultOtherNotAllowed, q.optionIDs())
		} else if utf8.RuneCountInString(ans.Other) > MaxText {
			say(FaultOtherTooLong, MaxText)
		}
	}
	switch {
	case !q.Multiple && n > 1:
		say(FaultTooManyAnswers, n)
	case q.Multiple && n < q.MinItems:
		say(FaultTooFewChosen, n, q.MinItems)
	case q.Multiple && q.MaxItems > 0 && n > q.MaxItems:
		say(FaultTooManyChosen, n, q.MaxItems)
	}
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

func (q *Question) checkText(text string, say, limit func(FaultCode, ...any)) {
	n, most := utf8.RuneCountInString(text), q.Limits.MaxLength
	most = cmp.Or(most, MaxLong)
	switch {
	case n < q.Limits.MinLength:
		limit(FaultTextTooShort, n, q.Limits.MinLength)
	case n > most:
		limit(FaultTextTooLong, n, most)
	}
	if q.Limits.Pattern == "" {
		return
	}
	re, err := regexp.Compile(q.Limits.Pattern)
	if err != nil {
		say(FaultBrokenPattern, err)
	} else if !re.MatchString(text) {
		limit(FaultPatternMismatch, q.Limits.Pattern)
	}
}

func (q *Question) checkNumber(n float64, say, limit func(FaultCode, ...any)) {
	l := q.Limits
	switch {
	case !finite(n):
		say(FaultNotFinite)
	case l.Integer && n != math.Trunc(n):
		limit(FaultNotWhole, n)
	case l.Min != nil && n < *l.Min:
		limit(FaultTooLow, n, *l.Min)
	case l.Max != nil && n > *l.Max:
		limit(FaultTooHigh, n, *l.Max)
	}
}

func (q *Question) checkDate(s string, say, limit func(FaultCode, ...any)) {
	if _, err := time.Parse(time.DateOnly, s); err != nil {
		say(FaultNotDate, clip(s))
		return
	}
	switch l := q.Limits; { // full-dates order as strings
	case l.MinDate != "" && s < l.MinDate:
		limit(FaultTooEarly, s, l.MinDate)
	case l.MaxDate != "" && s > l.MaxDate:
		limit(FaultTooLate, s, l.MaxDate)
	}
}
