package dialect

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/askbus/askbus/pkg/ask"
)

// shownLabels returns the labels of a question for a screen that joins several
// choices into one string: unique, and such that the string can be split again.
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

// blurry returns a text to which different choices of options join, or a label
// that may be part of one, or "". For up to 4 options it tries all 64 choices,
// in every order.
func blurry(options []ask.Option, separator string) string {
	i := slices.IndexFunc(options, func(o ask.Option) bool { return strings.Contains(o.Label, separator) })
	if i < 0 || len(options) > 4 || separator == eventPairSeparator {
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

// distinct makes a string read different from those before it.
func distinct(s string, i int, before []string) string {
	for slices.ContainsFunc(before, func(other string) bool { return ask.CleanLine(other) == ask.CleanLine(s) }) {
		s += " (" + strconv.Itoa(i+1) + ")"
	}
	return s
}

// labelled returns the option with one of these labels, which are in the order
// of the options.
func labelled(q *ask.Question, labels []string, text string) (string, bool) {
	text = strings.TrimSpace(text)
	i := slices.IndexFunc(labels, func(label string) bool { return strings.TrimSpace(label) == text })
	if i < 0 {
		return "", false
	}
	return q.Options[i].ID, true
}

// askedLabels returns the labels as they were asked.
func askedLabels(q *ask.Question) []string {
	labels := make([]string, len(q.Options))
	for i := range q.Options {
		labels[i] = q.Options[i].Label
	}
	return labels
}

// choose reads a choice from joined labels. It first matches the whole text,
// then the longest labels, first as they were shown and then as they were
// asked; the rest is Other text.
func choose(q *ask.Question, text, separator string) ask.Answer {
	asked, shown := askedLabels(q), shownLabels(q, separator)
	if id, ok := labelled(q, shown, text); ok {
		return ask.Answer{QuestionID: q.ID, Selected: []string{id}}
	}
	if q.Multiple && separator != "" {
		if ans := split(q, shown, text, separator); ans.Other == "" {
			return ans
		}
	}
	if id, ok := labelled(q, asked, text); ok {
		return ask.Answer{QuestionID: q.ID, Selected: []string{id}}
	}
	if !q.Multiple || separator == "" {
		return ask.Answer{QuestionID: q.ID, Other: text}
	}
	best := split(q, asked, text, separator)
	if best.Other != "" && commaSeparated(separator) {
		for _, labels := range [][]string{shown, asked} {
			if ans := split(q, labels, text, separators); len(ans.Selected) > len(best.Selected) {
				best = ans
			}
		}
	}
	return best
}

// split repeatedly takes the longest label from the front of a text; other
// pieces are Other text. With [separators] any of them separates.
func split(q *ask.Question, labels []string, text, separator string) ask.Answer {
	ans := ask.Answer{QuestionID: q.ID}
	var rest []string
	for more := true; more; {
		best, after := -1, ""
		for i, label := range labels {
			tail, ok := strings.CutPrefix(strings.TrimLeft(text, " "), strings.TrimSpace(label))
			next, separated := cutSeparator(strings.TrimLeft(tail, " "), separator)
			if ok && (separated || next == "") && (best < 0 || len(label) > len(labels[best])) {
				best, after, more = i, next, separated
			}
		}
		if best >= 0 {
			if id := q.Options[best].ID; !slices.Contains(ans.Selected, id) {
				ans.Selected = append(ans.Selected, id)
			}
			text = strings.TrimPrefix(after, strings.TrimPrefix(separator, strings.TrimSpace(separator)))
			if separator == separators {
				text = strings.TrimLeft(after, " ")
			}
			continue
		}
		piece := text
		if separator != separators {
			piece, text, more = strings.Cut(text, separator)
		} else if i := strings.IndexAny(text, separators); i >= 0 {
			_, size := utf8.DecodeRuneInString(text[i:])
			piece, text, more = text[:i], strings.TrimLeft(text[i+size:], " "), true
		} else {
			more = false
		}
		rest = append(rest, piece)
	}
	if separator == separators {
		separator = claudeCodeSeparator
	}
	ans.Other = strings.Join(rest, separator)
	return ans
}

// cutSeparator removes a separator and the spaces around it from the front of a
// text.
func cutSeparator(text, separator string) (after string, found bool) {
	if separator != separators {
		return strings.CutPrefix(text, strings.TrimSpace(separator))
	}
	r, size := utf8.DecodeRuneInString(text)
	if size > 0 && strings.ContainsRune(separators, r) {
		return text[size:], true
	}
	return text, false
}

// answer reads one answer from a foreign screen: a string, a number, a boolean
// or an array of labels, depending on the question. A missing or empty one
// counts as skipped.
func (v value) answer(q *ask.Question, separator string) ask.Answer {
	v.answers(q.ID)
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
	v.faultIn(q.ID, ask.FaultWrongType, typeName(v.raw), wants(q))
	return none
}

func wants(q *ask.Question) string {
	switch {
	case q.Kind == ask.KindChoice && q.Multiple:
		return "labels"
	case q.Kind == ask.KindChoice:
		return "label"
	}
	return string(q.Kind)
}

// typed reads an answer that is a string.
func (v value) typed(q *ask.Question, text, separator string) ask.Answer {
	switch q.Kind {
	case ask.KindText:
		return ask.Answer{QuestionID: q.ID, Text: text}
	case ask.KindChoice:
		return v.allowed(q, choose(q, text, separator))
	case ask.KindNumber, ask.KindBoolean, ask.KindDate:
	}
	ans, err := q.ParseReply(text)
	if err != nil {
		v.refused(err)
		return ask.Answer{QuestionID: q.ID, Skipped: true}
	}
	return ans
}

// several reads an answer that is an array of labels.
func (v value) several(q *ask.Question, separator string) ask.Answer {
	labels, asked, shown := v.strings(), askedLabels(q), shownLabels(q, separator)
	ans := ask.Answer{QuestionID: q.ID}
	var rest []string
	for _, label := range labels {
		id, ok := labelled(q, shown, label)
		if !ok {
			id, ok = labelled(q, asked, label)
		}
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

// allowed refuses Other text if the question does not allow it.
func (v value) allowed(q *ask.Question, ans ask.Answer) ask.Answer {
	if ans.Other != "" && !q.Other() {
		v.faultIn(q.ID, ask.FaultNotAmong, clip(ans.Other), "the_options")
	}
	return ans
}
