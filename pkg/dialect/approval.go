package dialect

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/askbus/askbus/pkg/ask"
)

// The options of a tool call that waits for approval.
const (
	approvalApprove = "approve"
	approvalEdit    = "edit"
	approvalReject  = "reject"
	approvalRespond = "respond" // in own words
)

// approval is one tool call that waits for approval.
type approval struct {
	name, description string
	args              any // JSON
	at                string
	editable          bool
	rejectable        bool
	approvable        bool
	respondable       bool // a person's words may take the place of the tool's result
}

// approval adds the question about call i of interrupt n, followed, if it can
// be edited, by a question for new arguments. One that a person can only answer
// in the tool's place is a text.
func (b *builder) approval(n, i int, one approval) {
	id := approvalID(n, i)
	q := ask.Question{ID: id, Kind: ask.KindChoice, NoOther: !one.respondable, Text: strings.TrimSpace(one.withoutCall())}
	if !strings.Contains(q.Text, one.name) || q.Text == "" { // nobody approves a tool without its name
		q.Text = strings.TrimSpace("Tool: " + one.name + "\n\n" + q.Text)
	}
	if o, ok := one.args.(*object); ok && len(o.keys) > 0 {
		b.rememberShort(string(encode(o)), id, "args")
		b.withArguments(&q, one.name, indented(encode(o)), fenced("json", indented(encode(o))))
	} else if one.args != nil && !ok {
		b.withArguments(&q, one.name, string(encode(one.args)), fenced("", string(encode(one.args))))
	}
	b.remember(one.name, id, "name")
	b.rememberShort(one.description, id, "description")
	q.Options = allowed([]allowance{
		{approvalApprove, "Approve", "", one.approvable},
		{approvalEdit, "Edit", "Go on with other arguments; type them below.", one.editable},
		{approvalReject, "Reject", "A note to it tells the agent why.", one.rejectable},
	})
	if len(q.Options) == 0 && one.respondable {
		q.Kind, q.NoOther = ask.KindText, false
	}
	b.add(q, place{at: one.at, fields: map[string]string{"text": "description", "options": "allowedDecisions"}})
	if one.editable {
		b.add(newArguments(id+"-args", one.name), place{at: one.at})
	}
}

// withoutCall returns the description without the call that LangChain writes at its end where nobody gave it another one,
// if people see the arguments anyway: as JSON in JavaScript, which are the same, or as a dict in Python.
func (a approval) withoutCall() string {
	args, ok := a.args.(*object)
	about, said, _ := strings.Cut(a.description, "\n\nTool: "+a.name+"\nArgs: ")
	if !ok || len(args.keys) == 0 {
		return a.description
	}
	if said == indented(encode(args)) || strings.HasPrefix(said, "{'") && strings.HasSuffix(said, "}") && !strings.Contains(said, "\n") {
		return about
	}
	return a.description
}

// allowance is an option that a request for approval may allow.
type allowance struct {
	id, label, about string
	allowed          bool
}

func allowed(all []allowance) (options []ask.Option) {
	for _, o := range all {
		if o.allowed {
			options = append(options, ask.Option{ID: o.id, Label: o.label, Description: o.about})
		}
	}
	return options
}

// rememberShort is remember for what only other screens need, up to the bound of what is
// shown: an ask with a long call must not be too large to be sent.
func (b *builder) rememberShort(s string, at ...any) {
	if n := len(encode(s)); b.kept+n <= maxShown {
		b.kept += n
		b.remember(s, at...)
	} else {
		b.remember("", at...)
	}
}

// callArguments returns the arguments of a call as it came, which are remembered
// there. If they are too long for that, they are what people see of them.
func callArguments(a *ask.Ask, q *ask.Question, at ...any) any {
	args := recall(a, "{}", at...)
	if args == "" {
		return ordered("text", q.Text, "context", a.Context)
	}
	v, err := (&reader{}).parse([]byte(args))
	if err != nil || typeName(v.raw) != "object" {
		return ordered()
	}
	return v.raw
}

