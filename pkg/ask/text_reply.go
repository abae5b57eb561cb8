package ask

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// ReplyError says why typed text is no answer to a question. It unwraps to
// [ErrInvalid].
type ReplyError struct {
	QuestionID string
	Sentence   string // what to tell the person, before the same question again
}

// Error is the sentence.
func (e *ReplyError) Error() string { return e.Sentence }

// Unwrap gives [ErrInvalid].
func (e *ReplyError) Unwrap() error { return ErrInvalid }

// ParseReply reads what a person typed as the answer to this question. With
// options, the whole text comes first: an exact id, an exact label, a number
// (the option's position from 1), an unambiguous part of a label; letter case
// and width do not matter. Only then, and only where several may be chosen, is
// it split at commas, then at spaces. What names no option is Other text where
// that is allowed; "other: …" says so outright. The answer that is returned
// fits the question; the error is a [*ReplyError].
func (q *Question) ParseReply(text string) (Answer, error) {
	text = strings.TrimSpace(text)
	ans := Answer{QuestionID: q.ID}
	if text == "" {
		if !q.Optional {
			return Answer{}, q.sorry("Please give an answer.")
		}
		ans.Skipped = true
		return ans, nil
	}
	if err := q.read(text, &ans); err != nil {
		return Answer{}, err
	}
	wrong := q.check(&ans)
	if m := q.Limits.Message; m != "" && slices.Contains(wrong, m) {
		return Answer{}, q.sorry("%s", m)
	}
	if len(wrong) > 0 {
		return Answer{}, q.sorry("Your answer %s.", strings.Join(wrong, "; "))
	}
	return ans, nil
}

func (q *Question) read(text string, ans *Answer) error {
	switch q.Kind {
	case KindChoice:
		return q.readChoice(text, ans)
	case KindNumber:
		plain := fold(text)
		n, err := strconv.ParseFloat(plain, 64)
		if err != nil || !decimal.MatchString(plain) {
			return q.sorry("%q is no number; type one such as 3 or 2.5.", clip(text))
		}
		ans.Number = &n
	case KindBoolean:
		yes := saysYes(text)
		if !yes && !saysNo(text) {
			return q.sorry("%q is neither yes nor no.", clip(text))
		}
		ans.Boolean = &yes
	case KindDate:
		m := fullDate.FindStringSubmatch(fold(text))
		if m == nil {
			return q.sorry("%q is no date; type one such as 2026-11-20.", clip(text))
		}
		ans.Date = fmt.Sprintf("%s-%02s-%02s", m[1], m[2], m[3])
		if _, err := time.Parse(dateLayout, ans.Date); err != nil {
			return q.sorry("%q is no day of the calendar.", clip(text))
		}
	case KindText:
		ans.Text = text
	default:
		ans.Text = text // a newer kind: the check says that it cannot be answered here
	}
	return nil
}

var (
	decimal  = regexp.MustCompile(`^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([Ee][+-]?[0-9]+)?$`)
	fullDate = regexp.MustCompile(`^([0-9]{4})(?:-|/|年)([0-9]{1,2})(?:-|/|月)([0-9]{1,2})日?$`)
	position = regexp.MustCompile(`^[#(]?([0-9]{1,3})[.)]?$`)
)

// saysYes and saysNo know the words; the numbers are the positions that
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

func (q *Question) readChoice(text string, ans *Answer) error {
	if own, ok := ownWords(text); ok && q.Other() {
		ans.Other = own
		return nil
	}
	found, err := q.find(text)
	switch {
	case err != nil:
		return err
	case found.id != "":
		ans.Selected = []string{found.id}
		return nil
	case q.Multiple && q.readSeveral(text, ans, &err):
		return err
	case q.Other():
		ans.Other = text
		return nil
	}
	return q.unknown(text)
}

// readSeveral reads several choices in one text. It reports whether it came to
// an end, good or bad; if not, the whole text is Other text or wrong.
func (q *Question) readSeveral(text string, ans *Answer, err *error) bool {
	pieces := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",，、､،", r) })
	if len(pieces) == 1 {
		pieces = strings.Fields(text)
		pieces = pieces[:min(len(pieces), 2*MaxOptions+1)]
		for _, piece := range pieces { // words of a sentence name nothing, unless all of them do
			if found, wrong := q.find(piece); q.Other() && (wrong != nil || found.id == "") {
				return false
			}
		}
	}
	if len(pieces) > 2*MaxOptions {
		return false
	}
	var rest []string
	for _, piece := range pieces {
		if piece = strings.TrimSpace(piece); piece == "" {
			continue
		}
		found, wrong := q.find(piece)
		switch own, ok := ownWords(piece); {
		case ok && q.Other():
			rest = append(rest, own)
		case wrong != nil:
			*err = wrong
			return true
		case found.id == "" && !q.Other():
			*err = q.unknown(piece)
			return true
		case found.id == "":
			rest = append(rest, piece)
		case !slices.Contains(ans.Selected, found.id):
			ans.Selected = append(ans.Selected, found.id)
		}
	}
	if len(rest) > 0 && !q.exactly(pieces) {
		ans.Selected = nil // a sentence with commas: no part of it chooses
		return false
	}
	ans.Other = strings.Join(rest, ", ")
	return len(ans.Selected) > 0
}

