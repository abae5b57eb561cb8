package ask

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// ReplyError says why typed text does not answer a question. It unwraps to
// [ErrInvalid].
type ReplyError struct {
	QuestionID string
	Faults     []Fault
}

// Error returns the sentence in English.
func (e *ReplyError) Error() string { return e.In(english) }

// In returns what to tell the person before asking again, in a language such as
// "zh-CN".
func (e *ReplyError) In(lang string) string { return sentenceOf(e.Faults, lang) }

// Unwrap returns [ErrInvalid].
func (e *ReplyError) Unwrap() error { return ErrInvalid }

// ParseReply parses typed text as the answer to this question. With options, it
// first matches the whole text: an exact id, an exact label, a number (the
// option's position from 1), or an unambiguous part of a label; letter case and
// width do not matter. Only then, and only if several may be chosen, does it
// split the text at commas, then at spaces. Text that names no option becomes
// Other text if that is allowed, except a bare number, which is meant as an
// option's; "other: …" marks Other text explicitly. The returned answer fits
// the question; the error is a [*ReplyError].
func (q *Question) ParseReply(text string) (Answer, error) {
	text = strings.TrimSpace(text)
	ans := Answer{QuestionID: q.ID}
	if text == "" {
		if !q.Optional {
			return Answer{}, q.replyError(FaultTypedNothing)
		}
		ans.Skipped = true
		return ans, nil
	}
	if err := q.read(text, &ans); err != nil {
		return Answer{}, err
	}
	if wrong := q.check(&ans); len(wrong) > 0 {
		return Answer{}, &ReplyError{q.ID, wrong}
	}
	return ans, nil
}

// IsExact reports whether text is nothing but one answer that the question
// offers: an option's id, label or number, or yes or no.
func (q *Question) IsExact(text string) bool {
	switch q.Kind {
	case KindChoice:
		found, err := q.find(text)
		return err == nil && found.id != "" && !found.part
	case KindBoolean:
		return saysYes(text) || saysNo(text)
	case KindText, KindNumber, KindDate:
	}
	return false
}

func (q *Question) read(text string, ans *Answer) error {
	switch q.Kind {
	case KindChoice:
		return q.readChoice(text, ans)
	case KindNumber:
		n, ok := ParseNumber(text)
		if !ok {
			return q.replyError(FaultTypedNoNumber, clip(text))
		}
		ans.Number = &n
	case KindBoolean:
		yes := saysYes(text)
		if !yes && !saysNo(text) {
			return q.replyError(FaultTypedNoBoolean, clip(text))
		}
		ans.Boolean = &yes
	case KindDate:
		m := fullDate.FindStringSubmatch(fold(text))
		if m == nil {
			return q.replyError(FaultTypedNoDate, clip(text))
		}
		ans.Date = fmt.Sprintf("%s-%02s-%02s", m[1], m[2], m[3])
		if _, err := time.Parse(time.DateOnly, ans.Date); err != nil {
			return q.replyError(FaultTypedNoSuchDay, clip(text))
		}
	case KindText:
		ans.Text = text
	default:
		ans.Text = text // a newer kind: check reports that it cannot be answered here
	}
	return nil
}

// ParseNumber reads a number as a person types it, in the digits of several
// scripts and with a decimal point or comma. A comma that may separate
// thousands, as in 1,000, is not guessed: ok is false.
func ParseNumber(text string) (n float64, ok bool) {
	plain := fold(text)
	if !thousand.MatchString(plain) {
		plain = strings.Replace(plain, ",", ".", 1)
	}
	n, err := strconv.ParseFloat(plain, 64)
	return n, err == nil && decimal.MatchString(plain)
}

var (
	thousand = regexp.MustCompile(`^[+-]?[1-9][0-9]{0,2},[0-9]{3}$`)
	decimal  = regexp.MustCompile(`^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([Ee][+-]?[0-9]+)?$`)
	fullDate = regexp.MustCompile(`^([0-9]{4})(?:-|/|年)([0-9]{1,2})(?:-|/|月)([0-9]{1,2})日?$`)
)

