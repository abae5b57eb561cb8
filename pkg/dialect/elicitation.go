package dialect

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/askbus/askbus/pkg/ask"
)

// elicitationAsk reads the parameters of elicitation/create in form mode: each
// property of the requested schema is a question, in the given order. A form
// without properties asks to accept or decline.
func elicitationAsk(b *builder, v value) {
	v.body()
	v.ignore("_meta", "elicitationId", "elicitationSource", "requestId", "sessionId", "task", "toolCallId")
	b.times(v)
	if mode := v.field("mode").string(); mode != "" && mode != "form" {
		v.field("mode").fault(ask.FaultNotOneOf, clip(mode), "form")
	}
	message := v.field("message").need()
	b.tops["/context"] = "/message"
	if utf8.RuneCountInString(message) <= ask.MaxTitle && !strings.Contains(message, "\n") {
		b.ask.Title = message
	} else {
		b.ask.Context = message
	}
	schema := v.field("requestedSchema").wanted("an_object_schema")
	schema.object()
	schema.refer()
	schema.ignore("$schema", "_meta", "type", "title", "description", "additionalProperties")
	properties := schema.field("properties")
	names, required := properties.object().keys, schema.field("required").strings()
	folded := companions(names, properties, required)
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return folded[name].of != "" })
	if len(names) > ask.MaxQuestions {
		properties.faultCount(ask.FaultTooMany, len(names), "properties", ask.MaxQuestions)
		names = names[:ask.MaxQuestions]
	}
	for i, name := range names {
		property, nullable := plain(properties.field(name))
		b.property(i, name, property, slices.Contains(required, name) && !nullable)
		b.fold(i, name, folded, len(names) == 1, message)
	}
	if len(names) == 0 {
		b.add(ask.Question{ID: "confirm", Text: message, NoOther: true, Options: []ask.Option{
			{ID: "accept", Label: "Accept"}, {ID: "decline", Label: "Decline", Cancels: true},
		}}, place{at: v.at, fields: map[string]string{"text": "message"}})
	}
}

// elicitationAnswer writes the result of elicitation/create. Words that do not
// fit into it go to _meta.
func elicitationAnswer(a *ask.Ask, o *ask.Outcome) Response {
	content, fits := ordered(), true
	action := "decline"
	switch rowOf(o) {
	case rowAnswered, rowDefault:
		action = "accept"
		for i := range a.Questions {
			if ans := answerTo(o, &a.Questions[i]); ans != nil && !confirms(a) {
				own, beside := unfold(a, i, *ans)
				if !own.Empty() {
					content.set(propertyName(a, i), elicitedValue(a, i, own))
				}
				for _, c := range beside {
					content.set(c[0], c[1])
				}
			}
		}
	case rowResponse:
		if content, fits = elicitedResponse(a, o.Response); fits {
			action = "accept"
		}
	case rowCancelled, rowWithdrawn, rowAborted, rowExpired:
		action = "cancel"
		if o.CancelledBy != nil && confirms(a) {
			action = "decline" // the meaning of that option
		}
	case rowDeclined:
	}
	body := ordered("action", action)
	if action == "accept" {
		body.set("content", content)
	}
	text := remarks(a, o, "")
	if !fits {
		text = o.Response
	}
	if text != "" {
		body.set("_meta", ordered("dev.askbus/text", text))
	}
	return respond(200, body)
}

// confirms reports whether the ask came from a form without properties.
func confirms(a *ask.Ask) bool {
	return cameAs(a, "elicitation") && len(a.Questions) == 1 && a.Questions[0].ID == "confirm" && a.Questions[0].Option("decline") != nil && a.Questions[0].Option("decline").Cancels
}

func elicitedValue(a *ask.Ask, i int, ans ask.Answer) any {
	q := &a.Questions[i]
	if recall(a, "", i, "lines") != "" {
		return slices.DeleteFunc(strings.Split(ans.Text, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
	}
	if q.Kind != ask.KindChoice {
		return typedValue(q, ans)
	}
	values := []string{}
	for _, id := range ans.Selected {
		values = append(values, foreignOption(a, i, id))
	}
	if ans.Other != "" {
		values = append(values, ans.Other)
	}
	if q.Multiple {
		return values
	}
	return strings.Join(values, ", ")
}

// elicitedResponse puts one free response into the first text property that can
// hold it, if the form needs nothing else.
func elicitedResponse(a *ask.Ask, response string) (*object, bool) {
	for i := range a.Questions {
		q := &a.Questions[i]
		if q.Kind != ask.KindText || recall(a, "", i, "lines") != "" {
			continue
		}
		reply := ask.Reply{Answers: []ask.Answer{{QuestionID: q.ID, Text: response}}}
		if _, _, err := a.Check(reply); err == nil {
			return ordered(recall(a, q.ID, i, "id"), response), true
		}
	}
	return ordered(), false
}

func number(n float64, integer bool) any {
	if integer && n == math.Trunc(n) && math.Abs(n) < 1<<53 {
		return int64(n)
	}
	return n
}

func propertyName(a *ask.Ask, i int) string { return recall(a, a.Questions[i].ID, i, "id") }

// otherName returns the property for a question's Other text.
func otherName(a *ask.Ask, i int) string {
	names := make([]string, len(a.Questions))
	for j := range a.Questions {
		names[j] = propertyName(a, j)
	}
	if name := recall(a, "", i, roleCustom); name != "" {
		return name
	}
	name := propertyName(a, i) + "_other"
	for n := 2; slices.Contains(names, name); n++ {
		name = propertyName(a, i) + "_other" + strconv.Itoa(n)
	}
	return name
}
