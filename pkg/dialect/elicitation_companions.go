package dialect

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/askbus/askbus/pkg/ask"
)

// Forms have no place for "Other" and for notes, so agents put a text property beside the property of a
// question: claude-agent-acp "<question>_custom" (another answer, or a note on the chosen one), others
// "<question>_note" or the role user_note in _meta. Such a companion is a part of its question.

// The roles of a companion, and the keys under which the ask remembers its name.
const (
	roleCustom = "custom"
	roleNote   = "note"
)

// claudeOptionMeta is the _meta entry in which claude-agent-acp sends the preview of an option.
const claudeOptionMeta = "_claude/askUserQuestionOption"

// claudeSeveral is the message of claude-agent-acp for several questions, which says nothing.
const claudeSeveral = "Please answer the following questions."

// companion says of which property another one is a part, and how.
type companion struct{ of, role string }

// companions finds the properties that are a part of another one. One with demands of its own is a question.
func companions(names []string, properties value, required []string) map[string]companion {
	folded := map[string]companion{}
	before := ""
	for _, name := range names {
		v := properties.field(name)
		found := companion{}
		if of, ok := strings.CutSuffix(name, "_custom"); ok && isChoice(properties.field(of)) {
			found = companion{of, roleCustom}
		} else if of, ok := strings.CutSuffix(name, "_note"); ok && slices.Contains(names, of) {
			found = companion{of, roleNote}
		} else if v.field("_meta").field("codex").field("role").raw == "user_note" && before != "" {
			found = companion{before, roleNote}
		}
		if found.of == "" || !isFreeText(v) || slices.Contains(required, name) || folded[found.of].of != "" {
			before = name
			continue
		}
		v.ignore()
		folded[name] = found
	}
	return folded
}

func isChoice(v value) bool {
	_, isObject := v.raw.(*object)
	return isObject && (v.field("oneOf").given() || v.field("enum").given() || v.field("type").raw == "array")
}

func isFreeText(v value) bool {
	if _, isObject := v.raw.(*object); !isObject || v.field("type").raw != "string" {
		return false
	}
	demands := []string{"oneOf", "enum", "format", "pattern", "minLength", "maxLength", "default"}
	return !slices.ContainsFunc(demands, func(demand string) bool { return v.field(demand).given() })
}

// fold makes the companions of a property a part of its question. In claude-agent-acp's form the message is the
// text of a single question, and nothing is required although the agent needs each answer.
func (b *builder) fold(i int, name string, folded map[string]companion, alone bool, message string) {
	q := &b.ask.Questions[i]
	custom := false
	for companionName, c := range folded {
		if c.of != name {
			continue
		}
		b.remember(companionName, i, c.role)
		if c.role == roleCustom {
			custom, q.NoOther, q.Optional = true, false, false
		}
	}
	switch {
	case !custom:
	case message == claudeSeveral:
		b.ask.Title = ""
	case alone && q.Header == "":
		if q.Text != name && utf8.RuneCountInString(q.Text) <= ask.MaxHeader {
			q.Header = q.Text // only the title says what it is
		}
		q.Text, b.ask.Title, b.ask.Context = message, "", ""
		b.places[i].fields["text"] = "message"
	}
}

// unfold splits an answer into what its own property holds, and the names and values of its companions. In a
// custom property a text beside a single choice is a note; beside several it is one more choice.
func unfold(a *ask.Ask, i int, ans ask.Answer) (own ask.Answer, beside [][2]string) {
	custom, note := recall(a, "", i, roleCustom), recall(a, "", i, roleNote)
	switch {
	case custom == "":
	case ans.Other != "":
		beside = append(beside, [2]string{custom, ans.Other})
		ans.Other = ""
	case ans.Notes != "" && note == "" && !a.Questions[i].Multiple:
		beside = append(beside, [2]string{custom, ans.Notes})
	}
	if note != "" && ans.Notes != "" {
		beside = append(beside, [2]string{note, ans.Notes})
	}
	return ans, beside
}
