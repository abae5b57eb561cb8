package card

import (
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// Span is a part of a line with one style.
type Span struct {
	Text string
	Code bool
	Bold bool
	Link string // an http or https URL; empty: none
	Host string // of the link, unless the text contains it
}

// Inline parses the Markdown that is common in questions, labels and descriptions: `code`, **bold**
// and links. Everything else and unclosed marks are literal, so that no other character is lost.
func Inline(s string) []Span {
	var spans []Span
	inline(s, false, func(sp Span) {
		if last := len(spans) - 1; last >= 0 && sp.plain() && spans[last].plain() && spans[last].Bold == sp.Bold {
			spans[last].Text += sp.Text
			return
		}
		spans = append(spans, sp)
	})
	return spans
}

// InlinePlain removes the marks of [Inline]. A link keeps its text and its host.
func InlinePlain(s string) string {
	var b strings.Builder
	for _, sp := range Inline(s) {
		b.WriteString(sp.Text)
		if sp.Host != "" {
			b.WriteString(" (" + sp.Host + ")")
		}
	}
	return b.String()
}

// Plain returns the question's text without Markdown marks.
func (v *Question) Plain() string { return InlinePlain(v.Text) }

func (s *Span) plain() bool { return !s.Code && s.Link == "" }

// inline passes the parts of a text to add. Each step consumes a closed mark or a run of plain
// text, so it terminates; marks do not span lines.
func inline(s string, bold bool, add func(Span)) {
	for s != "" {
		at := strings.IndexAny(s, "`*[h")
		if at < 0 {
			add(Span{Text: s, Bold: bold})
			return
		}
		if at > 0 {
			add(Span{Text: s[:at], Bold: bold})
		}
		n := 0
		switch word := at == 0 || !letter(s[at-1]); s[at] {
		case '`':
			n = codeSpan(s[at:], bold, add)
		case '*':
			if !bold {
				n = boldSpan(s[at:], add)
			}
		case '[':
			n = linkSpan(s[at:], bold, add)
		case 'h':
			if word {
				n = bareLink(s[at:], bold, add)
			}
		}
		if n == 0 {
			n = run(s[at:])
			add(Span{Text: s[at : at+n], Bold: bold})
		}
		s = s[at+n:]
	}
}

func letter(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b >= 0x80
}

// run returns how often the first byte repeats at the start of a text.
func run(s string) int {
	n := 1
	for n < len(s) && s[n] == s[0] {
		n++
	}
	return n
}

// lineOf returns the text up to the end of its line.
func lineOf(s string) string {
	first, _, _ := strings.Cut(s, "\n")
	return first
}

func codeSpan(s string, bold bool, add func(Span)) int {
	n := run(s)
	mark, rest := s[:n], lineOf(s[n:])
	for from := 0; ; {
		at := strings.Index(rest[from:], mark)
		if at < 0 {
			return 0
		}
		at += from
		if closing := run(rest[at:]); closing != n {
			from = at + closing
			continue
		}
		body := rest[:at]
		if n > 1 {
			body = strings.TrimSuffix(strings.TrimPrefix(body, " "), " ")
		}
		if strings.TrimSpace(body) == "" { // nothing would be left of a label
			return 0
		}
		add(Span{Text: body, Code: true, Bold: bold})
		return n + at + n
	}
}

func boldSpan(s string, add func(Span)) int {
	if run(s) != 2 {
		return 0
	}
	body, _, ok := strings.Cut(lineOf(s[2:]), "**")
	if !ok || body == "" || strings.TrimSpace(body) != body {
		return 0
	}
	inline(body, true, add)
	return 2 + len(body) + 2
}

func linkSpan(s string, bold bool, add func(Span)) int {
	words, rest, ok := strings.Cut(lineOf(s[1:]), "](")
	if !ok || strings.ContainsAny(words, "[]`") {
		return 0
	}
	link, _, ok := strings.Cut(rest, ")")
	if !ok || !ask.ValidLink(link) {
		return 0
	}
	taken := 1 + len(words) + 2 + len(link) + 1
	if strings.TrimSpace(words) == "" {
		words = linkHost(link)
	}
	sp := Span{Text: words, Bold: bold, Link: link}
	if words != link && words != linkHost(link) {
		sp.Host = linkHost(link)
	}
	add(sp)
	return taken
}

func bareLink(s string, bold bool, add func(Span)) int {
	if !strings.HasPrefix(s, "https://") && !strings.HasPrefix(s, "http://") {
		return 0
	}
	end := strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("<>\"'`)]}*", r) })
	if end < 0 {
		end = len(s)
	}
	link := strings.TrimRight(s[:end], ".,;:!?")
	if !ask.ValidLink(link) {
		return 0
	}
	add(Span{Text: link, Bold: bold, Link: link})
	return len(link)
}
