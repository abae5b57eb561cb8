package dialect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

const langchainName = "langchain"

// langchainAsk reads the interrupt of LangChain's human-in-the-loop middleware:
// action requests, each with a review config of the same name. It is either the
// whole body or the value of one or several interrupts with ids. Python writes
// it in snake_case. An interrupt with an id may also be a graph's own question, or
// requests of LangGraph's agent inbox.
func langchainAsk(b *builder, v value) {
	if list, ok := v.raw.(*object); ok && list.values["__interrupt__"] != nil {
		v.ignore()
		v = v.field("__interrupt__")
	}
	if _, several := v.raw.([]any); !several {
		v.body()
		b.times(v)
		b.langchainRequest(0, v)
		return
	}
	for n, item := range v.some(ask.MaxQuestions, "interrupts", "at_least_one_interrupt") {
		item.ignore("ns", "resumable", "when")
		id := item.first("id", "interrupt_id", "interruptId").need()
		b.remember(id, n, "interrupt")
		if n == 0 {
			b.meta(ask.MetadataCall, id)
		}
		value := item.field("value").wanted("the_request_of_the_interrupt")
		b.soonest(value)
		if !b.inboxRequests(n, value) && !b.langchainQuestion(n, value) {
			value.object()
			b.langchainRequest(n, value)
		}
	}
}

// langchainQuestion reads interrupt n as a graph's own question, unless it has
// action requests: a text, or an object, which may have a question, an
// instruction or a message. Options in it are offered; anything else is shown as JSON.
func (b *builder) langchainQuestion(n int, v value) bool {
	text := v.first("question", "instruction", "message")
	if _, alone := v.raw.(string); alone {
		text = v
	} else if !v.given() || v.first("actionRequests", "action_requests").given() {
		return false
	}
	q := ask.Question{ID: approvalID(n, 0), Kind: ask.KindText, Text: "What should the agent do?"}
	if text.given() {
		q.Text = text.need()
	}
	if q.Options = b.options(v.field("options")); len(q.Options) > 0 {
		q.Kind, q.Multiple = ask.KindChoice, v.multiple()
	}
	rest := ordered()
	if all, ok := v.raw.(*object); ok {
		for _, key := range all.keys {
			if !all.read[key] && all.values[key] != nil {
				rest.set(key, all.values[key])
			}
		}
		v.ignore()
	} else if text.at != v.at {
		rest.set("value", v.raw)
	}
	if len(rest.keys) > 0 {
		q.Text = shorten(q.Text+"\n\n"+fenced("json", indented(encode(rest))), ask.MaxText-60)
	}
	b.add(q, place{at: v.at, fields: map[string]string{"text": strings.TrimPrefix(text.at, v.at+"/")}})
	return true
}

// langchainRequest reads the request of interrupt n.
func (b *builder) langchainRequest(n int, v value) {
	b.meta(ask.MetadataPermission, langchainName)
	requests, configs := v.first("actionRequests", "action_requests"), v.first("reviewConfigs", "review_configs")
	if strings.HasSuffix(requests.at, "action_requests") {
		b.remember("snake", n, "case")
	}
	list := requests.list()
	if len(list) == 0 && !requests.lost {
		requests.fault(ask.FaultEmptyList, "at_least_one_action_request")
	}
	allowed := map[string]value{}
	for _, config := range configs.list() {
		config.object()
		config.first("argsSchema", "args_schema").ignore()
		allowed[config.first("actionName", "action_name").need()] = config.first("allowedDecisions", "allowed_decisions")
	}
	for i, item := range atMost(list, ask.MaxQuestions) {
		item.object()
		one := approval{name: item.field("name").need(), description: item.field("description").string(), at: item.at, approvable: true, editable: true, rejectable: true}
		args := item.first("args", "arguments")
		args.ignore()
		one.args = args.raw
		if decisions, given := allowed[one.name]; given && decisions.given() {
			one.approvable, one.editable, one.rejectable = false, false, false // without a config LangChain allows these
			for _, decision := range decisions.list() {
				switch decision.string() {
				case approvalApprove:
					one.approvable = true
				case approvalEdit:
					one.editable = true
				case approvalReject:
					one.rejectable = true
				case approvalRespond:
					one.respondable = true
				default:
					decision.warn("is dropped: it is not approve, edit, reject or respond")
				}
			}
			if !one.approvable && !one.editable && !one.rejectable && !one.respondable {
				decisions.fault(ask.FaultAllowsNothing, "approve, edit, reject, respond")
				one.rejectable = true
			}
		}
		if 2*len(list) > ask.MaxQuestions && one.editable && (one.approvable || one.rejectable || one.respondable) {
			one.editable = false // each edit is a question, too
			item.warn("cannot be edited: it is one of %d requests", len(list))
		}
		b.approval(n, i, one)
	}
}

