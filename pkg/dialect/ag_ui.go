package dialect

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

const agUIName = "ag-ui"

// agUIAsk reads the interrupts that end an AG-UI run: the event RUN_FINISHED,
// its outcome, or the array of interrupts. A response schema becomes questions;
// what no form has a field for is typed as JSON. Without one, a tool call or a
// confirmation is approved or rejected, and anything else is answered with text.
// What a graph of LangGraph asks in its own shape is read as in [langchainAsk].
func agUIAsk(b *builder, v value) {
	b.meta(ask.MetadataPermission, agUIName)
	list := v
	if _, several := v.raw.([]any); !several {
		v.body()
		b.times(v)
		outer := v
		if o := v.field("outcome"); o.given() {
			v.ignore()
			outer = o
			b.times(o)
		}
		outer.object()
		outer.ignore("type")
		list = outer.field("interrupts")
	}
	for n, item := range list.some(ask.MaxQuestions, "interrupts", "at_least_one_interrupt") {
		item.ignore("subagentRunId", "toolCallId")
		raw := item.field("metadata").field("langgraph").field("raw") // of the graph, from @ag-ui/langgraph
		paused, graph := raw.raw.(*object)
		graph = (graph && len(paused.keys) > 0 || len(raw.ofInbox()) > 0) && !item.field("responseSchema").given() && !item.field("message").given()
		if o, ok := item.field("metadata").raw.(*object); ok && len(o.keys) > 0 && !graph { // the call's arguments, where a framework gives them
			drawn := fenced("json", indented(encode(o)))
			if all, _ := list.raw.([]any); len(all) > 1 {
				drawn = "About question " + strconv.Itoa(len(b.ask.Questions)+1) + ":\n\n" + drawn
			}
			b.ask.Context = strings.TrimSpace(b.ask.Context + "\n\n" + drawn)
		}
		item.ignore("metadata")
		id := item.field("id").need()
		b.remember(id, n, "interrupt")
		if n == 0 {
			b.meta(ask.MetadataCall, id)
		}
		b.soonest(item)
		if !graph {
			b.interrupt(n, item)
			continue
		}
		item.ignore("reason")
		if !b.inboxRequests(n, raw) && !b.langchainQuestion(n, raw) {
			b.langchainRequest(n, raw)
		}
		b.meta(ask.MetadataPermission, agUIName)
		b.remember("raw", n, "graph")
	}
}

// soonest reads when an interrupt ends by itself. Of several the first one ends
// the ask.
func (b *builder) soonest(item value) {
	timeout, deadline := b.ask.Timeout, b.ask.Deadline
	b.times(item)
	if timeout != 0 && timeout < b.ask.Timeout {
		b.ask.Timeout = timeout
	}
	if !deadline.IsZero() && deadline.Before(b.ask.Deadline) {
		b.ask.Deadline = deadline
	}
}

// interrupt adds the questions of one interrupt.
func (b *builder) interrupt(n int, v value) {
	reason, message, schema := v.field("reason").string(), v.field("message").string(), v.field("responseSchema")
	schema.object()
	schema.refer()
	schema.ignore("$schema", "additionalProperties", "description", "title")
	begin := len(b.ask.Questions)
	place := place{at: v.at, fields: map[string]string{"text": "message"}}
	properties := schema.field("properties")
	fields := properties.object().keys
	none := properties.given() && len(fields) == 0 // only that somebody says yes
	switch {
	case len(fields) > 0:
		schema.ignore("type")
		required := schema.field("required").strings()
		for _, name := range fields {
			if len(b.ask.Questions) >= ask.MaxQuestions {
				properties.fault(ask.FaultTooManyProperties, ask.MaxQuestions)
				break
			}
			b.response(name, properties.field(name), slices.Contains(required, name))
			b.remember(name, len(b.ask.Questions)-1, "id")
			b.remember("field", len(b.ask.Questions)-1, "payload")
		}
		if message != "" && len(b.ask.Questions) > begin {
			q := &b.ask.Questions[begin]
			q.Text = message + "\n\n" + q.Text
		}
	case schema.given() && !none:
		b.response("value", schema, true)
		if q := &b.ask.Questions[begin]; message != "" && b.origin[originKey(begin, "json")] != nil {
			q.Text = message + "\n\n" + q.Text
		} else if message != "" {
			q.Text = message
		}
	case none, slices.Contains([]string{"tool_call", "tool_call_approval", "confirmation", "approval"}, reason):
		b.add(ask.Question{Text: cmp.Or(message, "May the agent go on?"), NoOther: true, Options: []ask.Option{
			{ID: approvalApprove, Label: "Approve"}, {ID: approvalReject, Label: "Reject"},
		}}, place)
		b.remember("approval", begin, "payload")
	default:
		b.add(ask.Question{Kind: ask.KindText, Text: cmp.Or(message, reason, "What should the agent do?")}, place)
	}
	for i := begin; i < len(b.ask.Questions); i++ {
		b.ask.Questions[i].ID = ask.Token("i" + key(n) + "-" + cmp.Or(b.ask.Questions[i].ID, "answer"))
		b.remember(key(n), i, "of")
	}
}

