package dialect

import (
	"cmp"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

const eveName = "eve"

// The kinds of eve's input requests. All but a question ask for consent.
const (
	eveQuestion     = "question"
	eveToolApproval = "tool-approval"
	eveSessionLimit = "session-limit"
)

// eveAsk reads both shapes of eve: the input of its tool ask_question, and one
// input request of the stream's event input.requested, recognized by its
// requestId or prompt.
func eveAsk(b *builder, v value) {
	v.body()
	b.times(v)
	if o, ok := v.raw.(*object); ok && o.values["question"] == nil && (o.values["requestId"] != nil || o.values["prompt"] != nil) {
		b.eveRequest(v)
		return
	}
	q := ask.Question{ID: "q1", Text: v.field("question").need()}
	q.Options = b.options(v.field("options"))
	for i := range q.Options {
		q.Options[i].Recommended = saysRecommended(q.Options[i].Label)
	}
	if len(q.Options) == 0 {
		q.Kind = ask.KindText
	}
	b.add(q, place{at: v.at, fields: map[string]string{"text": "question"}})
}

// eveRequest reads an input request. A request for consent shows the call, and
// is answered by its options alone.
func (b *builder) eveRequest(v value) {
	v.ignore("display")
	b.remember(v.field("requestId").need(), "requestId")
	kind := v.field("kind").need()
	b.remember(kind, "kind")
	action := v.field("action")
	action.object()
	action.ignore("kind")
	tool, input := action.field("toolName").string(), action.field("input")
	b.remember(tool, "tool")
	b.meta(ask.MetadataCall, action.field("callId").string())
	q := ask.Question{ID: "q1", Text: v.field("prompt").need()}
	switch kind {
	case eveQuestion:
		q.NoOther = !v.field("allowFreeform").bool(false)
	case eveToolApproval, eveSessionLimit:
		v.ignore("allowFreeform")
		b.meta(ask.MetadataPermission, eveName)
		q.NoOther = true
		b.tops["/context"] = "/action/input"
		b.ask.Context = "Tool: " + code(tool)
		if o, ok := input.raw.(*object); ok && len(o.keys) > 0 {
			b.ask.Context += "\n\n" + fenced("json", indented(encode(o)))
		}
	default:
		v.field("kind").fault(ask.FaultNotOneOf, clip(kind), strings.Join([]string{eveQuestion, eveToolApproval, eveSessionLimit}, ", "))
	}
	if input.given() {
		b.rememberShort(string(encode(input.raw)), "input")
		input.object()
		input.ignore()
	}
	options := v.field("options")
	var labels []string
	for j, item := range options.objects(ask.MaxOptions, "options") {
		style := item.field("style").string()
		if style != "" {
			b.remember(style, 0, j, "style")
		}
		o := ask.Option{ID: b.id(item.field("id"), 0, j), Label: distinct(item.field("label").need(), j, labels), Description: item.field("description").string()}
		o.Recommended = saysRecommended(o.Label)
		o.Destructive = kind == eveQuestion && style == "danger"
		labels = append(labels, o.Label)
		q.Options = append(q.Options, o)
	}
	switch {
	case len(q.Options) > 0:
	case kind == eveQuestion:
		q.Kind, q.NoOther = ask.KindText, false
	default:
		options.fault(ask.FaultEmptyList, "at_least_one_option")
	}
	b.add(q, place{at: v.at, fields: map[string]string{"text": "prompt"}})
}

// eveAnswer writes the output of ask_question, or the response to an input
// request. Without an answer the tool's own words for that are said: nobody
// could answer, or the question was interrupted.
func eveAnswer(a *ask.Ask, o *ask.Outcome) Response {
	if requestID := recall(a, "", "requestId"); requestID != "" && cameAs(a, eveName) {
		return eveRespond(a, o, requestID)
	}
	said := ""
	switch r := rowOf(o); {
	case r == rowExpired:
		return respond(200, ordered("status", "unavailable"))
	case r == rowWithdrawn, r == rowAborted:
		return respond(200, ordered("interrupted", true))
	case r == rowResponse:
		said = o.Response
	case !r.decided() || len(a.Questions) > 1:
		said = Report(a, o)
	default:
		if ans := answerTo(o, &a.Questions[0]); ans != nil {
			said = strings.TrimSpace(eveWords(&a.Questions[0], ans) + "\n" + remarks(a, o, ", "))
		} else {
			said = Report(a, o)
		}
	}
	return respond(200, ordered("answer", said, "status", "answered"))
}

// eveWords is an answer as text: labels, or a person's own words.
func eveWords(q *ask.Question, ans *ask.Answer) string {
	if q.Kind == ask.KindChoice && ans.Other == "" {
		return strings.Join(q.Labels(*ans), ", ")
	}
	return q.Words(*ans)
}

// eveRespond writes the response to an input request. Consent is given by an
// option that a person chose and by nothing else; who declines refuses, in the
// words that eve shows to its model. A request that nobody answered stays open.
func eveRespond(a *ask.Ask, o *ask.Outcome, requestID string) Response {
	words, refused, problem := refuses(a, o)
	if problem != nil {
		return *problem
	}
	body, consent := ordered(), recall(a, eveQuestion, "kind") != eveQuestion
	if consent && rowOf(o) == rowDefault {
		return nobodyAnswered(a, o)
	}
	ans := answerTo(o, &a.Questions[0])
	switch {
	case refused && consent:
		option, ok := eveRefusal(a)
		if !ok {
			return problemOf(a, 409, "Not decided", o)
		}
		body.set("optionId", option)
	case refused:
	case ans != nil && len(ans.Selected) > 0:
		body.set("optionId", foreignOption(a, 0, ans.Selected[0]))
		words = remarks(a, o, "")
		if given := o.Answer(ans.QuestionID); consent && given != nil && given.Notes != "" && rowOf(o) == rowAnswered && o.Source != ask.SourcePolicy {
			words = given.Notes // eve says itself that a person wrote it
		}
	case ans != nil:
		words = strings.TrimSpace(a.Questions[0].Words(*ans) + "\n" + remarks(a, o, ""))
	default:
		return problemOf(a, 409, "Not decided", o)
	}
	body.set("requestId", requestID)
	body.setText("text", words)
	return respond(200, body)
}

// eveRefusal returns the option that refuses consent, by the ids that eve gives
// its options.
func eveRefusal(a *ask.Ask) (string, bool) {
	for _, option := range a.Questions[0].Options {
		switch id := foreignOption(a, 0, option.ID); id {
		case "cancel", "deny", "stop":
			return id, true
		}
	}
	return "", false
}

// eveShow writes any ask as an input request, as eve's channels show it.
func eveShow(a *ask.Ask) ([]byte, []Warning) {
	var s screen
	q := &a.Questions[0]
	prompt, display, freeform, options := s.text(a, 0, true), "text", true, []any{}
	switch {
	case len(a.Questions) > 1:
		s.warn("/questions", "are shown as one text; the answer is typed")
		prompt = a.Plain()
	case len(q.Options) > 0:
		display, freeform = "select", q.Other() || q.Multiple
		for j := range q.Options {
			o := &q.Options[j]
			shown := ordered("id", foreignOption(a, 0, o.ID), "label", o.Label)
			shown.setText("description", s.description(a, o, false, false))
			if style := recall(a, "", 0, j, "style"); style != "" {
				shown.set("style", style)
			} else if o.Destructive {
				shown.set("style", "danger")
			}
			options = append(options, shown)
		}
	}
	if q.Multiple {
		s.warn("/questions/0/multiple", "is true, but this screen chooses one; several can be typed")
	}
	kind := recall(a, eveQuestion, "kind")
	if kind != eveQuestion {
		prompt, display = q.Text, "confirmation" // the call stands beside it
	}
	call, _ := a.Metadata[ask.MetadataCall].(string)
	call = cmp.Or(call, a.ID)
	body := ordered("action", ordered("callId", call, "input", callArguments(a, q, "input"), "kind", "tool-call", "toolName", recall(a, "ask_question", "tool")),
		"allowFreeform", freeform, "display", display, "kind", kind)
	if len(options) > 0 {
		body.set("options", options)
	}
	body.set("prompt", prompt)
	body.set("requestId", recall(a, a.ID, "requestId"))
	return encode(body), s.warnings
}

// eveReply reads the response to an input request, or the tool's output.
func eveReply(a *ask.Ask, v value) Given {
	v.body()
	status, interrupted := v.field("status"), v.field("interrupted")
	if interrupted.bool(false) || status.string() == "unavailable" {
		return Given{Decision: Dismissed}
	}
	text := v.field("text")
	if status.given() {
		text = v.field("answer")
		text.need()
	}
	q, option := &a.Questions[0], v.field("optionId")
	if request := v.field("requestId"); !status.given() {
		if id := request.need(); id != recall(a, a.ID, "requestId") && typeName(request.raw) == "string" {
			request.fault(ask.FaultNotAmong, clip(id), "the_questions")
		}
		if !option.given() && text.missing() {
			v.fault(ask.FaultMissing, "the_answers_or_rejected")
		}
	}
	given := Given{Decision: Replied}
	switch {
	case option.given():
		id, known := nativeOption(a, 0, option.need())
		if !known || len(a.Questions) > 1 {
			option.faultIn(q.ID, ask.FaultNotAmong, clip(option.string()), "the_options")
		}
		option.answers(q.ID)
		given.Reply.Answers = []ask.Answer{{QuestionID: q.ID, Selected: []string{id}, Notes: text.string()}}
	case len(a.Questions) > 1:
		given.Reply = text.parseReply(a, text.string())
	default:
		given.Reply.Answers = []ask.Answer{text.answer(q, ",")}
	}
	return given
}