// langchainAnswer writes the decisions that resume the graph, one for each
// action request in the same order, and by id for interrupts with ids. A graph's
// own question gets the person's words, or the labels if there may be several.
// Without a decision or an answer it returns a problem, and the graph stays
// interrupted.
func langchainAnswer(a *ask.Ask, o *ask.Outcome) Response {
	words, refused, none := refuses(a, o)
	if none != nil {
		return *none
	}
	if !cameAs(a, langchainName) {
		return respond(200, ordered("decisions", []any{ordered("type", approvalReject, "message", Report(a, o))}))
	}
	all, single := ordered(), any(ordered())
	for n := 0; a.Question(approvalID(n, 0)) != nil; n++ {
		id := recall(a, "", n, "interrupt")
		if q := a.Question(approvalID(n, 0)); recall(a, "", q.ID, "name") == "" {
			said := langchainWords(q, o)
			if said == nil { // any text would be one that a graph takes for an answer
				return problem(a, 409, "Not answered", "not_answered", sentence(a, o))
			}
			all.set(id, said)
			continue
		}
		decisions, none := langchainDecisions(a, o, n, refused, words)
		if none != nil {
			return *none
		}
		single = decisions
		if id != "" {
			all.set(id, single)
		}
	}
	if len(all.keys) == 0 {
		return respond(200, single)
	}
	return respond(200, all)
}

// langchainDecisions returns the decisions about the calls of interrupt n, as it waits for them; a problem, if one of them is not allowed.
func langchainDecisions(a *ask.Ask, o *ask.Outcome, n int, refused bool, words string) (resume any, none *Response) {
	decisions := []any{}
	for i := 0; ; i++ {
		q := a.Question(approvalID(n, i))
		if q == nil && fromInbox(a, n) {
			return decisions, nil
		} else if q == nil {
			return ordered("decisions", decisions), nil
		}
		decision, args, note, inWords := approvalReject, any(nil), words, q.Other() || q.Kind == ask.KindText
		if !refused {
			decision, args, note = decided(a, o, q.ID)
		} else if rowOf(o) == rowResponse && q.Option(approvalReject) == nil && inWords {
			decision = approvalRespond
		}
		if ans := answerTo(o, q); fromInbox(a, n) && decision == approvalReject && inWords && (refused || ans != nil && !slices.Contains(ans.Selected, approvalReject)) {
			decision = approvalRespond // its "ignore" has no words
		}
		if q.Option(decision) == nil && decision != approvalRespond {
			return nil, new(problem(a, 409, "Not allowed", "not_allowed", say(a, "the person's answer is %s, which the request does not allow: %s", decision, note)))
		}
		decisions = append(decisions, langchainDecision(a, n, q.ID, decision, args, note))
	}
}

// langchainPayload is what resumes interrupt n, or nil.
func langchainPayload(a *ask.Ask, o *ask.Outcome, n int) any {
	words, refused, none := refuses(a, o)
	q := a.Question(approvalID(n, 0))
	switch {
	case none != nil, q == nil:
		return nil
	case recall(a, "", q.ID, "name") == "":
		return langchainWords(q, o)
	}
	decisions, none := langchainDecisions(a, o, n, refused, words)
	if none != nil {
		return nil
	}
	return decisions
}

// langchainCallsOf returns the ids of the questions about the calls of interrupt n.
func langchainCallsOf(a *ask.Ask, n int) (ids []string) {
	for i := 0; a.Question(approvalID(n, i)) != nil; i++ {
		ids = append(ids, approvalID(n, i))
	}
	return ids
}

// langchainWords returns what a person said to a graph's own question: a text,
// a list of texts, or nil.
func langchainWords(q *ask.Question, o *ask.Outcome) any {
	ans := answerTo(o, q)
	switch {
	case rowOf(o) == rowResponse && q.Multiple:
		return []string{o.Response}
	case rowOf(o) == rowResponse:
		return o.Response
	case ans == nil:
		return nil
	case q.Multiple:
		return q.Labels(*ans)
	}
	return q.Words(*ans)
}

func langchainDecision(a *ask.Ask, n int, id, decision string, args any, note string) *object {
	if fromInbox(a, n) {
		return inboxDecision(recall(a, "", id, "name"), decision, args, note)
	}
	d := ordered("type", decision)
	switch {
	case decision == approvalEdit:
		field := "editedAction"
		if recall(a, "", n, "case") == "snake" {
			field = "edited_action"
		}
		d.set(field, ordered("name", recall(a, "", id, "name"), "args", args))
	case decision == approvalReject && note != "", decision == approvalRespond:
		d.set("message", note)
	}
	return d
}

// langchainCalls returns the ids of the questions about calls, or nothing if
// the ask is not only about calls: a review screen has no place for others.
func langchainCalls(a *ask.Ask) []string {
	var ids []string
	for i := range a.Questions {
		switch id := a.Questions[i].ID; {
		case strings.HasSuffix(id, "-args"):
		case !cameAs(a, langchainName) || recall(a, "", id, "name") == "":
			return nil
		default:
			ids = append(ids, id)
		}
	}
	return ids
}

