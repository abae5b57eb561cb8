package dialect

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// shownLabels are the labels of a question for a screen that joins several
// choices into one string: distinct, and such that the string can be taken
// apart again.
func shownLabels(q *ask.Question, separator string) []string {
	rewrite := q.Multiple && separator != "" && blurry(q.Options, separator) != ""
	labels := make([]string, 0, len(q.Options))
	for i := range q.Options {
		label := q.Options[i].Label
		if rewrite {
			label = strings.ReplaceAll(label, ",", "，")
		}
		labels = append(labels, distinct(label, i, labels))
	}
	return labels
}

// blurry is a text that different choices of options join to, or a label that
// may be part of one; "" when there is none. Up to 4 options every choice is
// looked at, in every order: 64 of them.
func blurry(options []ask.Option, separator string) string {
	i := slices.IndexFunc(options, func(o ask.Option) bool { return strings.Contains(o.Label, separator) })
	if i < 0 || len(options) > 4 || separator == d1Separator {
		if i < 0 {
			return ""
		}
		return options[i].Label
	}
	seen, found := make(map[string]int), ""
	var walk func(joined string, used int)
	walk = func(joined string, used int) {
		if other, twice := seen[joined]; twice && other != used {
			found = joined
		}
		seen[joined] = used
		for j := range options {
			if used&(1<<j) == 0 {
				walk(joined+separator+options[j].Label, used|1<<j)
			}
		}
	}
	walk("", 0)
	return strings.TrimPrefix(found, separator)
}

// distinct makes a string differ from those before it.
func distinct(s string, i int, before []string) string {
	for slices.Contains(before, s) {
		s += " (" + strconv.Itoa(i+1) + ")"
	}
	return s
}

// labelled finds the option with this label, as asked or as shown.
func labelled(q *ask.Question, text, separator string) (string, bool) {
	text = strings.TrimSpace(text)
	for i := range q.Options {
		if strings.TrimSpace(q.Options[i].Label) == text {
			return q.Options[i].ID, true
		}
	}
	for i, label := range shownLabels(q, separator) {
		if strings.TrimSpace(label) == text {
			return q.Options[i].ID, true
		}
	}
	return "", false
}

// choose reads a choice from labels that were joined. The whole text comes
// first, then the longest runs of pieces that make a label; what is left is
// Other text.
func choose(q *ask.Question, text, separator string) ask.Answer {
	ans := ask.Answer{QuestionID: q.ID}
	if id, ok := labelled(q, text, separator); ok {
		ans.Selected = []string{id}
		return ans
	}
	if !q.Multiple || separator == "" {
		ans.Other = text
		return ans
	}
	longest := 0
	for i := range q.Options {
		longest = max(longest, strings.Count(q.Options[i].Label, separator)+1)
	}
	var rest []string
	pieces := strings.Split(text, separator)
	for i := 0; i < len(pieces); {
		n := min(longest, len(pieces)-i)
		for ; n > 0; n-- {
			id, ok := labelled(q, strings.Join(pieces[i:i+n], separator), separator)
			if ok && !slices.Contains(ans.Selected, id) {
				ans.Selected = append(ans.Selected, id)
				break
			}
		}
		if n == 0 {
			rest = append(rest, pieces[i])
			n = 1
		}
		i += n
	}
	ans.Other = strings.Join(rest, separator)
	return ans
}

// answer reads one answer from a foreign screen: a string, a number, a boolean
// or an array of labels, as the question wants it. A missing or empty one
// counts as skipped.
func (v value) answer(q *ask.Question, separator string) ask.Answer {
	none := ask.Answer{QuestionID: q.ID, Skipped: true}
	switch raw := v.raw.(type) {
	case nil:
		return none
	case string:
		if strings.TrimSpace(raw) == "" {
			return none
		}
		return v.typed(q, raw, separator)
	case []any:
		return v.several(q, separator)
	case bool:
		if q.Kind == ask.KindBoolean {
			return ask.Answer{QuestionID: q.ID, Boolean: &raw}
		}
	}
	if n, ok := v.raw.(interface{ String() string }); ok && q.Kind == ask.KindNumber {
		return v.typed(q, n.String(), separator)
	}
	v.faultIn(q.ID, "is %s; the question wants %s", typeName(v.raw), wants(q))
	return none
}

func wants(q *ask.Question) string {
	switch {
	case q.Kind == ask.KindChoice && q.Multiple:
		return "an array of labels"
	case q.Kind == ask.KindChoice:
		return "a label"
	}
	return "a " + string(q.Kind)
}

// typed reads an answer that is a string.
func (v value) typed(q *ask.Question, text, separator string) ask.Answer {
	switch q.Kind {
	case ask.KindText:
		return ask.Answer{QuestionID: q.ID, Text: text}
	case ask.KindChoice:
		return v.allowed(q, choose(q, text, separator))
	}
	ans, err := q.ParseReply(text)
	if err != nil {
		var wrong *ask.ReplyError
		if errors.As(err, &wrong) {
			v.faultIn(q.ID, "%s", wrong.Sentence)
		}
		return ask.Answer{QuestionID: q.ID, Skipped: true}
	}
	return ans
}

// several reads an answer that is an array of labels.
func (v value) several(q *ask.Question, separator string) ask.Answer {
	labels := v.strings()
	ans := ask.Answer{QuestionID: q.ID}
	var rest []string
	for _, label := range labels {
		id, ok := labelled(q, label, separator)
		switch {
		case strings.TrimSpace(label) == "":
		case !ok:
			rest = append(rest, label)
		case !slices.Contains(ans.Selected, id):
			ans.Selected = append(ans.Selected, id)
		}
	}
	ans.Other = strings.Join(rest, ", ")
	if q.Kind != ask.KindChoice {
		if ans.Other == "" {
			ans.Skipped = true
			return ans
		}
		return v.typed(q, ans.Other, separator)
	}
	ans.Skipped = ans.Empty()
	return v.allowed(q, ans)
}

// allowed refuses Other text where there is none.
func (v value) allowed(q *ask.Question, ans ask.Answer) ask.Answer {
	if ans.Other != "" && !q.Other() {
		v.faultIn(q.ID, "is %q, which is none of the options", clip(ans.Other))
	}
	return ans
}
