package ask

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// FaultCode says what is wrong with a value. Codes and the names of their
// arguments are part of the protocol (protocol.md, "Faults"); words are not.
type FaultCode string

// Fault is one thing wrong with a request. Make it with [NewFault], and show it
// to people and agents with [Fault.In] or [Fault.Sentence]. A code of a newer
// peer, or none, leaves Message as the only words.
type Fault struct {
	Pointer    string            `json:"pointer"`               // RFC 6901 JSON pointer into the body; "" is the whole body
	QuestionID string            `json:"question_id,omitempty"` // the question, when the fault is in an answer
	Code       FaultCode         `json:"code,omitempty"`        // what is wrong, for programs
	Args       map[string]string `json:"args,omitempty"`        // the values that the words name
	Message    string            `json:"detail"`                // what is wrong and what to do, in English unless [Error.In] chose another language
}

// ArgMessage is the argument of a broken limit that holds the asker's own words
// for it ([Limits.Message]); they stand instead of ours, in every language.
const ArgMessage = "message"

// NewFault returns the fault of the value at pointer. The arguments are in the
// order in which the English words name them.
func NewFault(pointer string, code FaultCode, args ...any) Fault {
	f := Fault{Pointer: pointer, Code: code}
	if names := argumentsOf(faultTexts[code].english); len(args) > 0 {
		f.Args = make(map[string]string, len(args))
		for i, arg := range args[:min(len(args), len(names))] {
			f.Args[names[i]] = argument(arg)
		}
	}
	f.Message = f.In(english)
	return f
}

// argument formats the value of an argument. The items of a list have ", "
// between them.
func argument(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []string:
		return strings.Join(v, ", ")
	case float64:
		return formatNumber(v)
	}
	return fmt.Sprint(v)
}

// In returns what is wrong in a language such as "zh-CN", without naming the
// value; unknown and empty: English.
func (f Fault) In(lang string) string {
	if own := f.Args[ArgMessage]; own != "" {
		return own
	}
	text := faultTexts[f.Code]
	words := text.english
	if speaksChinese(lang) {
		words = text.chinese
	}
	if s, ok := fillIn(words, f.Args, lang, false); ok && s != "" {
		return s
	}
	return f.Message // of a newer peer
}

// Sentence returns what is wrong with an answer in a sentence that needs no
// context, such as: Your answer is 12; give at most 9.
func (f Fault) Sentence(lang string) string { return sentenceOf([]Fault{f}, lang) }

// sentenceOf returns the faults of one answer as one sentence.
func sentenceOf(faults []Fault, lang string) string {
	between, end, yours := "; ", ".", "Your answer "
	if speaksChinese(lang) {
		between, end, yours = "；", "。", "你的回答"
	}
	var b strings.Builder
	for i, f := range faults {
		words := f.In(lang)
		if f.Args[ArgMessage] != "" {
			return words // the asker said it all
		}
		switch {
		case i > 0:
			b.WriteString(between)
		case faultTexts[f.Code].predicate:
			b.WriteString(yours)
		default:
			r, n := utf8.DecodeRuneInString(words)
			b.WriteRune(unicode.ToUpper(r))
			words = words[n:]
		}
		b.WriteString(words)
	}
	if s := b.String(); s == "" || strings.HasSuffix(s, ".") || strings.HasSuffix(s, "。") {
		return s
	}
	return b.String() + end
}

// String formats the fault as one line.
func (f Fault) String() string {
	if f.Pointer == "" {
		return f.Message
	}
	return f.Pointer + ": " + f.Message
}

// fillIn replaces each {name} of a text by its argument; {name:quoted} puts it in
// quotes, {name:or} joins a list with "or", and {name:term} takes the words of
// [faultTerms]. A [part] stands only if all of its arguments are given and not
// empty. It reports false if an argument is missing outside of one.
func fillIn(text string, args map[string]string, lang string, part bool) (string, bool) {
	var b strings.Builder
	for text != "" {
		at := strings.IndexAny(text, "{[")
		if at < 0 {
			b.WriteString(text)
			break
		}
		b.WriteString(text[:at])
		if text[at] == '[' {
			inner, rest, _ := strings.Cut(text[at+1:], "]")
			if s, ok := fillIn(inner, args, lang, true); ok {
				b.WriteString(s)
			}
			text = rest
			continue
		}
		placeholder, rest, _ := strings.Cut(text[at+1:], "}")
		name, form, _ := strings.Cut(placeholder, ":")
		arg, ok := args[name]
		if !ok || part && arg == "" {
			return "", false
		}
		b.WriteString(formed(arg, form, lang))
		text = rest
	}
	return b.String(), true
}

// formed returns an argument as it stands in a sentence.
func formed(arg, form, lang string) string {
	chinese := speaksChinese(lang)
	switch form {
	case "quoted":
		q := strconv.Quote(arg)
		if chinese {
			return "“" + strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`) + "”"
		}
		return q
	case "or":
		if chinese {
			return alternatives(strings.Split(arg, ", "), "、", " 或 ")
		}
		return alternatives(strings.Split(arg, ", "), ", ", " or ")
	case "term":
		items := strings.Split(arg, ", ")
		for i, item := range items {
			if words, ok := faultTerms[item]; ok {
				if items[i] = words[0]; chinese {
					items[i] = words[1]
				}
			}
		}
		if chinese {
			return alternatives(items, "、", "或")
		}
		return alternatives(items, ", ", " or ")
	}
	return arg
}

func alternatives(items []string, comma, or string) string {
	last := len(items) - 1
	if last == 0 {
		return items[0]
	}
	return strings.Join(items[:last], comma) + or + items[last]
}

// argumentsOf returns the names of a text's arguments, each once.
func argumentsOf(text string) []string {
	var names []string
	for {
		_, rest, ok := strings.Cut(text, "{")
		if !ok {
			return names
		}
		var placeholder string
		placeholder, text, _ = strings.Cut(rest, "}")
		if name, _, _ := strings.Cut(placeholder, ":"); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
}