// langchainShow writes an ask as a request to review actions. An ask from
// another dialect becomes an action whose argument is the typed answer.
func langchainShow(a *ask.Ask) ([]byte, []Warning) {
	var s screen
	requests, configs := []any{}, []any{}
	for _, id := range langchainCalls(a) {
		q := a.Question(id)
		name, allowed := recall(a, "", q.ID, "name"), []string{}
		for j := range q.Options {
			allowed = append(allowed, q.Options[j].ID)
		}
		if q.Other() || q.Kind == ask.KindText {
			allowed = append(allowed, approvalRespond)
		}
		request := ordered("name", name, "args", callArguments(a, q, q.ID, "args"))
		request.setText("description", recall(a, "", q.ID, "description"))
		requests = append(requests, request)
		configs = append(configs, ordered("actionName", name, "allowedDecisions", allowed))
	}
	if len(requests) == 0 {
		s.warn("/questions", "are shown as text; the answer is typed as the argument of an edit")
		requests = append(requests, ordered("name", "answer", "args", ordered("answer", ""), "description", a.Plain()))
		configs = append(configs, ordered("actionName", "answer", "allowedDecisions", []string{approvalEdit, approvalReject}))
	}
	return encode(ordered("actionRequests", requests, "reviewConfigs", configs)), s.warnings
}

// langchainReply reads the decisions of a review screen, or by interrupt id what
// the graph is resumed with.
func langchainReply(a *ask.Ask, v value) Given {
	v.body()
	decisions := v.field("decisions")
	v.r.rest = decisions.at
	given := Given{Decision: Replied}
	calls := langchainCalls(a)
	switch {
	case recall(a, "", 0, "interrupt") != "" && !decisions.given():
		v.r.rest = v.at
		for n := 0; a.Question(approvalID(n, 0)) != nil; n++ {
			item := v.field(recall(a, "", n, "interrupt"))
			of := langchainCallsOf(a, n)
			if q := a.Question(of[0]); recall(a, "", q.ID, "name") == "" {
				given.Reply.Answers = append(given.Reply.Answers, item.answer(q, ""))
				continue
			}
			given.langchainDecisions(a, item.decisionsOf(a, n), of)
		}
	case len(calls) > 0:
		given.langchainDecisions(a, decisions, calls)
	default:
		return langchainTyped(a, decisions)
	}
	return given
}

// langchainTyped reads the one decision about an ask that is shown as text.
func langchainTyped(a *ask.Ask, decisions value) Given {
	list := decisions.list()
	if len(list) != 1 {
		decisions.fault(ask.FaultDecisionCount, len(list), 1)
		return Given{}
	}
	item := list[0]
	item.object()
	typ, answer := item.field("type").need(), item.first("editedAction", "edited_action").field("args").field("answer")
	switch typ {
	case approvalReject:
		return Given{Decision: Declined, Reason: item.field("message").string()}
	case approvalEdit:
		return Given{Decision: Replied, Reply: answer.parseReply(a, answer.need())}
	}
	item.field("type").fault(ask.FaultNotOneOf, clip(typ), "edit, reject")
	return Given{}
}

// decisionsOf returns the decisions in what interrupt n is resumed with.
func (v value) decisionsOf(a *ask.Ask, n int) value {
	if fromInbox(a, n) {
		return v
	}
	v.object()
	return v.field("decisions")
}

// langchainDecisions reads the decisions about calls, in their order.
func (given *Given) langchainDecisions(a *ask.Ask, decisions value, calls []string) {
	list := decisions.list()
	if len(list) != len(calls) {
		decisions.fault(ask.FaultDecisionCount, len(list), len(calls))
		return
	}
	for i, item := range list {
		item.object()
		typ, edited, message := item.field("type").need(), item.first("editedAction", "edited_action").field("args"), item.field("message")
		q := a.Question(calls[i])
		item.field("type").answers(q.ID)
		if args := item.field("args"); args.given() { // of an inbox
			edited, message = args.field("args"), args
		}
		typ = cmp.Or(inboxTypes[typ], typ)
		if typ == approvalRespond && (q.Other() || q.Kind == ask.KindText) {
			message.answers(q.ID)
			ans := ask.Answer{QuestionID: q.ID, Other: message.need()}
			if q.Kind == ask.KindText {
				ans.Text, ans.Other = ans.Other, ""
			}
			given.Reply.Answers = append(given.Reply.Answers, ans)
			continue
		}
		if q.Option(typ) == nil && typeName(item.field("type").raw) == "string" {
			item.field("type").faultIn(q.ID, ask.FaultNotAllowed, clip(typ))
		}
		given.Reply.Answers = append(given.Reply.Answers, ask.Answer{QuestionID: q.ID, Selected: []string{typ}, Notes: item.first("message", "text").string()})
		if typ == approvalEdit {
			edited.answers(q.ID + "-args")
			given.Reply.Answers = append(given.Reply.Answers, ask.Answer{QuestionID: q.ID + "-args", Text: string(encode(edited.object()))})
		}
	}
}
