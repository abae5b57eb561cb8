package dialect

import (
	"cmp"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// permissionName is the dialect of a permission request.
const permissionName = "acp-permission"

// permissionLater is the option to answer elsewhere, for a screen that cannot
// show the ask.
const permissionLater = "askbus-later"

// permissionAsk reads the parameters of session/request_permission, version 1
// (a tool call) or 2 (a title and a subject). Every option stays separate: two
// that allow permanently may differ in what they allow.
func permissionAsk(b *builder, v value) {
	b.meta(ask.MetadataPermission, permissionName)
	v.body()
	v.ignore("_meta", "sessionId")
	b.tops["/context"] = "/description"
	b.times(v)
	subject := v.field("subject")
	call := v.first("toolCall", "tool_call")
	if subject.given() {
		call = subject.first("toolCall", "tool_call")
	}
	subject.object()
	subject.ignore()
	call.object()
	call.ignore()
	b.meta(ask.MetadataCall, call.first("toolCallId", "tool_call_id").text())

	title, from := v.field("title"), "title"
	q := ask.Question{ID: "permission", Header: "Permission", Text: strings.TrimSpace(title.string()), NoOther: true}
	if q.Text == "" {
		from = "toolCall/title"
		q.Text = cmp.Or(strings.TrimSpace(call.field("title").text()), "May the agent do this?")
	}
	b.ask.Context = b.permissionContext(v.field("description").string(), subject, call)
	var labels []string
	for j, item := range v.field("options").some(ask.MaxOptions, "options", "at_least_one_option") {
		item.ignore("_meta")
		kind := item.field("kind").string()
		b.remember(kind, 0, j, "kind")
		o := ask.Option{ID: b.id(item.field("optionId"), 0, j), Label: distinct(item.field("name").need(), j, labels)}
		if strings.HasSuffix(kind, "_always") {
			o.Description = "Also from now on."
		}
		labels = append(labels, o.Label)
		q.Options = append(q.Options, o)
	}
	b.add(q, place{at: v.at, fields: map[string]string{"text": from, "options": "options", "options/#/id": "options/#/optionId", "options/#/label": "options/#/name"}})
}

// permissionAnswer writes the result of session/request_permission. Any outcome
// but the choice of one option grants nothing.
func permissionAnswer(a *ask.Ask, o *ask.Outcome) Response {
	result := ordered("outcome", "cancelled")
	text := sentence(a, o)
	switch rowOf(o) {
	case rowAnswered, rowDefault, rowCancelled:
		ans := answerTo(o, &a.Questions[0])
		switch {
		case o.CancelledBy != nil:
			result = ordered("outcome", "selected", "optionId", foreignOption(a, 0, o.CancelledBy.OptionID))
			text = remarks(a, o, "")
		case ans != nil && len(ans.Selected) == 1 && len(a.Questions) == 1:
			result = ordered("outcome", "selected", "optionId", foreignOption(a, 0, ans.Selected[0]))
			text = remarks(a, o, "")
		default:
			text = Report(a, o)
		}
	case rowResponse:
		text = Report(a, o)
	case rowDeclined, rowWithdrawn, rowAborted, rowExpired:
	}
	body := ordered("outcome", result)
	if text != "" {
		body.set("_meta", ordered("dev.askbus/text", text))
	}
	return respond(200, body)
}

// permissionShow writes an ask as the parameters of session/request_permission,
// version 2. An ask that is more than one choice is shown as text.
func permissionShow(a *ask.Ask) ([]byte, []Warning) {
	var s screen
	title, description, options := a.Heading(), a.Context, []any{}
	if q := &a.Questions[0]; permits(a) {
		if title = q.Text; a.Title != "" {
			description = strings.TrimSpace(a.Title + "\n\n" + description)
		}
		for j := range q.Options {
			o := &q.Options[j]
			kind := "allow_once"
			if o.Cancels {
				kind = "reject_once"
			}
			s.description(a, o, false, false)
			options = append(options, ordered("optionId", foreignOption(a, 0, o.ID), "name", o.Label, "kind", recall(a, kind, 0, j, "kind")))
		}
	} else {
		s.warn("/questions", "are shown as text; a permission is one choice, and this ask is answered elsewhere")
		description = a.Plain()
		options = append(options, ordered("optionId", permissionLater, "name", say(a, "Answer elsewhere"), "kind", "reject_once"))
	}
	body := ordered("sessionId", a.Session, "title", title)
	body.setText("description", description)
	body.set("options", options)
	return encode(body), s.warnings
}

// permits reports whether an ask is the choice of one option, like a
// permission.
func permits(a *ask.Ask) bool {
	q := &a.Questions[0]
	return len(a.Questions) == 1 && q.Kind == ask.KindChoice && !q.Multiple && len(q.Options) > 0
}

// permissionReply reads the result of session/request_permission. A cancelled
// dialog decides nothing.
func permissionReply(a *ask.Ask, v value) Given {
	v.body()
	outcome := v.field("outcome")
	outcome.wanted("object")
	outcome.object()
	switch what := outcome.field("outcome"); what.need() {
	case "cancelled":
		return Given{Decision: Dismissed}
	case "selected":
		option := outcome.field("optionId")
		foreign := option.need()
		if foreign == permissionLater && !permits(a) {
			return Given{Decision: Dismissed}
		}
		option.answers(a.Questions[0].ID)
		id, known := nativeOption(a, 0, foreign)
		if !known && typeName(option.raw) == "string" {
			option.faultIn(a.Questions[0].ID, ask.FaultNotAmong, clip(foreign), "the_options")
		}
		return Given{Decision: Replied, Reply: ask.Reply{Answers: []ask.Answer{{QuestionID: a.Questions[0].ID, Selected: []string{id}}}}}
	default:
		if typeName(what.raw) == "string" {
			what.fault(ask.FaultNotOneOf, clip(what.string()), "selected, cancelled")
		}
	}
	return Given{}
}