// saysYes and saysNo accept these words; the numbers are the positions that
// [Question.Plain] shows.
func saysYes(text string) bool {
	return isOne(text, "1", "yes", "y", "true", "是", "是的", "对", "對", "はい", "예", "네", "да", "sí", "oui", "ja", "نعم")
}

func saysNo(text string) bool {
	return isOne(text, "2", "no", "n", "false", "否", "不", "不是", "不对", "不對", "いいえ", "아니요", "нет", "non", "nein", "لا")
}

func isOne(text string, words ...string) bool {
	plain := fold(text)
	return slices.ContainsFunc(words, func(word string) bool { return fold(word) == plain })
}

func (q *Question) replyError(code FaultCode, args ...any) error {
	return newReplyError(q.ID, code, args...)
}

func newReplyError(questionID string, code FaultCode, args ...any) *ReplyError {
	var f faults
	f.addIn(questionID, "", code, args...)
	return &ReplyError{questionID, f}
}

// ParseReply parses typed text as the reply to a whole ask. With one question,
// the text is its answer. With several, each answer is a line "id=answer" (or
// "1=answer", by position), and a line without "=" continues the answer above
// it. Text without any such line is the free response to the whole ask. The
// error is the [*ReplyError] of the first wrong line.
func (a *Ask) ParseReply(text string) (Reply, error) {
	r, wrong := a.ReadReply(text)
	if len(wrong) > 0 {
		return Reply{}, wrong[0]
	}
	return r, nil
}

// ReadReply is like [Ask.ParseReply] but continues after a wrong line: it
// returns the valid answers and the errors of the others, so that a surface can
// ask only those again.
func (a *Ask) ReadReply(text string) (Reply, []*ReplyError) {
	if len(a.Questions) == 1 {
		q := &a.Questions[0]
		if id, rest, ok := strings.Cut(text, "="); ok && strings.TrimSpace(id) == q.ID {
			text = rest
		}
		return readAll([]*Question{q}, []string{text}, nil)
	}
	var named []*Question
	var texts []string
	var wrong []*ReplyError
	for line := range strings.Lines(text) {
		id, rest, ok := strings.Cut(line, "=")
		id = strings.TrimSpace(id)
		q := a.questionNamed(id)
		switch {
		case ok && q != nil:
			named, texts = append(named, q), append(texts, rest)
		case ok && id != "" && !strings.ContainsFunc(id, unicode.IsSpace):
			wrong = append(wrong, newReplyError("", FaultUnknownQuestion, clip(id), a.questionIDs()))
		case len(named) > 0:
			texts[len(texts)-1] += line
		case strings.TrimSpace(line) != "" && len(wrong) == 0:
			return Reply{Response: strings.TrimSpace(text)}, nil
		}
	}
	return readAll(named, texts, wrong)
}

func readAll(named []*Question, texts []string, wrong []*ReplyError) (Reply, []*ReplyError) {
	var r Reply
	for i, q := range named {
		if slices.Contains(named[:i], q) {
			wrong = append(wrong, newReplyError(q.ID, FaultAnsweredTwice, clip(q.ID)))
			r.Answers = slices.DeleteFunc(r.Answers, func(ans Answer) bool { return ans.QuestionID == q.ID })
			continue
		}
		ans, err := q.ParseReply(texts[i])
		if e, ok := errors.AsType[*ReplyError](err); ok {
			wrong = append(wrong, e)
			continue
		}
		r.Answers = append(r.Answers, ans)
	}
	return r, wrong
}

func (a *Ask) questionNamed(name string) *Question {
	if q := a.Question(name); q != nil {
		return q
	}
	if n, err := strconv.Atoi(fold(name)); err == nil && n >= 1 && n <= len(a.Questions) {
		return &a.Questions[n-1]
	}
	return nil
}
