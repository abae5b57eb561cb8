package ask

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	// position matches an option's number as people type it: 2, 2. or (2).
	position = regexp.MustCompile(`^[#(]?([0-9]{1,3})[.)]?$`)
	// bareNumber matches any number, also one that is out of range.
	bareNumber = regexp.MustCompile(`^[#(]?[0-9]+[.)]?$`)
)

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
	case q.outOfRange(text):
		return q.unknown(text)
	case q.Other():
		ans.Other = text
		return nil
	}
	return q.unknown(text)
}

// readSeveral reads several choices from one text. It reports whether it came
// to a result, an answer or an error; if not, the whole text is Other text or
// wrong.
func (q *Question) readSeveral(text string, ans *Answer, err *error) bool {
	pieces := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",，、､،", r) })
	if len(pieces) == 1 {
		pieces = strings.Fields(text)
		pieces = pieces[:min(len(pieces), 2*MaxOptions+1)]
		for _, piece := range pieces { // a sentence with Other text allowed chooses nothing unless every word does
			if found, wrong := q.find(piece); q.Other() && (wrong != nil || found.id == "") && !q.outOfRange(piece) {
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
		ans.Selected = nil // a sentence with commas chooses nothing
		return false
	}
	at := slices.IndexFunc(rest, q.outOfRange)
	if at >= 0 && (len(ans.Selected) > 0 || !slices.ContainsFunc(rest, func(piece string) bool { return !q.outOfRange(piece) })) {
		*err = q.unknown(rest[at])
		return true
	}
	ans.Other = strings.Join(rest, ", ")
	return len(ans.Selected) > 0
}

// exactly reports whether every piece that names an option does so by id, label
// or number, not by part of a label.
func (q *Question) exactly(pieces []string) bool {
	return !slices.ContainsFunc(pieces, func(piece string) bool {
		found, _ := q.find(piece)
		return found.part
	})
}

type finding struct {
	id   string
	part bool // matched by part of the label only
}

// find returns the one option that text names. No match is not an error; two
// matches are.
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
		func(o *Option) bool { label, _ := o.Caption(); return fold(label) == plain },
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
	return "", q.replyError(FaultTypedAmbiguous, q.orOther(text, clip(text), len(ids), strings.Join(labels[:min(len(labels), 10)], ", "))...)
}

// ownWords returns the text after "other:".
func ownWords(text string) (string, bool) {
	head, own, ok := strings.Cut(text, ":")
	if !ok {
		head, own, ok = strings.Cut(text, "：")
	}
	own = strings.TrimSpace(own)
	return own, ok && own != "" && (fold(head) == fold("other") || fold(head) == "其他")
}

// outOfRange reports whether text that names no option is a bare number. It
// must have been meant as an option's number, so it never becomes Other text.
func (q *Question) outOfRange(text string) bool {
	return len(q.Options) > 0 && bareNumber.MatchString(fold(text))
}

func (q *Question) unknown(text string) error {
	if len(q.Options) == 1 {
		return q.replyError(FaultTypedNotTheOne, q.orOther(text, clip(text))...)
	}
	return q.replyError(FaultTypedNoOption, q.orOther(text, clip(text), len(q.Options))...)
}

// orOther adds text to the arguments of a fault if it may be Other text.
func (q *Question) orOther(text string, args ...any) []any {
	if q.Other() {
		args = append(args, clip(text))
	}
	return args
}
