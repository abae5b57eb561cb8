package dialect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// The options of a LangGraph interrupt; each id is its response type.
const (
	inboxAccept = "accept"
	inboxIgnore = "ignore"
	inboxEdit   = "edit"
	inboxAction = "action"    // the question that chooses
	inboxArgs   = "arguments" // the question that edits
)

// langgraphAsk reads a human interrupt, or an array with one. It becomes a
// choice of the allowed actions and, if editing is allowed, an optional second
// question for new arguments.
func langgraphAsk(b *builder, v value) {
	b.meta(ask.MetadataPermission, "langgraph")
	v, ok := v.onlyItem()
	if !ok {
		return
	}
	v.body()
	b.times(v)
	request, config := v.field("action_request").wanted("object"), v.field("config")
	request.object()
	config.object()
	action := request.field("action").need()
	request.ignore("args")
	args := encode(request.field("args").object())
	b.remember(action, "action")
	b.ask.Context, b.tops["/context"] = v.field("description").string(), v.field("description").at

	q := ask.Question{ID: inboxAction, Text: "Action: " + action, NoOther: !config.field("allow_respond").bool(false)}
	if len(request.field("args").object().keys) > 0 {
		b.withArguments(&q, action, indented(args), ask.Visible(indented(args)))
	}
	edit := config.field("allow_edit").bool(false)
	q.Options = allowed([]allowance{
		{inboxAccept, "Accept", "Go on with these arguments.", config.field("allow_accept").bool(false)},
		{inboxEdit, "Edit", "Go on with other arguments; type them below.", edit},
		{inboxIgnore, "Ignore", "Do not do this.", config.field("allow_ignore").bool(false)},
	})
	if len(q.Options) == 0 && q.NoOther {
		config.fault(ask.FaultAllowsNothing, "allow_accept, allow_edit, allow_respond, allow_ignore")
		q.NoOther = false
	}
	b.add(q, place{at: v.at, fields: map[string]string{"text": "action_request/args", "options": "config"}})
	if edit {
		b.add(newArguments(inboxArgs, "it"), place{at: v.at + "/config/allow_edit"})
	}
}

// inboxTypes maps the response types of an inbox to decisions about calls.
//
//nolint:gochecknoglobals // a table
var inboxTypes = map[string]string{inboxAccept: approvalApprove, inboxIgnore: approvalReject, "response": approvalRespond}

// fromInbox reports whether interrupt n waits for the responses of an inbox.
func fromInbox(a *ask.Ask, n int) bool { return recall(a, "", n, "case") == "inbox" }

// ofInbox returns the requests of an inbox that v is, one or a list; none, if it is anything else.
func (v value) ofInbox() []value {
	list := []value{v}
	if _, several := v.raw.([]any); several {
		list = v.list()
	}
	if slices.ContainsFunc(list, func(item value) bool { return !item.field("action_request").given() || !item.field("config").given() }) {
		return nil
	}
	return list
}

// inboxRequests reads interrupt n if it is of an inbox: the graph gets a list of responses.
func (b *builder) inboxRequests(n int, v value) bool {
	list := v.ofInbox()
	if len(list) == 0 {
		return false
	}
	b.meta(ask.MetadataPermission, langchainName)
	b.remember("inbox", n, "case")
	for i, item := range list {
		b.soonest(item)
		request, config, description := item.field("action_request"), item.field("config"), item.field("description").string()
		request.object()
		request.ignore("args")
		config.object()
		one := approval{name: request.field("action").need(), args: request.field("args").raw, at: item.at}
		one.approvable, one.editable = config.field("allow_accept").bool(false), config.field("allow_edit").bool(false)
		one.rejectable, one.respondable = config.field("allow_ignore").bool(false), config.field("allow_respond").bool(false)
		if !one.approvable && !one.editable && !one.rejectable && !one.respondable {
			config.fault(ask.FaultAllowsNothing, "allow_accept, allow_edit, allow_respond, allow_ignore")
			one.rejectable = true
		}
		asked, about := len(b.ask.Questions), description
		if about != "" && asked+len(list) > 1 {
			about = "About question " + strconv.Itoa(asked+1) + ":\n\n" + about
		}
		b.ask.Context = strings.TrimSpace(b.ask.Context + "\n\n" + about)
		b.approval(n, i, one)
		b.rememberShort(description, approvalID(n, i), "description")
		if ignore := b.ask.Questions[asked].Option(approvalReject); ignore != nil { // a graph reads no note to it
			ignore.Label, ignore.Description = "Ignore", "Do not do this."
		}
	}
	return true
}

// inboxDecision returns a decision about a call as the response of an inbox.
func inboxDecision(action, decision string, args any, note string) *object {
	typ, said := inboxAccept, any(nil)
	switch decision {
	case approvalEdit:
		typ, said = inboxEdit, ordered("action", action, "args", args)
	case approvalReject:
		typ = inboxIgnore
	case approvalRespond:
		return ordered("type", "response", "args", note)
	}
	d := ordered("type", typ, "args", said)
	d.setText("text", note)
	return d
}

