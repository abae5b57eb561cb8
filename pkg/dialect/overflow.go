package dialect

import (
	"maps"
	"strconv"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// ShowAt is Show with a link to a page where people can answer the ask. A
// screen that cannot hold the ask shows the link.
func (d Dialect) ShowAt(a *ask.Ask, link string) ([]byte, []Warning) {
	return d.Show(remembering(a, "link", link))
}

// remembering returns a copy of the ask that also carries s under key.
func remembering(a *ask.Ask, key, s string) *ask.Ask {
	more := *a
	more.Metadata = maps.Clone(a.Metadata)
	if more.Metadata == nil {
		more.Metadata = make(map[string]any)
	}
	known, _ := a.Metadata[metadataKey].(map[string]any)
	origin := map[string]any{}
	maps.Copy(origin, known)
	origin[key] = s
	more.Metadata[metadataKey] = origin
	return &more
}

// The two options of a card that replaces an ask that does not fit.
func overflowLater(a *ask.Ask) string   { return say(a, "Answer elsewhere") }
func overflowDecline(a *ask.Ask) string { return say(a, "Decline") }

// familyFits reports whether the ask is within the bounds that a listener of
// the event pair, or of its typed form, expects: 1 to 4 questions, 2 to 4
// options.
func familyFits(a *ask.Ask, typed bool) bool {
	if len(a.Questions) > familyQuestions {
		return false
	}
	for i := range a.Questions {
		q := &a.Questions[i]
		choice := q.Kind == ask.KindChoice
		if n := len(q.Options); choice && (n < 2 || n > familyOptions) || !choice && !typed && q.Kind != ask.KindBoolean {
			return false
		}
	}
	return true
}

// overflowShow returns one question that holds the whole ask as text. Text
// typed as Other answers it.
func overflowShow(a *ask.Ask, typed bool) *object {
	var s screen
	var text []string
	for _, above := range []string{a.Title, a.Context} {
		if above != "" {
			text = append(text, above)
		}
	}
	bare := *a
	bare.Title, bare.Context = "", ""
	for i := range a.Questions {
		q := &a.Questions[i]
		lines := []string{s.text(&bare, i, false)}
		if len(a.Questions) > 1 {
			lines[0] = strconv.Itoa(i+1) + ". " + lines[0]
		}
		for j := range q.Options {
			o := &q.Options[j]
			line := "  " + strconv.Itoa(j+1) + ") " + o.Label
			if d := s.description(a, o, false, false); d != "" {
				line += ": " + d
			}
			lines = append(lines, line)
		}
		text = append(text, strings.Join(lines, "\n"))
	}
	where := say(a, "on another screen")
	if link := recall(a, "", "link"); link != "" {
		where = say(a, "at %s", link)
	}
	how := say(a, "Type the answer, or answer %s.", where)
	if len(a.Questions) > 1 {
		how = say(a, "Type one reply to all of it, or answer %s.", where)
	}
	text = append(text, how)
	question := ordered("question", strings.Join(text, "\n\n"), "header", header(a, 0))
	if typed {
		question = ordered("id", recall(a, a.Questions[0].ID, 0, "id"), "question", strings.Join(text, "\n\n"), "header", header(a, 0), "type", string(ask.KindChoice), "required", true)
	}
	question.set("options", []any{
		ordered("label", overflowLater(a), "description", say(a, "Leave it open here and answer it %s.", where)),
		ordered("label", overflowDecline(a), "description", say(a, "Tell the agent that it gets no answer.")),
	})
	question.set("multiSelect", false)
	return eventPairShown(a, []any{question})
}

// overflowReply reads the answer to the card of [overflowShow]; ok is false if
// the screen knew the questions and answered each.
func overflowReply(a *ask.Ask, answers value) (given Given, ok bool) {
	if len(answers.object().keys) > 1 {
		return Given{}, false
	}
	first := answers.field(eventPairKey(0))
	text, _ := first.raw.(string)
	switch text = strings.TrimSpace(text); {
	case text == overflowLater(a):
		return Given{Decision: Dismissed}, true
	case text == overflowDecline(a):
		return Given{Decision: Declined}, true
	case text == "":
		return Given{}, false
	case len(a.Questions) > 1:
		first.answers(freeResponse)
		return Given{Decision: Replied, Reply: ask.Reply{Response: text}}, true
	}
	q := &a.Questions[0]
	first.answers(q.ID)
	if ans := choose(q, text, eventPairSeparator); q.Kind == ask.KindChoice && ans.Other == "" {
		return Given{Decision: Replied, Reply: ask.Reply{Answers: []ask.Answer{ans}}}, true
	}
	ans, err := q.ParseReply(text)
	first.refused(err)
	ans.QuestionID = q.ID
	return Given{Decision: Replied, Reply: ask.Reply{Answers: []ask.Answer{ans}}}, true
}