// exactly reports whether each piece that names an option does so by id, label
// or number, not by a part.
func (q *Question) exactly(pieces []string) bool {
	return !slices.ContainsFunc(pieces, func(piece string) bool {
		found, _ := q.find(piece)
		return found.part
	})
}

type finding struct {
	id   string
	part bool // found by a part of its label only
}

// find looks for the one option that text names. Nothing found is no error;
// two found are.
func (q *Question) find(text string) (finding, error) {
	text = strings.TrimSpace(text)
	if q.Option(text) != nil {
		return finding{id: text}, nil
	}
	plain := fold(text)
	if plain == "" {
		return finding{}, nil
	}
	for _, same := range []func(o *Option) bool{
		func(o *Option) bool { return strings.TrimSpace(o.Label) == text },
		func(o *Option) bool { return fold(o.ID) == plain },
		func(o *Option) bool { return fold(o.Label) == plain },
	} {
		if id, err := q.only(text, same); id != "" || err != nil {
			return finding{id: id}, err
		}
	}
	if m := position.FindStringSubmatch(plain); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil && n >= 1 && n <= len(q.Options) {
			return finding{id: q.Options[n-1].ID}, nil
		}
	}
	id, err := q.only(text, func(o *Option) bool { return strings.Contains(fold(o.Label), plain) })
	return finding{id: id, part: id != ""}, err
}

func (q *Question) only(text string, match func(o *Option) bool) (string, error) {
	var ids, labels []string
	for i := range q.Options {
		if match(&q.Options[i]) {
			ids = append(ids, q.Options[i].ID)
			labels = append(labels, strconv.Quote(clip(q.Options[i].Label)))
		}
	}
	switch len(ids) {
	case 0:
		return "", nil
	case 1:
		return ids[0], nil
	}
	hint := ""
	if q.Other() {
		hint = fmt.Sprintf(", or \"other: %s\" to give it as your own words", clip(text))
	}
	return "", q.sorry("%q fits %d options: %s. Type the number of one%s.", clip(text), len(ids), strings.Join(labels[:min(len(labels), 10)], ", "), hint)
}

// ownWords is what follows "other:".
func ownWords(text string) (string, bool) {
	head, own, ok := strings.Cut(text, ":")
	if !ok {
		head, own, ok = strings.Cut(text, "：")
	}
	own = strings.TrimSpace(own)
	return own, ok && own != "" && (fold(head) == fold("other") || fold(head) == "其他")
}

func (q *Question) unknown(text string) error {
	if len(q.Options) == 1 {
		return q.sorry("%q is not the option; type 1 to choose it.", clip(text))
	}
	return q.sorry("%q is none of the options; type a number from 1 to %d.", clip(text), len(q.Options))
}

func (q *Question) sorry(format string, args ...any) error {
	return &ReplyError{QuestionID: q.ID, Sentence: fmt.Sprintf(format, args...)}
}

// ParseReply reads what a person typed as the reply to a whole ask: with one
// question its answer; with several a line "id=answer" (or "1=answer", by
// position) for each, and a line without "=" goes on with the answer above it.
// Text with no such line at all is the one free response to the whole ask. The
// error is the [*ReplyError] of the first wrong line.
func (a *Ask) ParseReply(text string) (Reply, error) {
	if len(a.Questions) == 1 {
		q := &a.Questions[0]
		if id, rest, ok := strings.Cut(text, "="); ok && strings.TrimSpace(id) == q.ID {
			text = rest
		}
		ans, err := q.ParseReply(text)
		if err != nil {
			return Reply{}, err
		}
		return Reply{Answers: []Answer{ans}}, nil
	}
	var named []*Question
	var texts []string
	for line := range strings.Lines(text) {
		id, rest, ok := strings.Cut(line, "=")
		id = strings.TrimSpace(id)
		q := a.questionNamed(id)
		switch {
		case ok && q != nil:
			named, texts = append(named, q), append(texts, rest)
		case ok && id != "" && !strings.ContainsFunc(id, unicode.IsSpace):
			return Reply{}, &ReplyError{Sentence: fmt.Sprintf("%q is no question; the questions are %s.", clip(id), a.questionIDs())}
		case len(named) > 0:
			texts[len(texts)-1] += line
		case strings.TrimSpace(line) != "":
			return Reply{Response: strings.TrimSpace(text)}, nil
		}
	}
	var r Reply
	for i, q := range named {
		if slices.Contains(named[:i], q) {
			return Reply{}, q.sorry("Question %q is answered twice; answer it once.", clip(q.ID))
		}
		ans, err := q.ParseReply(texts[i])
		if err != nil {
			return Reply{}, err
		}
		r.Answers = append(r.Answers, ans)
	}
	return r, nil
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