// withArguments adds the arguments of a call, as they are drawn there, to the text
// of its question. Those that a screen would fold there, or read as markup, are in the context: nobody
// approves what is not shown as it is.
func (b *builder) withArguments(q *ask.Question, of, args, drawn string) {
	text := q.Text + "\n\n" + drawn
	if utf8.RuneCountInString(text) <= 400 && strings.Count(text, "\n") < 8 && !strings.Contains(args, "`") && !strings.Contains(args, "**") && !strings.Contains(args, "](") {
		q.Text = text
		return
	}
	where := ""
	if n := len(b.ask.Questions); n > 0 { // another call may be of the same tool
		where = " (question " + strconv.Itoa(n+1) + ")"
	}
	q.Text = shorten(q.Text, ask.MaxText/2) + "\n\nIts arguments are above" + where + "."
	b.ask.Context = strings.TrimSpace(b.ask.Context + "\n\nArguments of " + code(of) + where + ":\n\n" + fenced("json", args))
}

// newArguments is the optional question for other arguments of a tool call.
func newArguments(id, of string) ask.Question {
	return ask.Question{
		ID: id, Kind: ask.KindText, Optional: true, Text: "Which arguments should " + of + " have instead?",
		Limits: ask.Limits{Pattern: `^\s*\{[\s\S]*\}\s*$`, Message: "Give a JSON object, like the arguments above."},
	}
}

// approvalID returns the id of the question about call i of interrupt n.
func approvalID(n, i int) string { return "call-" + key(n) + "-" + key(i) }

// decided returns a person's decision about one call: an option's id, the
// edited arguments, and words. Typed arguments count even with an approval. An
// edit without arguments, or with arguments that are not an object, counts as a
// rejection that says so. Own words are the response.
func decided(a *ask.Ask, o *ask.Outcome, id string) (decision string, args any, words string) {
	ans := answerTo(o, a.Question(id))
	if ans != nil && ans.Other+ans.Text != "" {
		return approvalRespond, nil, ans.Other + ans.Text
	}
	if ans == nil || len(ans.Selected) != 1 {
		return approvalReject, nil, "not decided"
	}
	decision = ans.Selected[0]
	if given := o.Answer(id); given != nil {
		words = given.Notes
	}
	typed := ""
	if edit := o.Answer(id + "-args"); edit != nil {
		typed = strings.TrimSpace(edit.Text)
	}
	switch v, err := (&reader{}).parse([]byte(typed)); {
	case typed == "" && decision == approvalEdit:
		return approvalReject, nil, strings.TrimSpace("edit the arguments, but no new ones were given\n" + words)
	case typed == "":
		return decision, nil, words
	case decision == approvalReject || err != nil || typeName(v.raw) != "object":
		return approvalReject, nil, strings.TrimSpace("edit the arguments: " + typed + "\n" + words)
	default:
		return approvalEdit, v.raw, words
	}
}

// refuses says why nothing is approved, for outcomes without decisions per
// call. A non-nil problem means that the call stays open.
func refuses(a *ask.Ask, o *ask.Outcome) (words string, refused bool, problem *Response) {
	switch rowOf(o) {
	case rowDeclined:
		return sentence(a, o), true, nil
	case rowResponse:
		return o.Response, true, nil
	case rowWithdrawn, rowAborted:
		return "", false, new(problemOf(a, 410, "Gone", o))
	case rowExpired:
		return "", false, new(nobodyAnswered(a, o))
	case rowAnswered, rowCancelled, rowDefault:
	}
	return "", false, nil
}

// nobodyAnswered says that nobody answered an ask in time, as a failure: a text in
// the field of the answer would look like one.
func nobodyAnswered(a *ask.Ask, o *ask.Outcome) Response {
	return problemOf(a, 504, "Nobody answered", o)
}

func problemOf(a *ask.Ask, status int, title string, o *ask.Outcome) Response {
	return problem(a, status, title, string(o.Status), sentence(a, o))
}
