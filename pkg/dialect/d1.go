package dialect

import (
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// The events of D1.
const (
	D1Request  = "ask:question:request"
	D1Response = "ask:question:response"
)

const d1Separator = ","

// D1Ask reads the data of a request event.
func D1Ask(body []byte) (ask.Ask, []Warning, error) {
	b := newBuilder("d1")
	v, err := b.parse(body)
	if err != nil {
		return ask.Ask{}, nil, err
	}
	b.d1Envelope(v)
	b.familyList(v.field("questions"), func(i int, v value) ask.Question {
		q := b.familyQuestion(i, v)
		q.Kind = ask.KindChoice
		q.Options = b.familyOptions(v.field("options"), nil)
		commas(v.field("options"), &q)
		return q
	})
	return b.finish()
}

// d1Envelope reads what stands around the questions of D1 and D2.
func (b *builder) d1Envelope(v value) {
	v.body()
	b.ask.Agent.ID = v.field("agentId").string()
	b.tops["/agent/id"] = "/agentId"
	if v.field("metadata").given() {
		v.field("metadata").object()
		b.meta("source", v.field("metadata").field("source").string())
	}
}

// commas refuses labels that could not be told apart once they are joined.
func commas(options value, q *ask.Question) {
	for i := range q.Options {
		if q.Multiple && strings.Contains(q.Options[i].Label, d1Separator) {
			label := options.list()[i].field("label")
			label.fault("%q contains a comma, which separates several choices; leave the comma out or set multiSelect to false", clip(q.Options[i].Label))
		}
	}
}

// D1Answer writes the data of a response event.
func D1Answer(a *ask.Ask, o *ask.Outcome) Response {
	return respond(200, d1Body(a, o, d1Separator, func(q *ask.Question, ans ask.Answer) any { return d1Value(q, ans) }))
}

func d1Value(q *ask.Question, ans ask.Answer) string {
	if q.Kind == ask.KindChoice {
		return strings.Join(q.Labels(ans), d1Separator)
	}
	return q.Words(ans)
}

// d1Body is the answer of D1 and D2, which differ in their values.
func d1Body(a *ask.Ask, o *ask.Outcome, separator string, write func(*ask.Question, ask.Answer) any) *object {
	answers := ordered()
	for i := range a.Questions {
		q, key := &a.Questions[i], d1Key(i)
		switch ans := answerTo(o, q); {
		case !rowOf(o).decided():
		case rowOf(o) == rowResponse:
			answers.set(key, o.Response)
		case ans != nil:
			answers.set(key, write(q, *ans))
		}
	}
	return ordered("agentId", a.Agent.ID, "id", a.ID, "answers", answers).ending(a, o, separator)
}

func d1Key(i int) string { return "question-" + strconv.Itoa(i) }

// D1Pending says that the ask waits, to an agent that asked over HTTP; the
// event pair has no event for it.
func D1Pending(a *ask.Ask, p Pending) Response {
	body := ordered("agentId", a.Agent.ID, "id", a.ID, "answers", ordered())
	for _, key := range waiting(a, p).keys {
		body.set(key, waiting(a, p).values[key])
	}
	return pending(body, p)
}

// D1Show writes the data of a request event for a host that listens.
func D1Show(a *ask.Ask) ([]byte, []Warning) {
	var s screen
	s.bounds(a, familyQuestions, familyOptions)
	questions := []any{}
	for i := range a.Questions {
		q := &a.Questions[i]
		questions = append(questions, ordered(
			"question", s.text(a, i, false), "header", header(a, i),
			"options", s.familyOptions(q, d1Separator, false), "multiSelect", q.Multiple))
	}
	return encode(d1Shown(a, questions)), s.warnings
}

func d1Shown(a *ask.Ask, questions []any) *object {
	body := ordered("agentId", orElse(a.Agent.ID, a.Session), "id", a.ID, "questions", questions)
	if source, ok := a.Metadata["source"].(string); ok {
		body.set("metadata", ordered("source", source))
	}
	return body
}

// familyOptions writes the options of a question for a screen of D1 to D4.
func (s *screen) familyOptions(q *ask.Question, separator string, preview bool) []any {
	options := []any{}
	if q.Kind == ask.KindBoolean {
		return append(options, ordered("label", "Yes", "description", ""), ordered("label", "No", "description", ""))
	}
	labels := shownLabels(q, separator)
	for i := range q.Options {
		o := &q.Options[i]
		shown := ordered("label", labels[i], "description", s.description(o, preview, false))
		if preview && o.Preview != nil {
			shown.set("preview", o.Preview.Body)
		}
		options = append(options, shown)
	}
	return options
}

// D1ID says for which ask a response event is: its agent, and the id that we
// sent, if the host gives it back.
func D1ID(body []byte) (agentID, id string, err error) {
	r := &reader{what: "d1 response"}
	v, err := r.parse(body)
	if err != nil {
		return "", "", err
	}
	v.body()
	agentID, id = v.field("agentId").string(), v.field("id").string()
	return agentID, id, r.err()
}

// D1Reply reads the data of a response event.
func D1Reply(a *ask.Ask, body []byte) (Given, error) {
	return d1Reply("d1", a, body, d1Separator)
}

func d1Reply(name string, a *ask.Ask, body []byte, separator string) (Given, error) {
	r := &reader{what: name + " response"}
	v, err := r.parse(body)
	if err != nil {
		return Given{}, err
	}
	v.body()
	answers := v.field("answers")
	if status := v.field("status").string(); status != "" && status != string(ask.StatusAnswered) && len(answers.object().keys) == 0 {
		return unanswered(r, status, v.field("reason").string())
	}
	if !answers.given() {
		answers.fault("is missing; give an object with question-0 and so on")
	}
	given := Given{Decision: Replied, Reply: ask.Reply{Response: v.field("response").string()}}
	var keys []string
	for i := range a.Questions {
		keys = append(keys, d1Key(i))
		given.Reply.Answers = append(given.Reply.Answers, answers.field(d1Key(i)).answer(&a.Questions[i], separator))
	}
	strangers(answers, keys)
	return given, r.err()
}

// unanswered is what a screen says that gives no answers: a refusal, or just
// that it closed.
func unanswered(r *reader, status, reason string) (Given, error) {
	if err := r.err(); err != nil {
		return Given{}, err
	}
	if status == string(ask.StatusCancelled) || status == "declined" {
		return Given{Decision: Declined, Reason: reason}, nil
	}
	return Given{Decision: Dismissed}, nil
}

// strangers refuses answers to questions that were not asked: dropping one
// would lose it.
func strangers(answers value, keys []string) {
	for _, key := range answers.object().keys {
		if !slices.Contains(keys, key) {
			answers.field(key).fault("answers no question; the keys are %s", quoted(clipAll(keys)))
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
