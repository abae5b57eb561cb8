package tui

import (
	"slices"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// maxTyped bounds the text of a field, in characters.
const maxTyped = 20_000

// editor is a text field: its text and the caret.
type editor struct {
	text  []rune
	caret int
	many  bool // multi-line
}

func (e *editor) String() string { return string(e.text) }

func (e *editor) empty() bool { return strings.TrimSpace(e.String()) == "" }

func (e *editor) set(s string) { e.text = []rune(s); e.caret = len(e.text) }

// insert inserts s at the caret. A single-line field drops line breaks.
func (e *editor) insert(s string) {
	s = strings.ReplaceAll(ask.CleanText(s), "\t", "    ") // pasted text may be anybody's
	if !e.many {
		s = strings.ReplaceAll(s, "\n", " ")
	}
	typed := []rune(s)
	if room := maxTyped - len(e.text); len(typed) > room {
		typed = typed[:max(0, room)]
	}
	rest := append(slices.Clip(typed), e.text[e.caret:]...)
	e.text = append(e.text[:e.caret:e.caret], rest...)
	e.caret += len(typed)
}

// key handles a key press in a field and reports whether it did anything.
func (e *editor) key(name, text string) bool {
	switch name {
	case "left", "ctrl+b":
		e.caret = max(0, e.caret-1)
	case "right", "ctrl+f":
		e.caret = min(len(e.text), e.caret+1)
	case "home", "ctrl+a":
		e.caret = e.lineStart(e.caret)
	case "end", "ctrl+e":
		e.caret = e.lineEnd(e.caret)
	case "up":
		return e.vertical(-1)
	case "down":
		return e.vertical(1)
	case "backspace", "ctrl+h":
		e.cut(e.caret-1, e.caret)
	case "delete", "ctrl+d":
		e.cut(e.caret, e.caret+1)
	case "ctrl+w", "alt+backspace":
		e.cut(e.wordStart(), e.caret)
	case "ctrl+u":
		e.cut(e.lineStart(e.caret), e.caret)
	case "ctrl+k":
		e.cut(e.caret, e.lineEnd(e.caret))
	case "alt+enter", "shift+enter", "ctrl+j":
		if !e.many {
			return false
		}
		e.insert("\n")
	default:
		if text == "" {
			return false
		}
		e.insert(text)
	}
	return true
}

func (e *editor) cut(from, to int) {
	from, to = max(0, from), min(len(e.text), to)
	e.text = append(e.text[:from:from], e.text[to:]...)
	e.caret = from
}

func (e *editor) lineStart(at int) int {
	for at > 0 && e.text[at-1] != '\n' {
		at--
	}
	return at
}

func (e *editor) lineEnd(at int) int {
	for at < len(e.text) && e.text[at] != '\n' {
		at++
	}
	return at
}

func (e *editor) wordStart() int {
	at := e.caret
	for at > 0 && e.text[at-1] == ' ' {
		at--
	}
	for at > 0 && e.text[at-1] != ' ' && e.text[at-1] != '\n' {
		at--
	}
	return at
}

// vertical moves the caret one line up or down and reports whether there is one.
func (e *editor) vertical(by int) bool {
	start := e.lineStart(e.caret)
	column := e.caret - start
	switch {
	case by < 0 && start == 0, by > 0 && e.lineEnd(e.caret) == len(e.text):
		return false
	case by < 0:
		start = e.lineStart(start - 1)
	default:
		start = e.lineEnd(e.caret) + 1
	}
	e.caret = min(start+column, e.lineEnd(start))
	return true
}