// agUIAnswer writes the input that resumes the run: an entry for each
// interrupt.
func agUIAnswer(a *ask.Ask, o *ask.Outcome) Response {
	entries, r := []any{}, rowOf(o)
	for n := 0; recall(a, "", n, "interrupt") != "" && cameAs(a, agUIName); n++ {
		entries = append(entries, agUIEntry(a, o, n))
	}
	if len(entries) == 0 { // the ask came in another dialect
		entry := ordered("interruptId", a.ID, "status", "cancelled")
		if r.decided() {
			entry.set("status", "resolved")
			entry.set("payload", agUIForm(a, o))
			entry.set("metadata", ordered("dev.askbus/text", Report(a, o)))
		}
		entries = append(entries, entry)
	}
	return respond(200, ordered("resume", entries))
}

// agUIForm returns the payload for the form of [agUIShow].
func agUIForm(a *ask.Ask, o *ask.Outcome) *object {
	shown, fields := *a, ordered()
	shown.Metadata = nil
	for i := range a.Questions {
		q := &a.Questions[i]
		ans := answerTo(o, q)
		if ans == nil {
			continue
		}
		one := *ans
		if one.Other = ""; !one.Empty() {
			fields.set(q.ID, elicitedValue(&shown, i, one))
		}
		if ans.Other != "" {
			fields.set(otherName(&shown, i), ans.Other)
		}
	}
	return fields
}

func agUIEntry(a *ask.Ask, o *ask.Outcome, n int) *object {
	entry := ordered("interruptId", recall(a, "", n, "interrupt"), "status", "cancelled")
	words := sentence(a, o)
	if recall(a, "", n, "graph") != "" {
		if payload := langchainPayload(a, o, n); payload != nil {
			entry.set("status", "resolved")
			entry.set("payload", payload)
			words = ""
			if id := approvalID(n, 0); recall(a, "", id, "name") == "" { // decisions have their notes
				words = remarksOn(a, o, func(i int) bool { return a.Questions[i].ID == id })
			}
		}
	} else if r := rowOf(o); r == rowAnswered || r == rowDefault {
		words = remarksOn(a, o, func(i int) bool { return recall(a, "", i, "of") == key(n) })
		var payload any
		fields := ordered()
		for i := range a.Questions {
			ans := answerTo(o, &a.Questions[i])
			if recall(a, "", i, "of") != key(n) || ans == nil {
				continue
			}
			given, ok := responseValue(a, i, *ans)
			if !ok { // nothing is done with half of what a person said
				entry.set("metadata", ordered("dev.askbus/text", say(a, "%s is not the JSON that the request wants: %s", recall(a, "value", i, "id"), ans.Text)))
				return entry
			}
			switch recall(a, "", i, "payload") {
			case "field":
				fields.set(recall(a, "", i, "id"), given)
				payload = fields
			case "approval":
				decision := ordered("approved", slices.Contains(ans.Selected, approvalApprove))
				if note := o.Answer(ans.QuestionID); note != nil && note.Notes != "" { // frameworks give their models the payload only
					decision.set("reason", note.Notes)
				}
				payload = decision
			default:
				payload = given
			}
		}
		entry.set("status", "resolved")
		if payload != nil {
			entry.set("payload", payload)
		}
	} else if r == rowResponse {
		words = o.Response
	}
	if words != "" {
		entry.set("metadata", ordered("dev.askbus/text", words))
	}
	return entry
}

