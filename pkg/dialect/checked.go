package dialect

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// CheckedReply is Reply for a caller that sends the answer: its error also has what
// the broker would refuse ([ask.Ask.Check]), with pointers into the body, because
// those of the broker lead into a native answer, which the sender does not know.
// With part the body may answer some of the questions only.
func (d Dialect) CheckedReply(a *ask.Ask, body []byte, part bool) (Given, error) {
	given, r := d.reply(a, body)
	if given.Decision == Replied {
		r.check(a, &given.Reply, part)
	}
	return given, inLanguage(a, r.err())
}

// check adds the faults of a reply at the places from which its answers were read.
func (r *reader) check(a *ask.Ask, reply *ask.Reply, part bool) {
	_, _, err := a.Check(*reply)
	refused, ok := errors.AsType[*ask.Error](err)
	if !ok {
		return
	}
	read := slices.Clip(r.faults)
	for _, f := range refused.Faults {
		if part && f.Code == ask.FaultNoAnswer || len(r.faults) >= maxFaults {
			continue
		}
		at, own := r.placeOf(reply, &f)
		f.Pointer = at
		known := func(g ask.Fault) bool { // what could not be read also looks unanswered
			return f.QuestionID != "" && g.QuestionID == f.QuestionID || g.Pointer == at || strings.HasPrefix(at, g.Pointer+"/") ||
				own && strings.HasPrefix(g.Pointer, at+"/")
		}
		if !slices.ContainsFunc(read, known) {
			r.faults = append(r.faults, f)
		}
	}
}

// placeOf returns the place in the body of a fault of the reply, and whether it is
// that of one answer.
func (r *reader) placeOf(reply *ask.Reply, f *ask.Fault) (at string, own bool) {
	if r.native != "" {
		return r.native + f.Pointer, false
	}
	id := f.QuestionID
	if rest, ok := strings.CutPrefix(f.Pointer, "/answers/"); ok && id == "" {
		number, _, _ := strings.Cut(rest, "/")
		if i, err := strconv.Atoi(number); err == nil && i < len(reply.Answers) {
			id = reply.Answers[i].QuestionID
		}
	}
	if f.Pointer == "/response" {
		id = freeResponse
	}
	if at, ok := r.answered[id]; ok {
		return at, true
	}
	return r.rest, false
}

// freeResponse stands for the free response among the ids of [reader.answered].
const freeResponse = ""

// answers records that v holds the answer to a question.
func (v value) answers(questionID string) {
	if v.r.answered == nil {
		v.r.answered = make(map[string]string)
	}
	v.r.answered[questionID] = v.at
}

// response reads a free response.
func (v value) response() string {
	v.answers(freeResponse)
	return v.string()
}

// parseReply reads typed text as the reply to a whole ask.
func (v value) parseReply(a *ask.Ask, text string) ask.Reply {
	v.r.rest = v.at
	v.answers(freeResponse)
	reply, err := a.ParseReply(text)
	v.refused(err)
	return reply
}
