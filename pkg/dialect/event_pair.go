package dialect

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

const eventPairSeparator = ","

// eventPairAsk reads the data of a request event.
func eventPairAsk(b *builder, v value) {
	b.eventPairEnvelope(v)
	b.familyList(v.field("questions"), func(i int, v value) ask.Question {
		q := b.familyQuestion(i, v)
		q.Kind = ask.KindChoice
		q.Options = b.familyOptions(v.field("options"), nil)
		commas(v.field("options"), &q)
		return q
	})
}

// eventPairEnvelope reads the fields that event-pair and typed have besides
// their questions.
func (b *builder) eventPairEnvelope(v value) {
	v.body()
	b.named(v.field("id"))
	b.times(v)
	b.ask.Agent.ID = v.field("agentId").string()
	b.tops["/agent/id"] = "/agentId"
	b.source(v)
}

// source reads the only metadata of the family.
func (b *builder) source(v value) {
	if metadata := v.field("metadata"); metadata.given() {
		metadata.object()
		b.meta("source", metadata.field("source").string())
		metadata.ignore()
	}
}

// commas refuses labels that would be ambiguous once they are joined.
func commas(options value, q *ask.Question) {
	for i := range q.Options {
		if q.Multiple && strings.Contains(q.Options[i].Label, eventPairSeparator) {
			label := options.list()[i].field("label")
			label.fault(ask.FaultCommaInLabel, clip(q.Options[i].Label))
		}
	}
}

// eventPairAnswer writes the data of a response event.
func eventPairAnswer(a *ask.Ask, o *ask.Outcome) Response {
	return respond(200, eventPairBody(a, o, eventPairSeparator, func(q *ask.Question, ans ask.Answer) any { return eventPairValue(q, ans) }))
}

func eventPairValue(q *ask.Question, ans ask.Answer) string {
	if q.Kind == ask.KindChoice {
		return strings.Join(q.Labels(ans), eventPairSeparator)
	}
	return q.Words(ans)
}

// eventPairBody returns the answer of event-pair and typed, which differ only
// in their values.
func eventPairBody(a *ask.Ask, o *ask.Outcome, separator string, write func(*ask.Question, ask.Answer) any) *object {
	answers := ordered()
	for i := range a.Questions {
		q, key := &a.Questions[i], eventPairKey(i)
		switch ans := answerTo(o, q); {
		case !rowOf(o).decided():
		case rowOf(o) == rowResponse:
			answers.set(key, o.Response)
		case ans != nil:
			answers.set(key, write(q, *ans))
		}
	}
	return ordered("agentId", agentOf(a), "id", hostID(a), "answers", answers).ending(a, o, separator)
}

// agentOf returns the id of the ask's agent, or its session if it has none.
func agentOf(a *ask.Ask) string { return cmp.Or(a.Agent.ID, a.Session) }

func eventPairKey(i int) string { return "question-" + strconv.Itoa(i) }

// eventPairPending writes that the ask is pending, for an agent that asked over
// HTTP; the event pair has no event for it.
func eventPairPending(a *ask.Ask, p Pending) Response {
	body := ordered("agentId", agentOf(a), "id", hostID(a), "answers", ordered())
	for _, key := range waiting(a, p).keys {
		body.set(key, waiting(a, p).values[key])
	}
	return pending(body, p)
}

// eventPairShow writes the data of a request event for a listening host.
func eventPairShow(a *ask.Ask) ([]byte, []Warning) {
	var s screen
	s.bounds(a, familyQuestions, familyOptions)
	if !familyFits(a, false) {
		return encode(overflowShow(a, false)), s.warnings
	}
	questions := []any{}
	for i := range a.Questions {
		q := &a.Questions[i]
		questions = append(questions, ordered(
			"question", s.text(a, i, false), "header", header(a, i),
			"options", s.familyOptions(a, i, eventPairSeparator, false), "multiSelect", q.Multiple))
	}
	return encode(eventPairShown(a, questions)), s.warnings
}

func eventPairShown(a *ask.Ask, questions []any) *object {
	body := ordered("agentId", agentOf(a), "id", a.ID, "questions", questions)
	if source, ok := a.Metadata["source"].(string); ok {
		body.set("metadata", ordered("source", source))
	}
	return body
}

// eventPairReply reads the data of a response event.
func eventPairReply(a *ask.Ask, v value) Given { return readEventPair(a, v, eventPairSeparator) }

func readEventPair(a *ask.Ask, v value, separator string) Given {
	v.body()
	answers := v.field("answers")
	if status := v.field("status").string(); status != "" && status != string(ask.StatusAnswered) && len(answers.object().keys) == 0 {
		return unanswered(status, v.field("reason").string())
	}
	answers.wanted("an_object_with_question_0_and_so_on")
	if !familyFits(a, separator == "") {
		if given, ok := overflowReply(a, answers); ok {
			return given
		}
	}
	given := Given{Decision: Replied, Reply: ask.Reply{Response: v.field("response").response()}}
	var keys []string
	for i := range a.Questions {
		keys = append(keys, eventPairKey(i))
		given.Reply.Answers = append(given.Reply.Answers, answers.field(eventPairKey(i)).answer(&a.Questions[i], separator))
	}
	strangers(answers, keys)
	return given
}

// unanswered reads a reply without answers: the screen declined, or was just
// closed.
func unanswered(status, reason string) Given {
	if status == string(ask.StatusCancelled) || status == "declined" {
		return Given{Decision: Declined, Reason: reason}
	}
	return Given{Decision: Dismissed}
}

// strangers refuses answers to unknown questions, since dropping one would lose
// it.
func strangers(answers value, keys []string) {
	for _, key := range answers.object().keys {
		if !slices.Contains(keys, key) {
			answers.field(key).fault(ask.FaultUnknownKey, quoted(clipAll(keys)))
		}
	}
}

func clipAll(all []string) []string {
	short := make([]string, len(all))
	for i, s := range all {
		short[i] = clip(s)
	}
	return short
}