// remarksOn returns the remarks on some of the questions.
func remarksOn(a *ask.Ask, o *ask.Outcome, on func(i int) bool) string {
	some := *a
	some.Questions = nil
	for i := range a.Questions {
		if on(i) {
			some.Questions = append(some.Questions, a.Questions[i])
		}
	}
	return remarks(&some, o, "")
}

// agUIShow writes any ask as one interrupt whose response schema is a form.
func agUIShow(a *ask.Ask) ([]byte, []Warning) {
	shown := *a
	shown.Metadata = nil // its own names, which differ
	body, warnings := elicitationShow(&shown)
	v, err := (&reader{}).parse(body)
	if err != nil {
		return body, warnings
	}
	interrupt := ordered("id", a.ID, "reason", "input_required", "message", v.field("message").raw, "responseSchema", v.field("requestedSchema").raw)
	return encode(ordered("type", "interrupt", "interrupts", []any{interrupt})), warnings
}

// agUIReply reads the entries that resume a run.
func agUIReply(a *ask.Ask, v value) Given {
	list := v
	if _, bare := v.raw.([]any); !bare {
		v.body()
		list = v.field("resume")
	}
	if list.missing() {
		list.fault(ask.FaultMissing, "an_entry_for_each_interrupt")
	}
	v.r.rest = list.at
	given := Given{Decision: Replied}
	for _, item := range list.list() {
		item.object()
		foreign, status, payload := item.field("interruptId").need(), item.field("status").need(), item.field("payload")
		if status == "cancelled" {
			return Given{Decision: Declined, Reason: item.field("metadata").field("dev.askbus/text").text()}
		}
		if status != "resolved" && typeName(item.field("status").raw) == "string" {
			item.field("status").fault(ask.FaultNotOneOf, clip(status), "resolved, cancelled")
		}
		known := false
		for n := 0; recall(a, "", n, "interrupt") != ""; n++ {
			of := langchainCallsOf(a, n)
			if recall(a, "", n, "interrupt") != foreign || recall(a, "", n, "graph") == "" || len(of) == 0 {
				continue
			}
			known = true
			if recall(a, "", of[0], "name") != "" {
				given.langchainDecisions(a, payload.decisionsOf(a, n), of)
			} else {
				given.Reply.Answers = append(given.Reply.Answers, payload.answer(a.Question(of[0]), ""))
			}
		}
		for i := range a.Questions {
			q := &a.Questions[i]
			switch of := recall(a, "", i, "of"); {
			case foreign == a.ID:
				given.Reply.Answers = append(given.Reply.Answers, payload.formField(a, i))
			case of == "":
				continue
			case interruptOf(a, of) != foreign:
				continue
			case recall(a, "", i, "payload") == "field":
				given.Reply.Answers = append(given.Reply.Answers, payload.field(recall(a, "", i, "id")).responseAnswer(a, i))
			case recall(a, "", i, "payload") == "approval":
				decision := approvalReject
				payload.field("approved").answers(q.ID)
				if payload.field("approved").bool(false) {
					decision = approvalApprove
				}
				given.Reply.Answers = append(given.Reply.Answers, ask.Answer{QuestionID: q.ID, Selected: []string{decision}})
			default:
				given.Reply.Answers = append(given.Reply.Answers, payload.responseAnswer(a, i))
			}
			known = true
		}
		if !known {
			item.field("interruptId").fault(ask.FaultNotAmong, clip(foreign), "the_interrupts")
		}
	}
	return given
}

// interruptOf returns the foreign id of interrupt n, a number formatted by
// [originKey].
func interruptOf(a *ask.Ask, n string) string {
	origin, _ := a.Metadata[metadataKey].(map[string]any)
	id, _ := origin[n+".interrupt"].(string)
	return id
}

// formField reads one question of the form of [agUIShow].
func (v value) formField(a *ask.Ask, i int) ask.Answer {
	shown := *a
	shown.Metadata = nil
	return v.elicitedWithOther(&shown, i)
}
