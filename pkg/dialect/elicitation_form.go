package dialect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// elicitationShow writes any ask as the parameters of elicitation/create. Other
// text gets a separate property.
func elicitationShow(a *ask.Ask) ([]byte, []Warning) {
	var s screen
	properties, required := ordered(), []string{}
	var message []string
	for _, part := range []string{a.Title, a.Context} {
		if part != "" {
			message = append(message, part)
		}
	}
	for i := range a.Questions {
		q, name := &a.Questions[i], propertyName(a, i)
		property := s.property(a, i)
		if len(a.Questions) == 1 && len(message) == 0 {
			message = append(message, q.Text)
		}
		for j := range q.Options {
			if o := &q.Options[j]; o.Preview != nil {
				message = append(message, o.Label+":\n"+o.Preview.Body)
				s.warn("/questions/"+key(i)+"/options/"+key(j)+"/preview", "does not fit into a form; it is in the message")
			}
		}
		properties.set(name, property)
		if q.Other() {
			properties.set(otherName(a, i), ordered("type", "string", "title", cmp.Or(q.Header, q.Text), "description", say(a, "Another answer, in your own words"), "maxLength", ask.MaxText))
		} else if !q.Optional {
			required = append(required, name)
		}
	}
	schema := ordered("type", "object", "properties", properties)
	if len(required) > 0 {
		schema.set("required", required)
	}
	return encode(ordered("mode", "form", "message", cmp.Or(strings.Join(message, "\n\n"), a.Heading()), "requestedSchema", schema)), s.warnings
}

// property returns the schema of one question.
func (s *screen) property(a *ask.Ask, i int) *object {
	q := &a.Questions[i]
	p := ordered("type", "string", "title", cmp.Or(recall(a, q.Header, i, "header"), q.Text))
	l := q.Limits
	set := func(key string, value any, given bool) {
		if given {
			p.set(key, value)
		}
	}
	set("description", q.Text, q.Header != "")
	switch q.Kind {
	case ask.KindChoice:
		s.choices(a, i, p)
	case ask.KindNumber:
		p.set("type", "number")
		set("type", "integer", l.Integer)
		if l.Min != nil {
			p.set("minimum", number(*l.Min, l.Integer))
		}
		if l.Max != nil {
			p.set("maximum", number(*l.Max, l.Integer))
		}
	case ask.KindBoolean:
		p.set("type", "boolean")
	case ask.KindDate:
		p.set("format", "date")
		set("description", q.Text+"\n\n"+q.HowToIn(a.Language()), l.MinDate != "" || l.MaxDate != "")
	case ask.KindText:
		set("minLength", l.MinLength, l.MinLength > 0)
		set("maxLength", l.MaxLength, l.MaxLength > 0)
		format := slices.IndexFunc(formats(), func(f stringFormat) bool { return f.pattern == l.Pattern && f.message == l.Message })
		if set("pattern", l.Pattern, l.Pattern != "" && format < 0); format >= 0 {
			p.set("format", formats()[format].name)
		}
	}
	switch {
	case q.Default == nil || q.Default.Other != "":
	case q.Kind == ask.KindText: // also where the answer goes back as a list
		p.set("default", q.Default.Text)
	default:
		p.set("default", elicitedValue(a, i, *q.Default))
	}
	return p
}

func (s *screen) choices(a *ask.Ask, i int, p *object) {
	q := &a.Questions[i]
	constants := []any{}
	for j := range q.Options {
		o := &q.Options[j]
		title := o.Label
		if about := s.description(a, o, true, false); about != "" {
			title += " - " + about
		}
		constants = append(constants, ordered("const", foreignOption(a, i, o.ID), "title", title))
	}
	if !q.Multiple {
		p.set("oneOf", constants)
		return
	}
	p.set("type", "array")
	p.set("items", ordered("anyOf", constants))
	least := q.MinItems
	if !q.Optional && !q.Other() {
		least = max(least, 1)
	}
	if least > 0 && !q.Other() {
		p.set("minItems", least)
	}
	if q.MaxItems > 0 {
		p.set("maxItems", min(q.MaxItems, len(q.Options)))
	}
}

// elicitationReply reads a form's result. The action decline declines; cancel
// only closes the form.
func elicitationReply(a *ask.Ask, v value) Given {
	v.body()
	switch action := v.field("action"); action.need() {
	case "accept":
	case "decline":
		return Given{Decision: Declined}
	case "cancel":
		return Given{Decision: Dismissed}
	default:
		if typeName(action.raw) == "string" {
			action.fault(ask.FaultNotOneOf, clip(action.string()), "accept, decline, cancel")
		}
		return Given{}
	}
	content := v.field("content")
	content.object()
	given := Given{Decision: Replied}
	var names []string
	for i := range a.Questions {
		q, name := &a.Questions[i], propertyName(a, i)
		names = append(names, name)
		if q.Other() {
			names = append(names, otherName(a, i))
		}
		ans := content.elicitedWithOther(a, i)
		if note := recall(a, "", i, roleNote); note != "" {
			names = append(names, note)
			ans.Notes = strings.TrimSpace(ans.Notes + "\n" + content.field(note).string())
		}
		given.Reply.Answers = append(given.Reply.Answers, ans)
	}
	if confirms(a) {
		given.Reply.Answers = []ask.Answer{{QuestionID: "confirm", Selected: []string{"accept"}}}
	}
	strangers(content, names)
	return given
}

// elicitedWithOther reads question i of a form, and the property for its Other text.
func (v value) elicitedWithOther(a *ask.Ask, i int) ask.Answer {
	q, beside := &a.Questions[i], v.field(otherName(a, i))
	ans := v.field(propertyName(a, i)).elicited(a, i)
	if other := beside.string(); q.Other() && strings.TrimSpace(other) != "" {
		if ans.Empty() || q.Multiple {
			beside.answers(q.ID)
			ans.Other, ans.Skipped = other, false
		} else {
			ans.Notes = other // one choice was made; the text comments on it
		}
	}
	return ans
}

func (v value) elicited(a *ask.Ask, i int) ask.Answer {
	q := &a.Questions[i]
	lines := recall(a, "", i, "lines") != ""
	if q.Kind != ask.KindChoice && !lines {
		return v.answer(q, "")
	}
	v.answers(q.ID)
	ans := ask.Answer{QuestionID: q.ID}
	if lines {
		ans.Text = strings.Join(v.strings(), "\n")
		ans.Skipped = ans.Empty()
		return ans
	}
	for _, foreign := range v.strings() {
		id, ok := nativeOption(a, i, foreign)
		switch {
		case foreign == "":
		case !ok:
			v.faultIn(q.ID, ask.FaultNotAmong, clip(foreign), "the_choices")
		case !slices.Contains(ans.Selected, id):
			ans.Selected = append(ans.Selected, id)
		}
	}
	ans.Skipped = ans.Empty()
	return ans
}
