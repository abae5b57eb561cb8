package chat

import (
	"slices"
	"strings"
	"unicode"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// Heard is what somebody wrote where asks are open.
type Heard struct {
	Words     string // without what addressed them
	Addressed bool   // they began with the bot's mention or with "answer:"
}

// addresses are the words that make the text after a colon an answer.
var addresses = []string{"answer", "回答", "答"} //nolint:gochecknoglobals // never changed

// Listen splits what somebody wrote. mentioned says that it began with the bot's mention, which the
// text no longer has.
func Listen(text string, mentioned bool) Heard {
	h := Heard{Words: strings.TrimSpace(text), Addressed: mentioned}
	if mentioned {
		h.Words = strings.TrimLeftFunc(h.Words, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(":,：，", r) })
	}
	if rest, ok := after(h.Words, addresses); ok {
		h.Words, h.Addressed = rest, true
	}
	return h
}

// after returns the text after one of the words and a colon.
func after(text string, words []string) (rest string, ok bool) {
	at := strings.IndexAny(text, ":：")
	if at < 0 || !slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(strings.TrimSpace(text[:at]), w) }) {
		return "", false
	}
	return strings.TrimSpace(strings.TrimLeft(text[at:], ":：")), true
}

// Answers reports whether the words answer an ask; otherwise they are talk. Without being addressed
// they do only where they can mean nothing else: the only question of the only open ask is answered by
// exactly these words, nobody else wrote since it was posted, and it decides nothing delicate.
func (h Heard) Answers(open []*ask.Ask, others bool) bool {
	switch {
	case len(open) != 1 || h.Words == "":
		return false
	case h.Addressed:
		return true
	}
	a := open[0]
	return len(a.Questions) == 1 && !others && !card.Delicate(a) && a.Questions[0].IsExact(h.Words)
}

// Declines reports whether addressed words decline the ask, and the reason.
func Declines(words string) (reason string, ok bool) {
	decline := []string{"decline", "拒绝"}
	if slices.ContainsFunc(decline, func(w string) bool { return strings.EqualFold(words, w) }) {
		return "", true
	}
	return after(words, decline)
}

// Meant returns the numbers, from 0, of the questions that words could answer and the draft has not
// answered yet.
func Meant(a *ask.Ask, d *card.Draft, words string) (questions []int) {
	given := d.Reply().Answers
	for i := range a.Questions {
		q := &a.Questions[i]
		if slices.ContainsFunc(given, func(ans ask.Answer) bool { return ans.QuestionID == q.ID }) {
			continue
		}
		if _, err := q.ParseReply(words); err == nil {
			questions = append(questions, i)
		}
	}
	return questions
}