func indented(args []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, args, "", "  ") != nil {
		return string(args)
	}
	return b.String()
}

// langgraphAnswer writes the response that resumes the graph. Without a
// decision it returns a problem, and the graph stays interrupted.
func langgraphAnswer(a *ask.Ask, o *ask.Outcome) Response {
	switch rowOf(o) {
	case rowDeclined:
		if q := a.Question(inboxAction); q != nil && q.Kind == ask.KindChoice && q.NoOther {
			return inbox(inboxIgnore, nil, sentence(a, o))
		}
		return inbox("response", sentence(a, o), "")
	case rowWithdrawn, rowAborted:
		return problem(a, 410, "Gone", string(o.Status), sentence(a, o))
	case rowExpired:
		return problem(a, 504, "Nobody answered", string(o.Status), sentence(a, o))
	case rowResponse:
		return inbox("response", o.Response, "")
	case rowAnswered, rowCancelled, rowDefault:
	}
	return langgraphDecided(a, o)
}

func langgraphDecided(a *ask.Ask, o *ask.Outcome) Response {
	q := a.Question(inboxAction)
	if !cameAs(a, "langgraph") || q == nil {
		return inbox("response", Report(a, o), "")
	}
	ans, args := answerTo(o, q), o.Answer(inboxArgs)
	remark := remarks(a, o, "")
	said := func(text string) string { return strings.TrimSpace(text + "\n" + remark) }
	switch {
	case args != nil && args.Text != "" && (ans == nil || len(ans.Selected) == 0 || ans.Selected[0] != inboxIgnore):
		if edited, err := (&reader{}).parse([]byte(args.Text)); err == nil && typeName(edited.raw) == "object" {
			return inbox(inboxEdit, ordered("action", recall(a, "", "action"), "args", edited.raw), remark)
		}
		return inbox("response", said("edit the arguments: "+args.Text), "")
	case ans == nil:
		return inbox("response", Report(a, o), "")
	case ans.Other != "":
		return inbox("response", said(ans.Other), "")
	case ans.Text != "":
		return inbox("response", said(ans.Text), "")
	case ans.Selected[0] == inboxEdit:
		return inbox("response", said("edit the arguments, but no new ones were given"), "")
	}
	return inbox(ans.Selected[0], nil, remark)
}

// inbox returns one response; words that do not fit into it are added next to
// it.
func inbox(typ string, args any, words string) Response {
	response := ordered("type", typ, "args", args)
	response.setText("text", words)
	return respond(200, []any{response})
}

// langgraphShow writes any ask as an interrupt for an inbox, which answers in
// text. An ask that came as an interrupt is shown unchanged.
func langgraphShow(a *ask.Ask) ([]byte, []Warning) {
	var s screen
	s.warn("/questions", "are shown as text; the answer is typed")
	return encode(ordered(
		"action_request", ordered("action", cmp.Or(a.Title, "question"), "args", ordered("ask_id", a.ID)),
		"config", ordered("allow_ignore", true, "allow_respond", true, "allow_edit", false, "allow_accept", false),
		"description", a.Plain())), s.warnings
}

// langgraphReply reads the response of an inbox, or an array with one.
func langgraphReply(a *ask.Ask, v value) Given {
	v, ok := v.onlyItem()
	if !ok {
		return Given{}
	}
	v.body()
	q := a.Question(inboxAction)
	allowed := func(id string) bool { return cameAs(a, "langgraph") && q != nil && q.Option(id) != nil }
	pick := func(id string) Given {
		v.field("type").answers(inboxAction)
		return Given{Decision: Replied, Reply: ask.Reply{Answers: []ask.Answer{{QuestionID: inboxAction, Selected: []string{id}}}}}
	}
	args := v.field("args")
	switch typ := v.field("type").need(); {
	case typ == "response":
		return args.inboxText(a)
	case typ == inboxIgnore && !allowed(inboxIgnore):
		return Given{Decision: Declined}
	case typ == inboxEdit && allowed(inboxEdit):
		given := pick(inboxEdit)
		edited := args.field("args").wanted("the_new_arguments")
		edited.answers(inboxArgs)
		given.Reply.Answers = append(given.Reply.Answers, ask.Answer{QuestionID: inboxArgs, Text: string(encode(edited.object()))})
		return given
	case allowed(typ):
		return pick(typ)
	case typeName(v.field("type").raw) == "string":
		v.field("type").fault(ask.FaultNotAllowed, clip(typ))
	}
	return Given{}
}

// inboxText reads text that was typed into an inbox.
func (v value) inboxText(a *ask.Ask) Given {
	given := Given{Decision: Replied}
	text, isText := v.raw.(string)
	if !isText {
		v.wrongType("string")
		return given
	}
	if q := a.Question(inboxAction); cameAs(a, "langgraph") && q != nil {
		given.Reply.Answers = []ask.Answer{v.answer(q, "")}
		return given
	}
	given.Reply = v.parseReply(a, text)
	return given
}
