package dialect

import (
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// claudeCodeReply reads the tool's output, from a screen that showed the ask or
// as the host reports it: an object, its JSON as text, the sentence that hosts
// make of it, or content blocks with one of these. Text that cannot be split by
// question becomes one free response, so that no answer is lost. An output
// without content or without an answer dismisses.
func claudeCodeReply(a *ask.Ask, v value) Given {
	raw, isObject := v.raw.(*object)
	_, isText := v.raw.(string)
	_, isList := v.raw.([]any)
	if isText || isList || isObject && raw.values["content"] != nil && raw.values["answers"] == nil {
		reply, said := nativeReply(a, v.raw)
		if !said {
			return Given{Decision: Dismissed}
		}
		return Given{Decision: Replied, Reply: reply}
	}
	v.body()
	return v.claudeCodeGiven(a)
}

// claudeCodeGiven reads { answers, annotations?, response? }. A permission
// callback's behavior "deny", an older name, declines.
func (v value) claudeCodeGiven(a *ask.Ask) Given {
	if v.field("behavior").string() == "deny" {
		return Given{Decision: Declined, Reason: v.field("message").string()}
	}
	if updated := v.field("updatedInput"); updated.given() {
		v = updated
	}
	if single := v.field("result"); single.given() && claudeCodeAlone(a) {
		return Given{Decision: Replied, Reply: ask.Reply{Answers: []ask.Answer{single.answer(&a.Questions[0], "")}}}
	}
	answers, annotations := v.field("answers"), v.field("annotations")
	given := Given{Decision: Replied, Reply: ask.Reply{Response: v.field("response").response()}}
	if !answers.given() && given.Reply.Response == "" {
		answers.fault(ask.FaultMissing, "an_object_of_answers_by_question_text")
	}
	annotations.object()
	shown, _ := claudeCodeShow(a)
	texts := claudeCodeKeys(a)
	var keys []string
	echo, _ := (&reader{}).parse(shown)
	for i, q := range echo.field("questions").list() {
		key := q.field("question").string()
		if text := texts[i]; !answers.field(key).given() && answers.field(text).given() {
			key = text
		}
		keys = append(keys, key)
		annotations.field(key).object()
		at := answers.field(key)
		if text, isText := at.raw.(string); isText && a.Questions[i].Multiple {
			if items, ok := claudeCodeSplit(text); ok {
				at.raw = anys(items)
			}
		}
		ans := at.answer(&a.Questions[i], claudeCodeSeparator)
		ans.Notes = annotations.field(key).field("notes").string()
		given.Reply.Answers = append(given.Reply.Answers, ans)
	}
	strangers(answers, keys)
	return given
}

// nativeReply reads a tool's output: an object, its JSON as text, the sentence
// that hosts make of it, or content blocks with one of these.
func nativeReply(a *ask.Ask, raw any) (ask.Reply, bool) {
	switch raw := raw.(type) {
	case *object:
		if raw.values["answers"] == nil && raw.values["response"] == nil {
			return nativeReply(a, raw.values["content"])
		}
		r := &reader{what: "claude-code answer"}
		given := value{r: r, raw: raw}.claudeCodeGiven(a)
		if r.err() != nil {
			return ask.Reply{Response: string(encode(raw))}, true
		}
		return given.Reply, given.Reply.Response != "" || len(valued(given.Reply.Answers)) > 0
	case []any:
		var texts []string
		for _, block := range raw {
			if o, ok := block.(*object); ok {
				text, _ := o.values["text"].(string)
				texts = append(texts, text)
			}
		}
		return nativeReply(a, strings.Join(texts, "\n"))
	case string:
		if v, err := (&reader{}).parse([]byte(raw)); err == nil && typeName(v.raw) == "object" {
			if reply, ok := nativeReply(a, v.raw); ok {
				return reply, true
			}
		}
		return spoken(a, raw)
	}
	return ask.Reply{}, false
}

// spoken reads the sentence in which hosts tell a model the answers:
// "<question>"="<answer>", and so on.
func spoken(a *ask.Ask, text string) (ask.Reply, bool) {
	if strings.TrimSpace(text) == "" || undecided(text) {
		return ask.Reply{}, false
	}
	var reply ask.Reply
	keys := claudeCodeKeys(a)
	for i := range a.Questions {
		_, rest, ok := strings.Cut(text, `"`+keys[i]+`"="`)
		if !ok {
			continue
		}
		stops := []string{`". You can now`, `" selected preview:`, `" user notes:`, "\"\n  user notes: ", "\"\n  each in quotes: ", "\"\n- not answered: "}
		for j := range a.Questions {
			if j != i {
				stops = append(stops, `", "`+keys[j]+`"="`, "\"\n- \""+keys[j]+`"="`)
			}
		}
		said := upToFirst(rest, stops)
		ans := choose(&a.Questions[i], strings.TrimSuffix(strings.TrimRight(said, " ."), `"`), claudeCodeSeparator)
		ans.Notes = spokenNotes(a, keys, i, rest[len(said):])
		reply.Answers = append(reply.Answers, ans)
	}
	if len(reply.Answers) == 0 {
		return ask.Reply{Response: text}, true
	}
	return reply, true
}

// spokenNotes returns a person's notes from the words after an answer.
func spokenNotes(a *ask.Ask, keys []string, question int, rest string) string {
	stops := []string{". You can now continue", "\n- not answered: "}
	for j := range a.Questions {
		if j != question {
			stops = append(stops, `, "`+keys[j]+`"="`, "\n- \""+keys[j]+`"="`)
		}
	}
	_, notes, _ := strings.Cut(upToFirst(rest, stops), " user notes: ")
	return strings.TrimSpace(notes)
}

// upToFirst returns what is before the first of these stops in a text.
func upToFirst(text string, stops []string) string {
	end := len(text)
	for _, stop := range stops {
		if at := strings.Index(text, stop); at >= 0 {
			end = min(end, at)
		}
	}
	return text[:end]
}

// undecided reports whether a result is one of askbus's sentences for an ask
// without a person's answer, in English or Chinese.
func undecided(text string) bool {
	for _, start := range []string{"declined: ", "withdrawn before ", "aborted before ", "nobody answered by ", "pending: "} {
		if strings.HasPrefix(text, start) {
			return true
		}
		for english, chinese := range chineseSentences {
			if strings.HasPrefix(english, start) && hasForm(text, chinese) {
				return true
			}
		}
	}
	return false
}

// hasForm reports whether a text begins with a sentence that was formatted with
// this pattern of %s verbs.
func hasForm(text, pattern string) bool {
	for i, part := range strings.Split(pattern, "%s") {
		before, after, found := strings.Cut(text, part)
		if !found || i == 0 && before != "" {
			return false
		}
		text = after
	}
	return true
}
